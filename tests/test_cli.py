"""The command line over a fake engine: arguments in, JSON and exit status out."""

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

import explorer
from explorer import cli
from explorer.commands import train
from explorer.commands.prompts import BUILT_IN, read_prompts
from explorer.decoding.registry import METHODS
from explorer.errors import ExplorerError
from explorer.tracing.events import RunStarted, StepRecorded
from explorer.tracing.files import read_trace
from explorer.tracing.schema import (
    Header,
    Piece,
    Settings,
    Step,
    Timings,
    TreeShape,
)

EOS = 9
EMITTED = [[1, 2], [3], [4, EOS]]
TOKENS = [token for step in EMITTED for token in step]
PIECES = {
    1: Piece(text="Hi"),
    2: Piece(text=None, bytes="f09f"),
    3: Piece(text=None, bytes="9982"),
    4: Piece(text="!\x1b"),
    EOS: Piece(text="<|end|>"),
}
CHAIN = TreeShape(name="chain:1", paths=[[0]])


def header(settings):
    return Header(
        created="2026-01-01T00:00:00Z",
        explorer_version="0",
        model="fake",
        heads="heads",
        num_heads=1,
        backend="int4",
        device="cpu",
        versions={},
        settings=Settings(**settings.model_dump() | {"acceptance": settings.rule}),
        prompt="p",
        prompt_ids=[7],
        prompt_position=None,
        prefill_ms=5.0,
        eos_ids=[EOS],
    )


def step_of(index, emitted):
    n = 2
    return Step(
        index=index,
        context_length=1 + index,
        tree=0,
        token_ids=[emitted[0], 5],
        draft_probs=[1.0] * n,
        joint_probs=[1.0] * n,
        base_probs=[1.0] * n,
        base_ranks=[0] * n,
        choices=[],
        verdicts=["root", "accepted" if len(emitted) > 1 else "rejected"],
        base_top=[],
        accepted=list(range(len(emitted))),
        emitted=emitted,
        bonus=None,
        bonus_prob=None,
        positions=[],
        timings=Timings(verify=10.0, record=100.0),
    )


class FakeExplorer:
    description = "Fake · int4 · CPU"

    def __init__(self, plain=TOKENS):
        self.notes = ["A calm note."]
        self.model = SimpleNamespace(tuned="lossless with respect to the tuned model, not to fake")
        self.heads = "the heads"
        self.plain = plain
        self.asked = []

    def decode(self, prompt, settings, cancel=None):
        self.asked.append((prompt, settings))
        if settings.method not in METHODS:
            raise ExplorerError(f"There is no method '{settings.method}'.")
        print("a library's chatter on stdout")
        yield RunStarted(header=header(settings), pieces={})
        for index, emitted in enumerate(EMITTED):
            trees = [CHAIN] if index == 0 else []
            yield StepRecorded(step=step_of(index, emitted), pieces=PIECES, trees=trees)

    def compare(self, prompt, settings, methods, cancel=None):
        for method in methods:
            lane = settings.model_copy(update={"method": method})
            if method != "plain":
                yield from ((method, event) for event in self.decode(prompt, lane))
                continue
            yield method, RunStarted(header=header(lane), pieces=PIECES)
            for index, token in enumerate(self.plain):
                step = step_of(index, [token])
                trees = [CHAIN] if index == 0 else []
                yield method, StepRecorded(step=step, pieces={}, trees=trees)


@pytest.fixture
def fake(monkeypatch):
    engine = FakeExplorer()

    def load(progress=None, **asked):
        engine.loaded = asked
        progress("Loading the fake", 0.5)
        return engine

    monkeypatch.setattr(explorer, "load", load, raising=False)
    return engine


def run_json(capsys, *argv):
    assert cli.main([*argv, "--json"]) == 0
    out = capsys.readouterr()
    assert out.out.count("\n") == 1
    return json.loads(out.out), out.err


def refused(capsys, *argv):
    """The one line on stderr of a command that ends with status 2."""
    try:
        status = cli.main(list(argv))
    except SystemExit as leaving:
        status = leaving.code
    out = capsys.readouterr()
    assert status == 2
    assert out.out == ""
    lines = [line for line in out.err.splitlines() if line and "…" not in line]
    lines = [line for line in lines if line not in ("Fake · int4 · CPU", "A calm note.")]
    assert len(lines) == 1, out.err
    assert "Traceback" not in out.err
    return lines[0]


def test_run_gives_the_promised_fields(fake, capsys):
    result, err = run_json(capsys, "run", "Hello", "--max-new-tokens", "8")
    assert result["text"] == "Hi🙂!\x1b"  # joined over token borders, the end token left out
    assert result["token_ids"] == TOKENS
    assert result["method"] == "medusa"
    assert result["steps"] == 3
    assert result["new_tokens"] == 5
    assert result["tokens_per_step"] == pytest.approx(5 / 3)
    assert result["seconds"] == pytest.approx(0.03)  # recording is no part of the clock
    assert result["tokens_per_second"] == pytest.approx(5 / 0.03)
    assert result["backend"] == "int4"
    assert "chatter" in err
    assert "A calm note." in err
    assert fake.asked[0][1].max_new_tokens == 8


def test_run_streams_the_text_for_a_person(fake, capsys):
    assert cli.main(["run", "Hello"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Hi🙂!")
    assert "5 tokens in 3 steps" in out


def test_run_passes_every_setting_on(fake, capsys):
    run_json(
        capsys, "run", "Hello", "--method", "plain", "--temperature", "0.7", "--top-p", "0.9",
        "--top-k", "40", "--seed", "3", "--acceptance", "typical", "--epsilon", "0.2",
        "--delta", "0.4", "--tree", "chain:2", "--system", "Be brief.", "--raw",
        "--candidates", "top", "--draft-tokens", "5", "--draft-layers", "4",
        "--lookahead-window", "6", "--lookahead-ngram", "5", "--lookahead-guesses", "7",
        "--lookup-tokens", "8", "--lookup-ngram", "2",
        "--backend", "fp32", "--device", "cpu", "--heads", "mine", "--adapter", "tuned",
    )  # fmt: skip
    settings = fake.asked[0][1].model_dump()
    assert settings == {
        "method": "plain", "tree": "chain:2", "acceptance": "typical", "temperature": 0.7,
        "top_p": 0.9, "top_k": 40, "epsilon": 0.2, "delta": 0.4, "seed": 3,
        "max_new_tokens": 128, "system_prompt": "Be brief.", "raw_prompt": True,
        "candidates": "top", "draft_tokens": 5, "draft_layers": 4, "lookahead_window": 6,
        "lookahead_ngram": 5, "lookahead_guesses": 7, "lookup_tokens": 8, "lookup_ngram": 2,
    }  # fmt: skip
    assert fake.loaded == {
        "preset": "default", "model": None, "heads": "mine", "backend": "fp32", "device": "cpu",
        "adapter": "tuned",
    }  # fmt: skip


def test_run_writes_a_trace(fake, capsys, tmp_path):
    path = tmp_path / "run.json.gz"
    result, _ = run_json(capsys, "run", "Hello", "--trace", str(path))
    assert read_trace(path).new_token_ids == TOKENS
    assert result["trace"] == str(path)


def test_prompt_from_stdin(fake, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grüße".encode())))
    run_json(capsys, "run", "-")
    assert fake.asked[0][0] == "Grüße"


def test_race_compares_the_lanes(fake, capsys):
    result, _ = run_json(capsys, "race", "Hello")
    assert set(result["lanes"]) == {"plain", "medusa"}
    plain, medusa = result["lanes"]["plain"], result["lanes"]["medusa"]
    assert plain["tokens_per_second"] == pytest.approx(100)
    assert plain["tokens_per_step"] == 1
    assert medusa["tokens_per_second"] == pytest.approx(5 / 0.03)
    assert medusa["seconds"] == pytest.approx(0.03)
    assert result["speedup"] == pytest.approx(5 / 3)
    assert result["identical"] is True


def test_race_sees_a_difference(fake, capsys):
    fake.plain = [*TOKENS[:-1], 1]
    result, _ = run_json(capsys, "race", "Hello")
    assert result["identical"] is False


def test_race_of_many_methods(fake, capsys):
    result, _ = run_json(capsys, "race", "Hello", "--methods", "prompt-lookup, plain,lookahead")
    assert list(result["lanes"]) == ["plain", "prompt-lookup", "lookahead"]
    assert result["settings"]["method"] == "prompt-lookup"
    assert result["lanes"]["lookahead"]["speedup"] == pytest.approx(5 / 3)
    assert result["lanes"]["lookahead"]["identical"] is True
    assert result["lanes"]["plain"]["speedup"] is None
    assert cli.main(["race", "Hello", "--methods", "plain,medusa,lookahead"]) == 0
    assert "all lanes gave the same text" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["run", "race", "bench", "audit"])
def test_help_tells_every_method_and_its_parameters(capsys, name):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    for method in METHODS.values():
        assert method.explanation in out
        for parameter in method.parameters:
            assert f"--{parameter.replace('_', '-')}" in out


def test_race_for_a_person_is_text(fake, capsys):
    assert cli.main(["race", "Hello"]) == 0
    out = capsys.readouterr().out
    assert "speedup 1.67×" in out
    assert "both lanes gave the same text" in out


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["run", ""], "prompt is empty"),
        (["run", "a\udcff"], "not UTF-8"),
        (["run", "x", "--max-new-tokens", "0"], "max_new_tokens"),
        (["run", "x", "--max-new-tokens", "two"], "max-new-tokens"),
        (["run", "x", "--temperature", "nan"], "temperature"),
        (["run", "x", "--temperature", "1e-40"], "too low to sample"),
        (["run", "x", "--tree", "chain:1" + " " * 30_000], "tree"),
        (["run", "x", "--acceptance", "best"], "acceptance"),
        (["run", "x", "--acceptance", "greedy", "--temperature", "1"], "Greedy"),
        (["run", "x", "--method", "magic"], "no method 'magic'"),
        (["run", "x", "--preset", "nope"], "no preset 'nope'"),
        (["run", "x", "--preset", "zephyr-7b-beta", "--model", "y"], "not allowed"),
        (["run", "x", "--backend", "int3"], "int3"),
        (["run", "x", "--trace", "/nowhere/at/all/x.json.gz"], "No trace can be written"),
        (["run", "x", "--trace", "x" * 300], "No trace can be written"),
        (["run", "x", "--trace", "~nobody-here/x.json.gz"], "No trace can be written"),
        (["run", "x", "--max-new", "3"], "max-new"),  # options are never guessed
        (["run"], "PROMPT"),
        (["race", "x", "--methods", "medusa"], "plain and one other"),
        (["race", "x", "--methods", ""], "plain and one other"),
        (["race", "x", "--methods", "plain,telepathy"], "no method 'telepathy'"),
        (["bench", "--prompts", str(BUILT_IN), "--methods", "tea"], "no method 'tea'"),
        (["run", "x", "--candidates", "best"], "candidates"),
        (["run", "x", "--candidates", "drawn"], "temperature above 0"),
        (["run", "x", "--method", "draft-model", "--draft-tokens", "0"], "draft_tokens"),
        (["run", "x", "--method", "lookahead", "--lookahead-ngram", "2"], "lookahead_ngram"),
        (["fly"], "fly"),
        ([], "say what to do"),
        (["audit"], "--prompts"),
        (["audit", "--prompts", "/nowhere.jsonl"], "no prompts file"),
        (["audit", "--prompts", "/nowhere.jsonl", "--limit", "0"], "1 or more"),
        (["train"], "WHAT"),
        (["train", "feet"], "feet"),
        (["train", "heads", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "heads", "--data", "/nowhere", "--out", "x", "--epochs", "no"], "--epochs"),
        (["train", "joint", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "joint", "--data", "/nowhere", "--out", "x", "--rank", "0"], "--rank"),
        (["train", "draft", "--data", "/nowhere", "--out", "x"], "no training data"),
        (["train", "draft", "--data", "/nowhere", "--out", "x", "--layers", "0"], "--layers"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)


@pytest.mark.parametrize(
    "name", [*(set(cli.COMMANDS) - {"train"}), *(f"train {what}" for what in train.SUBCOMMANDS)]
)
def test_help_shows_an_example(capsys, name):
    with pytest.raises(SystemExit) as leaving:
        cli.main([*name.split(), "--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert f"python -m explorer {name}" in out
    for option in ("--json", "--preset", "--model", "--heads", "--backend", "--device"):
        assert option in out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_are_accepted(name):
    import shlex

    argv = shlex.split(cli.command_module(name).EXAMPLE)[3:]
    assert cli.build_parser(argv).parse_args(argv).command == name


@pytest.mark.parametrize("what", train.SUBCOMMANDS)
def test_examples_of_train_are_accepted(what):
    import shlex

    argv = shlex.split(train.subcommand_module(what).EXAMPLE)[3:]
    args = cli.build_parser(argv).parse_args(argv)
    assert (args.command, args.what, args.backend) == ("train", what, "auto")


def test_unexpected_errors_are_status_one(fake, capsys, monkeypatch):
    def broken(**_):
        raise RuntimeError("boom\nwith a second line")

    monkeypatch.setattr(explorer, "load", broken, raising=False)
    assert cli.main(["run", "x", "--json"]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1
    assert "boom" in out.err
    monkeypatch.setenv(cli.DEBUG_VARIABLE, "1")
    cli.main(["run", "x"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "hint"), [(MemoryError(), "Out of memory"), (KeyboardInterrupt(), "Stopped")]
)
def test_memory_and_interrupts_are_sentences(fake, capsys, monkeypatch, error, hint):
    def broken(**_):
        raise error

    monkeypatch.setattr(explorer, "load", broken, raising=False)
    assert cli.main(["run", "x"]) == 1
    assert hint in capsys.readouterr().err


def test_json_has_neither_nan_nor_infinity(capsys):
    from explorer.commands.console import Console

    Console(json=True).result({"a": float("nan"), "b": [float("inf"), 1.5], 3: ()}, str)
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "3": []}


def test_audit_hands_prompts_over_and_its_report_back(fake, capsys, monkeypatch, tmp_path):
    from explorer.analysis import audit as module

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


def test_bench_hands_its_options_over(fake, capsys, monkeypatch, tmp_path):
    from explorer.analysis import bench as module
    from explorer.analysis import bench_report as reports

    figures = reports.MethodFigures.model_construct(
        tokens=5, steps=3, seconds=0.03, tokens_per_second=166.7, tokens_per_step=1.67,
        step_ms=10.0, speedup=1.67, shares=None,
    )  # fmt: skip
    category = reports.CategoryFigures.model_construct(
        prompts=1, speedup=1.67, tokens_per_step=1.67
    )
    report = reports.BenchReport.model_construct(
        model="fake", heads="heads", backend="int4", device="cpu", main_method="medusa",
        max_new_tokens=5, prompts=1, identical_prompts=1, speedup=1.67,
        methods={"medusa": figures}, per_category={"all": category}, overhead=[],
        cost_curve=None, reference=None, plain_over_generate=None, races=[], sentence="It pays.",
        spread=0.1,
    )  # fmt: skip
    seen = {}

    def bench(engine, prompts, progress=None, **settings):
        seen.update(settings, prompts=prompts)
        return report

    monkeypatch.setattr(module, "bench", bench)
    file = tmp_path / "p.jsonl"
    file.write_text('{"prompt": "One"}\n{"prompt": "Two"}\n')
    argv = ["bench", "--prompts", str(file), "--limit", "1", "--methods", "plain, medusa"]
    result, _ = run_json(capsys, *argv, "--reference", "--tree", "chain:2")
    promised = {"methods", "speedup", "per_category", "identical_prompts", "prompts"}
    assert promised | {"plain_over_generate", "cost_curve", "overhead"} <= set(result)
    assert seen["methods"] == ["plain", "medusa"]
    assert seen["reference"] is True
    assert seen["tree"] == "chain:2"
    assert [p["prompt"] for p in seen["prompts"]] == ["One"]
    assert cli.main(argv) == 0
    assert "It pays." in capsys.readouterr().out


def test_calibrate_uses_the_built_in_prompts(fake, capsys, monkeypatch):
    from explorer.analysis import calibration as module
    from explorer.analysis.calibration_file import Calibration, Key
    from explorer.analysis.cost_curve import CostCurve

    curve = CostCurve(
        context_length=128, rounds=1, one_row_ms=20, rows=[1, 2], milliseconds=[20, 22],
        ratios=[1.0, 1.1],
    )  # fmt: skip
    found = Calibration(
        created="now", key=Key(model="m", heads="h", backend="int4", device="d"), basis="prompts",
        positions=10, cost_curve=[curve], heads_ms=1, rest_ms=1, head_accuracy=[[0.5, 0.1]],
        tree=[[0]], expected_tokens_per_step=1.5, joint_tokens_per_step=1.5,
        product_tokens_per_step=1.5, expected_speedup=1.2,
    )  # fmt: skip
    seen = {}

    def calibrate(engine, prompts, progress=None, **settings):
        seen.update(settings, prompts=prompts)
        return found

    monkeypatch.setattr(module, "calibrate", calibrate)
    result, _ = run_json(capsys, "calibrate", "--limit", "3")
    assert len(seen["prompts"]) == 3
    assert result["tree"] == [[0]]
    assert result["head_accuracy"] == [[0.5, 0.1]]
    assert result["cost_curve"][0]["ratios"] == [1.0, 1.1]
    assert result["expected_tokens_per_step"] == 1.5
    assert result["expected_speedup"] == 1.2
    assert cli.main(["calibrate"]) == 0
    assert "Speculation should pay here" in capsys.readouterr().out


def test_train_hands_its_options_over(fake, capsys, monkeypatch, tmp_path):
    from explorer.training import medusa1
    from explorer.training.options import TrainResult

    seen = {}

    def train_heads(model, options, progress):
        seen.update(model=model, options=options)
        progress({"phase": "hidden states", "done": 1, "total": 2})
        progress({"phase": "training", "epoch": 1, "epochs": 1, "done": 1, "total": 1, "loss": 2.0})
        progress(
            {"phase": "epoch", "epoch": 1, "epochs": 1, "loss": 2.0, "accuracy": {"top1": [0.5]}}
        )
        return TrainResult(
            out=options.out, accuracy={"top1": [0.5, 0.25]}, coverage=1.0, train_tokens=10,
            holdout_tokens=2, seconds=1.0, history=[],
        )  # fmt: skip

    monkeypatch.setattr(medusa1, "train_heads", train_heads)
    monkeypatch.setattr("explorer.commands.train.heads._save_rank_table", lambda *_: None)
    data = tmp_path / "text.jsonl"
    data.write_text("{}")
    argv = [
        "train",
        "heads",
        "--data",
        str(data),
        "--out",
        str(tmp_path / "heads"),
        "--num-heads",
        "2",
    ]
    result, err = run_json(capsys, *argv)
    assert result["accuracy"]["top1"] == [0.5, 0.25]
    assert "fake" in seen["model"].tuned
    assert seen["options"].num_heads == 2
    assert fake.loaded["heads"] == "none"
    assert "held-out top-1 0.500" in err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "holds no prompt"),
        ("\n \n", "holds no prompt"),
        ("not json\n", "Line 1 of .* is not JSON"),
        ('{"prompt": "x"}\n{"id": 3}\n', "Line 2 of .* has no key 'prompt'"),
        ('["prompt"]\n', "no key 'prompt'"),
        ('{"prompt": ""}\n', "empty prompt"),
        ('{"prompt": 5}\n', "empty prompt"),
        ('{"prompt": "x", "id": [1]}\n', "an id"),
        ('{"prompt": "x", "category": 1}\n', "a category"),
        ('{"prompt": "\\ud800"}\n', "not UTF-8"),
        ("[" * 5000, "is not JSON"),
    ],
)
def test_bad_prompts_files(tmp_path, text, hint):
    file = tmp_path / "prompts.jsonl"
    file.write_text(text)
    with pytest.raises(ExplorerError, match=hint):
        read_prompts(str(file))


def test_prompts_files_of_the_wrong_kind(tmp_path):
    with pytest.raises(ExplorerError, match="cannot be read"):
        read_prompts(str(tmp_path))
    (tmp_path / "latin").write_bytes(b'{"prompt": "\xff"}')
    with pytest.raises(ExplorerError, match="not UTF-8"):
        read_prompts(str(tmp_path / "latin"))


def test_prompts_from_stdin_with_a_limit(monkeypatch):
    lines = b'\xef\xbb\xbf{"prompt": "One"}\n{"prompt": "Two"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert [p["prompt"] for p in read_prompts("-", limit=1)] == ["One"]


def test_built_in_prompts_are_sound():
    prompts = read_prompts(str(BUILT_IN))
    assert len({p["id"] for p in prompts}) == len(prompts) >= 10


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "run"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_command_modules_are_complete():
    for name in cli.COMMANDS:
        module = cli.command_module(name)
        assert isinstance(module, type(cli)), name
        adds = "add_subcommands" if hasattr(module, "SUBCOMMANDS") else "add_arguments"
        for part in ("EXAMPLE", adds, "execute", "render"):
            assert hasattr(module, part), (name, part)


def test_a_person_reads_dashes_where_nothing_was_measured():
    from explorer.commands import race

    lane = {"tokens_per_second": None, "tokens_per_step": None, "seconds": 0.0, "new_tokens": 0}
    lane |= {"speedup": None, "identical": True}
    result = SimpleNamespace(
        lanes={"plain": lane, "medusa": lane},
        identical=True, speedup=None, spread=None, estimate=True, text="",
    )  # fmt: skip
    assert "speedup –×" in race.render(vars(result))
