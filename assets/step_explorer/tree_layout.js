// Where the nodes of a candidate tree stand: root at the left, a line of text for each leaf.
// A node stands on the line of its first child, so the same tree looks the same in every step.

export const MANY_NODES = 96; // from here on, what was never reached is folded away

/** Rows whose children are folded away: rejected ones of a large tree, unless opened by hand. */
export function foldedRows(step, shape, opened) {
  const folded = new Set();
  if (step.token_ids.length <= MANY_NODES) return folded;
  step.verdicts.forEach((verdict, row) => {
    if (verdict === "rejected" && shape.children[row].length && !opened.has(row)) folded.add(row);
  });
  return folded;
}

/** Per visible row its column and line. Iterative: trees may be 512 deep. */
export function tidy(shape, folded) {
  const place = new Map();
  const pending = [];
  const stack = [0];
  let lines = 0;
  while (stack.length) {
    const row = stack.pop();
    const children = folded.has(row) ? [] : shape.children[row];
    if (children.length) {
      pending.push([row, lines]);
      for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
    } else {
      place.set(row, { column: shape.depths[row], line: lines });
      lines += 1;
    }
  }
  for (const [row, line] of pending) place.set(row, { column: shape.depths[row], line });
  return { place, lines };
}

/** How many rows lie below a row. */
export function descendants(shape, row) {
  let total = 0;
  const stack = [...shape.children[row]];
  while (stack.length) {
    total += 1;
    stack.push(...shape.children[stack.pop()]);
  }
  return total;
}
