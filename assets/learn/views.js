// A widget of several pictures, one at a time, each chosen by the question that it answers.

/** @import { Tools } from "./kit.js" */

/**
 * The first view is shown first; the chapter's question stands below all of them.
 * @template {{ question: Parameters<Tools["question"]>[0] }} Data
 * @param {[key: string, name: string, view: (data: Data, tools: Tools) => HTMLElement][]} views
 * @param {Data} data
 * @param {Tools} tools
 */
export function viewsOf(views, data, tools) {
  const made = new Map(views.map(([key, , view]) => [key, view(data, tools)]));
  const show = (/** @type {string} */ wanted) =>
    made.forEach((element, key) => {
      element.hidden = key !== wanted;
    });
  const [first] = made.keys();
  const chosen = tools.choice(
    "Ask",
    views.map(([key, name]) => [key, name]),
    first,
    show,
  );
  show(first);
  return [chosen.element, ...made.values(), tools.question(data.question)];
}
