// Runs the page's modules where no server is: a browser loads no module and fetches no file from a
// disk, but it runs scripts. So each module is a script that says what it needs
// (explorer/learn/modules.py), and each file that a page fetches has a script that holds it.

(() => {
  const self = /** @type {HTMLScriptElement} */ (document.currentScript);
  const root = new URL(".", self.src);
  const onDisk = root.protocol === "file:";
  /** @typedef {Record<string, any>} Exports */
  /** @type {Map<string, { needs: string[], make: Function }>} */
  const known = new Map();
  /** @type {Map<string, Promise<Exports>>} */
  const modules = new Map();
  /** @type {Map<string, string>} */
  const files = new Map();

  /** @param {string} address */
  const script = (address) =>
    new Promise((resolve, reject) => {
      const element = document.createElement("script");
      element.src = new URL(address, root).href;
      element.onload = () => resolve(undefined);
      element.onerror = () => reject(new Error(`${address} is missing`));
      document.head.append(element);
    });

  /**
   * A module's exports, once it and all that it needs have run.
   * @param {string} name its path in the folder
   */
  function load(name) {
    const begun = modules.get(name) ?? begin(name);
    modules.set(name, begun);
    return begun;
  }

  /** @param {string} name */
  async function begin(name) {
    await script(`${name.slice(0, -".js".length)}.classic.js`);
    const found = known.get(name);
    if (!found) throw new Error(`${name} is not what it should be`);
    const needed = await Promise.all(found.needs.map(load));
    const exports = {};
    const url = new URL(name, root).href;
    const later = (/** @type {string} */ other) =>
      load(new URL(other, url).href.slice(root.href.length));
    found.make(needed, exports, { url }, later, fetchFile);
    return exports;
  }

  /**
   * What `fetch` is to the modules.
   * @param {string | URL} address
   * @param {RequestInit} [options]
   */
  async function fetchFile(address, options) {
    const { href } = new URL(address, location.href);
    if (!onDisk || !href.startsWith(root.href)) return fetch(href, options);
    const name = decodeURI(href.slice(root.href.length));
    try {
      if (!files.has(name)) await script(`${name}.data.js`);
    } catch {
      return new Response(null, { status: 404 });
    }
    return new Response(Uint8Array.from(atob(files.get(name) ?? ""), (one) => one.charCodeAt(0)));
  }

  Object.assign(globalThis, {
    medusa: {
      /** @param {string} name @param {string[]} needs @param {Function} make */
      define: (name, needs, make) => known.set(name, { needs, make }),
      /** @param {string} name @param {string} base64 */
      file: (name, base64) => files.set(name, base64),
    },
  });
  load(self.dataset.main ?? "");
})();
