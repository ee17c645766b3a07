"""The foresight map, by hand and on a recorded run, and the page's count of it."""

import pytest

from explorer.analysis.foresight import Known, foreseen, foresight, tokens_ahead
from explorer.analysis.joint_counts import rank_rows
from explorer.records.files import read_trace
from explorer.records.paths import ASSETS
from tests.analysis.made_up_runs import PROMPT, made_up_run
from tests.node import ask_module

# Two heads; the rank of the true token of each at each position, −1: a miss.
ROWS = [[0, 2], [-1, 0], [3, -1], [0, 0]]


@pytest.fixture(scope="module")
def recorded():
    return read_trace(ASSETS / "traces" / "story.json.gz")


def test_a_token_is_had_by_the_heads_whose_hidden_states_lie_before_it():
    tokens = foresight(made_up_run(ROWS, [(0,)]))[:5]
    last = PROMPT - 1
    assert tokens[0] == []  # only the LM head comes before the first token
    assert tokens[1] == [Known(1, 0, 0.5, last)]
    assert tokens[2] == [Known(2, 2, 0.01, last)]  # head 1 missed it
    assert tokens[3] == [Known(1, 3, 0.01, last + 2), Known(2, 0, 0.5, last + 1)]


def test_ahead_counts_the_farthest_head_within_its_best_guesses():
    known = [Known(1, 0, 0.5, 9), Known(2, 2, 0.1, 8), Known(4, 7, 0.01, 6)]
    assert [tokens_ahead(known, top) for top in (1, 3, 10)] == [1, 2, 4]
    assert tokens_ahead(known, 10, heads=3) == 2
    assert tokens_ahead([], 10) == 0


def test_shares_are_of_all_tokens_and_fall_with_the_distance():
    tokens = [[], [Known(1, 0, 0.5, 3)], [Known(2, 2, 0.1, 3)], [Known(1, 0, 0.5, 5)]]
    assert foreseen(tokens, 1) == [2 / 4]
    assert foreseen(tokens, 3) == [3 / 4, 1 / 4]
    assert foreseen([[]], 3) == []


def test_a_recorded_run_agrees_with_its_rank_rows(recorded):
    tokens, rows = foresight(recorded), rank_rows(recorded)
    pairs = 0
    for at, ranks in enumerate(rows.tolist()):
        for head, rank in enumerate(ranks, start=1):
            if at + head < len(tokens):
                found = [one.rank for one in tokens[at + head] if one.head == head]
                assert found == ([rank] if rank >= 0 else [])
                pairs += 1
    assert pairs > 100


def test_the_page_counts_the_same(recorded):
    shown = ask_module(
        "step_explorer/foresight.js",
        """(async () => {
          const { Trace } = await import("./assets/step_explorer/trace.js");
          const trace = Trace.of(given);
          return trace.tokens.map((_, i) => {
            const known = module.knownBy(trace, i);
            const ahead = [1, 3, 10].map((top) => module.tokensAhead(known, top, 3));
            return [known.map(Object.values), ahead];
          });
        })()""",
        recorded.model_dump(mode="json"),
    )
    for known, (listed, ahead) in zip(foresight(recorded), shown, strict=True):
        assert [Known(*one) for one in listed] == known
        assert ahead == [tokens_ahead(known, top, heads=3) for top in (1, 3, 10)]
