"""The pages of the app and the links between them, wherever they are served."""

from __future__ import annotations

from collections.abc import Mapping

# The pages by their addresses, relative to any of them.
PAGES = {
    "Explore": "./",
    "Compare": "compare",
    "Tree lab": "tree",
    "Heads": "heads",
    "Learn": "learn",
    "Serve": "serve",
}


def navigation(page: str, pages: Mapping[str, str] = PAGES) -> str:
    """The links to the pages, as HTML; `page` is the current one."""
    links = "".join(
        f'<a href="{address}"{" aria-current=page" if name == page else ""}>{name}</a>'
        for name, address in pages.items()
    )
    return f'<nav class="mx-pages" aria-label="Pages">{links}</nav>'
