// Formulas as HTML, by KaTeX: reads a list of [TeX, display] from stdin, writes the list of HTML.
// (tools/page_formulas.py runs it; a page never loads KaTeX itself.)

import { createRequire } from "node:module";

const katex = createRequire(import.meta.url)("./katex.min.cjs");
const asked = JSON.parse(await new Response(process.stdin).text());
const rendered = asked.map(([tex, displayMode]) =>
  // Only \htmlData, which names the symbols that explain themselves, needs trust.
  katex
    .renderToString(tex, {
      displayMode,
      throwOnError: true,
      strict: (code) => (code === "htmlExtension" ? "ignore" : "error"),
      trust: ({ command }) => command === "\\htmlData",
    })
    .replace(/<annotation.*?<\/annotation>/gs, ""), // the TeX again, with its marks
);
process.stdout.write(JSON.stringify(rendered));
