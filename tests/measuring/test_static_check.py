"""Passes of fixed shapes are tested on the machine at hand before they are used."""

from explorer.kernels.graphs import Recordings
from explorer.measuring.selfcheck import check_static_passes
from explorer.models.early_exit import early_exit
from explorer.models.static_pass import StaticPass
from tests.decoding.tiny import tiny_model
from tests.models.tape import TapeRecorder


class Scrambled:
    """Records a pass that gives something else than the pass."""

    def record(self, work):
        return lambda: work().flip(0) + 1


def test_static_passes_are_used_only_where_they_are_right():
    model = tiny_model("qwen3")
    check_static_passes(model, StaticPass(model, Recordings(TapeRecorder())))
    assert model.static is None  # the tape cannot take down attention in fixed order
    assert "one kernel at a time" in model.notes[-1]
    model.network.set_attn_implementation("sdpa")
    check_static_passes(model, StaticPass(model, Recordings(TapeRecorder())))
    assert model.static is not None
    assert "CUDA graphs" in model.notes[-1]
    check_static_passes(model, StaticPass(model, Recordings(Scrambled())))
    assert model.static is None
    assert "in fixed shapes its LM head is more" in model.notes[-1]


def test_drafts_cut_from_the_model_run_in_its_passes():
    model = tiny_model()
    model.static = StaticPass(model, Recordings(None))
    draft = early_exit(model, 1)
    assert draft.static is not model.static
    assert draft.static.recordings is model.static.recordings
    cache = draft.static.cache()
    assert len(cache.layers) == 1
