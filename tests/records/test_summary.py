from explorer.records.summary import accepted_drafts, medusa_clock, origins, plain_clock
from tests.ui.fakes import FakeLab


def test_origins_follow_the_text():
    trace = FakeLab().trace()
    came = origins(trace.steps)
    assert len(came) == len(trace.new_token_ids)
    assert [origin.step for origin in came if origin.depth == 0] == list(range(len(trace.steps)))
    assert sum(origin.depth > 0 for origin in came) == sum(map(accepted_drafts, trace.steps))


def test_clocks_count_a_lanes_own_work():
    trace = FakeLab().trace()
    seconds, tokens = medusa_clock(trace.steps)
    assert tokens[-1] == len(trace.new_token_ids)
    assert abs(seconds[-1] - sum(step.timings.step for step in trace.steps) / 1000) < 1e-9
    assert all(step.timings.record > 0 for step in trace.steps)  # and none of it is counted
    seconds, tokens = plain_clock(trace.plain)
    assert tokens == list(range(1, len(trace.plain) + 1))
    assert seconds == sorted(seconds)
    assert medusa_clock([]) == ([], [])
