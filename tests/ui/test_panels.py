"""The small panels of the page."""

from explorer.learn.chapters import chapters
from explorer.ui import panels


def test_the_introduction_leads_to_a_game_that_exists():
    page, key = panels.GAME.split("#")
    assert page == "learn"
    assert key in {chapter.key for chapter in chapters()}
    assert f'href="{panels.GAME}"' in panels.intro()
