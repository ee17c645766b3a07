"""Writes types/records.d.ts, the records that the server sends: `python tools/page_types.py`.

The page's JavaScript is checked against it. It comes from the pydantic models, so a field that is
renamed or removed in Python is an error where JavaScript still reads it.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pydantic.json_schema import models_json_schema  # noqa: E402

from explorer.analysis.who_knew import WhoKnew  # noqa: E402
from explorer.measuring.batch import BatchReport  # noqa: E402
from explorer.measuring.bench_report import BenchReport  # noqa: E402
from explorer.records.attention import AttentionQuestion  # noqa: E402
from explorer.records.schema import Trace  # noqa: E402

PATH = ROOT / "types" / "records.d.ts"
SENT = (Trace, AttentionQuestion, BenchReport, BatchReport, WhoKnew)
HEADING = """\
// The records that the server sends. Written by tools/page_types.py from the models in Python:
// change those, then run it again.
"""
WIDTH = 94  # of a comment
PLAIN = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}


def declarations() -> str:
    """The whole file."""
    _, schema = models_json_schema([(model, "serialization") for model in SENT])
    interfaces = [_interface(name, one) for name, one in sorted(schema["$defs"].items())]
    return "\n".join([HEADING, *interfaces])


def _interface(name: str, schema: dict[str, Any]) -> str:
    fields = "".join(_field(schema, key, value) for key, value in schema["properties"].items())
    return f"{_comment(schema)}export interface {name} {{\n{fields}}}\n"


def _field(schema: dict[str, Any], name: str, value: dict[str, Any]) -> str:
    kind = _type(value)
    may_lack = name not in schema.get("required", ()) and "null" in kind  # in old files
    return f"{_comment(value, '  ')}  {name}{'?' if may_lack else ''}: {kind};\n"


def _comment(schema: dict[str, Any], indent: str = "") -> str:
    text = schema.get("description", "").split("\n\n")[0].replace("*/", "*\\/")
    if not text:
        return ""
    if len(text) < WIDTH:
        return f"{indent}/** {' '.join(text.split())} */\n"
    lines = [f"{indent} * {line}\n" for line in textwrap.wrap(text, WIDTH)]
    return "".join([f"{indent}/**\n", *lines, f"{indent} */\n"])


def _type(schema: dict[str, Any]) -> str:
    return " | ".join(dict.fromkeys(_types(schema)))


def _types(schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"].rsplit("/", 1)[-1]
    elif "const" in schema or "enum" in schema:
        yield from map(json.dumps, schema.get("enum") or [schema["const"]])
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _types(one)
    elif schema["type"] == "array":
        inner = _type(schema["items"])
        yield f"({inner})[]" if "|" in inner else f"{inner}[]"
    elif schema["type"] == "object":
        yield f"Record<string, {_type(schema['additionalProperties'])}>"
    else:
        yield PLAIN.get(str(schema["type"]), str(schema["type"]))


if __name__ == "__main__":
    PATH.write_text(declarations(), encoding="utf-8")
    print(PATH.relative_to(ROOT))
