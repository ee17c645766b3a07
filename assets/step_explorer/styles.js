// The style sheets, in order.

export const STYLES = [
  "base.css", "layout.css", "text.css", "pictures.css", "charts.css", "panels.css",
  "presenter.css", "narrow.css",
];

/** Add them to the page, once; resolves when they are there. */
export async function loadStyles() {
  const missing = STYLES.map((name) => new URL(name, import.meta.url).href).filter(
    (href) => !document.querySelector(`link[href="${CSS.escape(href)}"]`),
  );
  await Promise.all(
    missing.map(
      (href) =>
        new Promise((resolve) => {
          const link = document.createElement("link");
          Object.assign(link, { rel: "stylesheet", href, onload: resolve, onerror: resolve });
          document.head.append(link);
        }),
    ),
  );
}
