// Where a run comes from, for the bar.

import { plural } from "./numbers.js";

/** @import { Trace } from "./trace.js" */

/**
 * What made a run, in a few words.
 * @param {Pick<Trace, "header">} trace
 */
export function describe({ header }) {
  if (!header) return "";
  const { model, backend, device, settings } = header;
  const earlier = header.continued_tokens
    ? [`continues ${plural(header.continued_tokens, "token")}`]
    : [];
  return [
    model,
    backend,
    device,
    ...(["medusa", "hydra"].includes(settings.method) ? [`tree ${settings.tree}`] : []),
    settings.acceptance,
    ...earlier,
    header.created.slice(0, 10),
  ].join(" · ");
}
