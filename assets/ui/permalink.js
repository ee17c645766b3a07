// Fills the prompt and the settings with what the address asks for; the values come in the order
// of explorer.ui.settings.SettingsInputs, and what each of them may be.
async (
  /** @type {import("../../types/page.js").Offer[]} */ offers,
  /** @type {string} */ prompt,
  /** @type {unknown[]} */ ...values
) => {
  // Of the app's own address only the path holds: a proxy may change scheme, host and port.
  const { pathname } = new URL(window.gradio_config?.root ?? "/", location.href);
  const root = `${location.origin}${pathname.replace(/\/$/, "")}/`;
  const recalled = (/** @type {number} */ length) => {
    try {
      const before = JSON.parse(sessionStorage.getItem("medusa-explorer-asked") ?? "null");
      return Array.isArray(before) && before.length === length ? before : null;
    } catch {
      return null;
    }
  };
  const { SETTINGS, offered, wantedFrom } = await import(`${root}step_explorer/permalink.js`);
  const wanted = wantedFrom(location.hash);
  const examples = wanted.example ? await (await fetch(`${root}traces/index.json`)).json() : [];
  const example = examples.find(
    (/** @type {{ name: string }} */ { name }) => name === wanted.example,
  );
  const named = wanted.prompt !== null || wanted.example !== null || wanted.trace !== null;
  const kept = named ? null : recalled(values.length + 1);
  const asked = { ...example?.settings, ...wanted.settings };
  const text = kept ? kept[0] : (wanted.prompt ?? example?.prompt ?? prompt);
  const setting = (/** @type {number} */ i) => (kept ? kept[i + 1] : asked[SETTINGS[i]]);
  return [text, ...values.map((value, i) => offered(setting(i), value, offers[i]))];
};
