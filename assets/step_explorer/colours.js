// A page of its own follows the system's colours, or those that its address asks for (as Gradio's
// pages do). Paper is white.

export function followColours() {
  const asked = new URLSearchParams(location.search).get("__theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () =>
    document.documentElement.classList.toggle("dark", asked ? asked === "dark" : dark.matches);
  dark.addEventListener("change", follow);
  addEventListener("beforeprint", () => document.documentElement.classList.remove("dark"));
  addEventListener("afterprint", follow);
  follow();
}
