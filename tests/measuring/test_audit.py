"""The audit distinguishes ties from bugs: exact models, noisy ones, and planted bugs."""

import threading
from dataclasses import replace

import pytest
import torch

from explorer.analysis.races import first_difference
from explorer.measuring.audit import audit, explain
from explorer.measuring.noise import measure_noise
from explorer.models.base import LanguageModel
from explorer.records.events import RunStarted, StepRecorded
from explorer.records.schema import TreeShape
from explorer.records.settings import DecodeSettings
from tests.tiny_lab import tiny_model

PROMPT = [5, 17, 60, 3]
REPLY = [(7 * i * i + 3) % 97 for i in range(40)]


class NoisyModel(LanguageModel):
    """Logits move with the number of rows of the pass, as those of library kernels do."""

    def logits(self, hidden):
        logits = super().logits(hidden)
        logits[:, ::2] += 1e-3 * (hidden.shape[0] - 1) / 64
        return logits


class LeakyModel(LanguageModel):
    """A planted bug: a node also sees its siblings."""

    def forward(self, tokens, offsets, mask, cache):
        siblings = offsets[:, None] == offsets[None, :]
        return super().forward(tokens, offsets, mask | siblings.tril(), cache)


def test_an_exact_model_has_no_noise():
    noise = measure_noise(tiny_model(), [(PROMPT, REPLY)], widths=(2, 8, 16))
    assert noise.hidden_bit_identical
    assert (noise.margin, noise.logit) == (0, 0)
    assert set(noise.by_pass) == {"rows 2", "tree 2", "rows 8", "tree 8", "rows 16", "tree 16"}


def test_noise_of_the_logits_alone_leaves_hidden_states_identical():
    noise = measure_noise(tiny_model(NoisyModel), [(PROMPT, REPLY)], widths=(2, 16))
    assert noise.hidden_bit_identical
    assert noise.margin == pytest.approx(1e-3 * 15 / 64, rel=0.01)
    assert noise.by_pass["rows 2"] < noise.by_pass["rows 16"]


def test_a_mask_that_leaks_shows_in_tree_passes_only():
    noise = measure_noise(tiny_model(LeakyModel), [(PROMPT, REPLY)], widths=(8,))
    assert not noise.hidden_bit_identical
    assert noise.by_pass["rows 8"] == 0
    assert noise.by_pass["tree 8"] > 0.01


def test_texts_too_short_to_compare():
    noise = measure_noise(tiny_model(), [(PROMPT, [1])])
    assert noise.by_pass == {}
    assert noise.hidden_bit_identical


@pytest.mark.parametrize(
    ("a", "b", "where"),
    [([1, 2], [1, 2], None), ([], [], None), ([1, 2], [1, 3], 1), ([1], [1, 2], 1), ([3], [], 0)],
)
def test_first_difference(a, b, where):
    assert first_difference(a, b) == where


def greedy(model, prompt, length):
    """Plain greedy decoding, each time from scratch: slow and beyond doubt."""
    text = []
    for _ in range(length):
        ids = torch.tensor([*prompt, *text])
        with torch.inference_mode():
            hidden = model.hidden_states(ids)
        text.append(int(model.logits(hidden[-1:]).argmax()))
    return text


def second_best(model, ids):
    """(the second likeliest token behind `ids`, its distance from the first)."""
    with torch.inference_mode():
        best = model.logits(model.hidden_states(torch.tensor(ids))[-1:])[0].topk(2)
    return int(best.indices[1]), float(best.values[0] - best.values[1])


@pytest.fixture(scope="module")
def model():
    return tiny_model()


@pytest.fixture(scope="module")
def text(model):
    return greedy(model, PROMPT, 8)


def _noise(model, margin):
    return replace(measure_noise(model, [(PROMPT, REPLY[:4])], widths=(2,)), margin=margin)


@pytest.mark.parametrize("at", [0, 1, 5])
def test_a_small_margin_is_a_tie_and_a_large_one_a_bug(model, text, at):
    other, gap = second_best(model, [*PROMPT, *text[:at]])
    wrong = [*text[:at], other, 1, 2]
    tie = explain(model, _noise(model, gap * 1.01), PROMPT, text, wrong, {"id": "x"})
    assert tie.verdict == "tie"
    assert tie.margin == pytest.approx(gap, rel=1e-3)
    assert tie.position == at
    assert (tie.plain_token, tie.method_token) == (text[at], other)
    bug = explain(model, _noise(model, gap * 0.99), PROMPT, text, wrong, {"id": "x"})
    assert bug.verdict == "divergence"
    for number in (f"{bug.margin:.4g}", f"{gap * 0.99:.4g}"):
        assert number in bug.explanation


def test_how_many_positions_the_noise_could_decide(model):
    """The share of positions where any difference would count as a tie."""
    noise = measure_noise(model, [(PROMPT, REPLY)], widths=(2,))
    leads = sorted(noise.leads)
    assert len(leads) == len(REPLY)
    assert noise.within == 0
    assert replace(noise, margin=leads[10]).within == 10 / len(REPLY)
    assert replace(noise, margin=leads[-1] + 1).within == 1


def test_no_noise_no_ties(model, text):
    other, _ = second_best(model, PROMPT)
    assert explain(model, _noise(model, 0.0), PROMPT, text, [other], {}).verdict == "divergence"


def test_a_text_that_stops_early_is_a_bug(model, text):
    for got in (text[:3], [*text, 4]):
        found = explain(model, _noise(model, 100.0), PROMPT, text, got, {})
        assert found.verdict == "divergence"
        assert found.position == min(len(got), len(text))
        assert found.margin is None


class FakeLab:
    """Writes prepared texts."""

    def __init__(self, model, texts, make_trace, step):
        self.model, self.texts = model, texts
        self.make_trace, self.step = make_trace, step
        self.asked = []

    def decode(self, prompt, settings: DecodeSettings, cancel=None):
        self.asked.append((settings.method, settings.temperature, settings.max_new_tokens))
        header = self.make_trace(PROMPT, []).header
        yield RunStarted(header=header, pieces={})
        text = self.texts[prompt][settings.method != "plain"]
        root = TreeShape(name="root", paths=[])
        yield StepRecorded(step=self.step(emitted=text[:2]), trees=[root])
        yield StepRecorded(step=self.step(index=1, emitted=text[2:]))


def test_the_report_adds_up(model, text, make_trace, step):
    other, _ = second_best(model, [*PROMPT, *text[:4]])
    texts = {"same": (text, text), "bug": (text, [*text[:4], other]), "also": (text, text)}
    lab = FakeLab(model, texts, make_trace, step)
    prompts = [{"id": key, "category": "c", "prompt": key} for key in texts]
    progress = []
    report = audit(lab, prompts, 8, progress=lambda *what: progress.append(what))
    assert (report.prompts, report.tokens) == (3, 24)
    assert (report.identical, report.ties, report.divergences) == (2, 0, 1)
    assert report.noise == 0
    assert report.hidden_bit_identical
    assert [d.id for d in report.details if d.verdict == "divergence"] == ["bug"]
    assert "2 of 3 texts identical" in report.sentence
    assert lab.asked[:2] == [("plain", 0, 8), ("medusa", 0, 8)]
    assert len(progress) == 3
    assert report.model_dump_json()


def test_a_cancelled_audit_reports_what_it_finished(model, text, make_trace, step):
    cancel = threading.Event()
    lab = FakeLab(model, {"a": (text, text), "b": (text, text)}, make_trace, step)

    def stop(found, share):
        if share > 0:
            cancel.set()

    prompts = [{"prompt": "a"}, {"prompt": "b"}]
    report = audit(lab, prompts, 8, progress=stop, cancel=cancel)
    assert (report.prompts, report.identical) == (1, 1)
