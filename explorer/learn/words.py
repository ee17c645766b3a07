"""Every word of the glossary, and the chapter that explains it."""

from __future__ import annotations

from explorer.learn.chapter import Chapter
from explorer.learn.lexicon import LESSONS, glossary
from explorer.learn.outline import TITLES

KEY = "words"


def numbers() -> dict[str, object]:
    """Words with their meanings, keys and titles of chapters, by the alphabet."""
    return {
        "words": [
            {
                "word": word,
                "meaning": meaning,
                "lesson": lesson if lesson != KEY else None,
                "title": TITLES.get(lesson or ""),
            }
            for word, meaning in sorted(glossary().items(), key=lambda item: item[0].lower())
            for lesson in [LESSONS.get(word)]
        ]
    }


CHAPTER = Chapter(KEY, TITLES[KEY], numbers)
