"""A plan for a lesson of 45 minutes, and the worksheet's answers."""

from __future__ import annotations

from explorer.learn.chapter import Chapter
from explorer.learn.outline import TITLES
from explorer.learn.worksheet import questions

KEY = "teacher"
# Minutes, chapter (empty: Explore), what happens, and what to ask.
PLAN = (
    (
        4,
        "",
        "Let the race of the example “code” run, then “story”.",
        "Same text, why not the same speed?",
    ),
    (
        6,
        "memory_wall",
        "Move the batch up until the arithmetic no longer waits.",
        "What does a token cost, if not arithmetic?",
    ),
    (
        6,
        "draft_and_verify",
        "Guess the best K before you look; switch the cost of rows.",
        "When do more drafts make it slower?",
    ),
    (5, "heads", "Find a word that a head had three tokens ahead.", "Why are later heads worse?"),
    (
        6,
        "tree",
        "One chain against a tree on the same step.",
        "How many passes would the paths need one by one?",
    ),
    (
        7,
        "tree_attention",
        "Build the mask together, row by row; then break it.",
        "What may a node see, and why itself?",
    ),
    (5, "accepting", "Take one step under three rules.", "Which rule may change the text?"),
    (6, "worksheet", "Pairs fill in the sheet; compare.", "Which answer surprised you?"),
)


def numbers() -> dict[str, object]:
    """The plan with titles and running minutes, and the answers."""
    rows, minute = [], 0
    for minutes, lesson, doing, ask in PLAN:
        rows.append(
            {
                "from": minute,
                "to": minute + minutes,
                "lesson": lesson,
                "title": TITLES.get(lesson, "Explore"),
                "doing": doing,
                "ask": ask,
            }
        )
        minute += minutes
    return {"plan": rows, "minutes": minute, "questions": questions(), "titles": TITLES}


CHAPTER = Chapter(KEY, TITLES[KEY], numbers)
