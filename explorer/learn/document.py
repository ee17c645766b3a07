"""The page of Learn as one HTML document, the same on a server and on a disk.

Each chapter's text stands in it; a widget and its data come when its chapter is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from explorer.learn.chapter import Chapter
from explorer.learn.chapters import chapter_of, chapters, tour
from explorer.learn.pages import PAGES, navigation
from explorer.learn.symbols import meanings
from explorer.records.paths import ASSETS

_TEMPLATE = ASSETS / "learn" / "page.html"


@dataclass(frozen=True)
class Place:
    """Where the page stands: addresses relative to it.

    `script` starts the page: a module, or a script that runs the module `main`. `live`: where a
    running app answers questions; empty on a disk.
    """

    pages: Mapping[str, str] = field(default_factory=lambda: PAGES)
    script: str = "learn-files/main.js"
    main: str | None = None
    live: str = "learn-live/"


ON_A_SERVER = Place()


def document(place: Place = ON_A_SERVER) -> str:
    """The whole document."""
    environment = Environment(undefined=StrictUndefined, autoescape=True, trim_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    numbered = {chapter.key: i for i, chapter in enumerate(tour(), 1)}
    return template.render(
        navigation=Markup(navigation("Learn", place.pages)),
        chapters=[_filled(chapter, numbered.get(chapter.key), place) for chapter in chapters()],
        place=place,
        settings=Markup(_json({"symbols": meanings(), "live": place.live})),
    )


@cache
def data_json(key: str) -> str | None:
    """A chapter's data for its widget, as JSON; None: there is no such chapter."""
    chapter = chapter_of(key)
    return None if chapter is None else json.dumps(chapter.data(), allow_nan=False)


def _filled(chapter: Chapter, number: int | None, place: Place) -> dict[str, object]:
    see = chapter.see() if chapter.see else None
    return {
        "key": chapter.key,
        "title": chapter.title,
        "number": number,
        "html": Markup(chapter.html()),
        "widget": chapter.has_widget,
        "see": see and {"what": see.what, "address": place.pages["Explore"] + see.hash},
    }


def _json(value: object) -> str:
    # "<" never appears, so no text in it can end the script element
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
