// Puts the tree that the address names, as in tree#tree=[[0],[1]], into the last value: the tree box.
(/** @type {unknown[]} */ ...asked) => [
  ...asked.slice(0, -1),
  new URLSearchParams(location.hash.slice(1)).get("tree") ?? asked.at(-1),
];
