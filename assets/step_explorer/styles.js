// The style sheets, in order.

export const STYLES = [
  "palette.css",
  "base.css",
  "layout.css",
  "text.css",
  "pictures.css",
  "charts.css",
  "panels.css",
  "story.css",
  "foresight.css",
  "term.css",
  "presenter.css",
  "narrow.css",
  "copy.css",
];

// Found when it is asked for: inside an exported page a module has no address.
const own = () => STYLES.map((name) => new URL(name, import.meta.url).href);

/**
 * Add style sheets to the page, once; resolves when they are there.
 * @param {string[]} addresses
 */
export async function loadStyles(addresses = own()) {
  const missing = addresses.filter(
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
