// The tree that the address names, as in tree#tree=[[0],[1]]; without one, the first choice stays.
(/** @type {string} */ named, /** @type {unknown[]} */ ...asked) => [
  new URLSearchParams(location.hash.slice(1)).get("tree") ?? named,
  ...asked,
];
