from explorer.records.summary import accepted_drafts, lane_clock
from tests.ui.fakes import FakeLab


def test_roots_and_accepted_drafts_make_the_text():
    trace = FakeLab().trace()
    drafts = sum(map(accepted_drafts, trace.steps))
    assert drafts > 0
    assert len(trace.steps) + drafts == len(trace.new_token_ids)


def test_clocks_count_a_lanes_own_work():
    trace = FakeLab().trace()
    seconds, tokens = lane_clock(trace.steps)
    assert tokens[-1] == len(trace.new_token_ids)
    assert abs(seconds[-1] - sum(step.timings.step for step in trace.steps) / 1000) < 1e-9
    assert all(step.timings.record > 0 for step in trace.steps)  # and none of it is counted
    seconds, tokens = lane_clock(trace.rival.steps)
    assert tokens == list(range(1, len(trace.rival.steps) + 1))
    assert seconds == sorted(seconds)
    assert lane_clock([]) == ([], [])
