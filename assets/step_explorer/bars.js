// The bars of a timeline: one per step, its height the tokens it added, coloured by their depths.

export const DEPTHS = 5; // looks: root, 1, 2, 3, 4 and deeper
export const [BOTTOM, LEFT] = [2, 6];
export const WIDEST = 16;
export const MIN_CAPACITY = 48; // steps that have room before anything is squeezed

/**
 * A path per look: a rectangle for each token that came so.
 * @param {number[]} lengths tokens of each step
 * @param {{ slot: number, most: number, top: number, height: number }} scale
 */
export function barPaths(lengths, { slot, most, top, height }) {
  const paths = Array(DEPTHS).fill("");
  const unit = Math.max(0, height - top - BOTTOM) / most;
  const [gap, wide] = [slot > 4 ? 1 : 0, Math.max(0.6, slot - (slot > 4 ? 2 : slot * 0.2))];
  lengths.forEach((length, i) => {
    const x = (LEFT + i * slot).toFixed(2);
    for (let depth = 0; depth < length; depth += 1) {
      const y = (height - BOTTOM - (depth + 1) * unit).toFixed(2);
      const tall = Math.max(0, unit - gap).toFixed(2);
      paths[Math.min(depth, DEPTHS - 1)] +=
        `M${x} ${y}h${wide.toFixed(2)}v${tall}h-${wide.toFixed(2)}z`;
    }
  });
  return paths;
}
