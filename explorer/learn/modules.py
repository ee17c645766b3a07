"""The page's modules as plain scripts, which run from a disk too (assets/site/site.js loads them).

Only the forms of import and export that the page's modules have are rewritten; modules must not
import each other in a circle.
"""

from __future__ import annotations

import json
import posixpath
import re

_IMPORT = re.compile(r'^import\s+(\{[^}]*\}|\* as \w+)\s+from\s+"(\.[^"]+)";$', re.MULTILINE)
_PASSED_ON = re.compile(r'^export\s+\{([^}]*)\}\s+from\s+"(\.[^"]+)";$', re.MULTILINE)
_NAMED = re.compile(r"^export\s+\{([^}]*)\};$", re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:async )?(?:const|function|class) (\w+|\[[\w, ]+\]))", re.MULTILINE
)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class NotRewrittenError(ValueError):
    """A module has a form of import or export that is not known here."""


def classic(name: str, source: str) -> str:
    """A module as a script: `medusa.define(name, needs, make)`. Raises NotRewrittenError.

    `name` is its path in the folder; imports become members of what `make` is given.
    """
    needs: list[str] = []

    def needed(path: str) -> str:
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if whole not in needs:
            needs.append(whole)
        return f"$needed[{needs.index(whole)}]"

    def imported(found: re.Match[str]) -> str:
        names, module = found[1], needed(found[2])
        if names.startswith("*"):
            return f"const {names.removeprefix('* as ')} = {module};"
        return f"const {names.replace(' as ', ': ')} = {module};"

    exported = re.findall(r"\w+", " ".join(_EXPORT.findall(source)))

    def passed_on(found: re.Match[str]) -> str:
        module = needed(found[2])
        exported.extend(f"{each}: {module}.{each}" for each in re.findall(r"\w+", found[1]))
        return ""

    def named(found: re.Match[str]) -> str:
        exported.extend(re.findall(r"\w+", found[1]))
        return ""

    body = _PASSED_ON.sub(passed_on, _IMPORT.sub(imported, source))
    body = _NAMED.sub(named, body)
    body = _EXPORT.sub("", body)
    left = _LEFT.search(body)
    if left:
        raise NotRewrittenError(f"{name}: {left[0]}")
    body = body.replace("import.meta.url", "$meta.url")
    body = re.sub(r"(?<![\w.{\"])import\(", "$load(", body)
    return (
        f"medusa.define({json.dumps(name)}, {json.dumps(needs)}, "
        "($needed, $exports, $meta, $load, fetch) => {\n"
        f'"use strict";\n{body}\nObject.assign($exports, {{ {", ".join(exported)} }});\n}});\n'
    )
