"""A recorded draft gives what the heads give, whatever the hidden state."""

import pytest
import torch

from explorer.heads.recorded import RecordedDrafts
from explorer.kernels.graphs import Recordings
from tests.heads.test_lighter import PIECES, H, heads_of, lighten
from tests.models.tape import TapeRecorder


@pytest.mark.parametrize("recorder", [None, TapeRecorder()])
@pytest.mark.parametrize("lighter", [{}, {"vocabulary": 90}, {"nf4": True}])
def test_recorded_drafts_are_those_of_the_heads(recorder, lighter):
    heads = heads_of("own", dtype=torch.bfloat16)
    if lighter:
        lighten(heads, PIECES, **lighter)
    heads.pack()
    recordings = Recordings(recorder)
    heads.recorded = RecordedDrafts(heads, recordings)
    found = []
    for seed in range(4):
        hidden = torch.randn(1, H, generator=torch.Generator().manual_seed(seed)).bfloat16()
        with torch.inference_mode():
            eager = heads.guess(hidden, 6)
        recorded = heads.propose(hidden, 6)
        assert torch.equal(recorded[0], eager[0])
        assert torch.allclose(recorded[1], eager[1], atol=1e-3)
        found.append(recorded)
    assert not torch.equal(found[0][0], found[1][0])  # and no draft overwrites another
    assert recordings.why_not is None
    assert recordings.count == (recorder is not None)
    assert heads.propose(torch.randn(3, H), 6)[0].shape == (3, 3, 6)  # as before
