// A tree from rank paths in the order in which they were added.

/** @import { Shape } from "../../types/page.js" */

/**
 * The shape with siblings by rank, and the row of each path.
 * @param {number[][]} paths parents before children
 * @returns {{ shape: Shape, order: number[] }}
 */
export function grown(paths) {
  const row = new Map([["", 0]]);
  /** @type {Shape} */
  const shape = { parents: [-1], depths: [0], ranks: [0], children: [[]], paths };
  const order = paths.map((path, i) => {
    const parent = row.get(path.slice(0, -1).join()) ?? 0;
    row.set(path.join(), i + 1);
    shape.parents.push(parent);
    shape.depths.push(path.length);
    shape.ranks.push(path[path.length - 1]);
    shape.children.push([]);
    shape.children[parent].push(i + 1);
    return i + 1;
  });
  for (const children of shape.children) children.sort((a, b) => shape.ranks[a] - shape.ranks[b]);
  return { shape, order };
}
