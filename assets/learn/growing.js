// A tree from rank paths in the order in which they were added.

import { shapeOf } from "../step_explorer/shape.js";

/** @import { Shape } from "../../types/page.js" */

/**
 * The shape with siblings by rank; row i + 1 holds path i.
 * @param {number[][]} paths parents before children
 * @returns {Shape}
 */
export function grown(paths) {
  const shape = shapeOf(paths);
  for (const children of shape.children) children.sort((a, b) => shape.ranks[a] - shape.ranks[b]);
  return shape;
}
