"""`audit` hands prompts over, and the report back."""

import pytest

from explorer.commands import cli
from explorer.measuring import audit as module
from tests.commands.fakes import refused, run_json


def test_audit_hands_prompts_over_and_its_report_back(fake, capsys, monkeypatch, tmp_path):
    report = module.AuditReport(
        backend="int4", device="cpu", method="medusa", prompts=2, tokens=10, identical=1, ties=1,
        divergences=0, noise=0.5, logit_noise=0.3, noise_by_pass={}, hidden_bit_identical=False,
        details=[
            module.PromptAudit(id="b", category="all", verdict="tie", tokens=5, explanation="Tie."),
        ],
    )  # fmt: skip
    seen = {}

    def audit(engine, prompts, progress=None, **settings):
        seen.update(settings, prompts=prompts)
        progress("prompt 1 of 2", 0.5)
        return report

    monkeypatch.setattr(module, "audit", audit)
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "a", "category": "c", "prompt": "One"}\n\n{"prompt": "Two"}\n')
    result, _ = run_json(capsys, "audit", "--prompts", str(file), "--max-new-tokens", "5")
    assert result["tuned"] == "lossless with respect to the tuned model, not to fake"
    assert {k: result[k] for k in ("prompts", "tokens", "identical", "ties", "divergences")} == {
        "prompts": 2, "tokens": 10, "identical": 1, "ties": 1, "divergences": 0,
    }  # fmt: skip
    assert seen["max_new_tokens"] == 5
    assert seen["prompts"] == [
        {"id": "a", "category": "c", "prompt": "One"},
        {"id": "3", "category": "all", "prompt": "Two"},
    ]
    assert cli.main(["audit", "--prompts", str(file)]) == 0
    assert "Tie." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["audit"], "--prompts"),
        (["audit", "--prompts", "/nowhere.jsonl"], "no prompts file"),
        (["audit", "--prompts", "/nowhere.jsonl", "--limit", "0"], "1 or more"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)
