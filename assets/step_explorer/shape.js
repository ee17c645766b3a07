// A tree's rows from its rank paths.

/** @import { Shape } from "../../types/page.js" */

/**
 * @param {number[][]} paths
 * @returns {Shape}
 */
export function shapeOf(paths) {
  const row = new Map([["", 0]]);
  /** @type {Shape} */
  const shape = { parents: [-1], depths: [0], ranks: [0], children: [[]], paths };
  paths.forEach((path, i) => {
    const parent = row.get(path.slice(0, -1).join()) ?? 0;
    row.set(path.join(), i + 1);
    shape.parents.push(parent);
    shape.depths.push(path.length);
    shape.ranks.push(path[path.length - 1]);
    shape.children.push([]);
    shape.children[parent].push(i + 1);
  });
  return shape;
}
