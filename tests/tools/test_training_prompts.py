"""The source of training prompts: the same for a seed, distinct, in the stated shares."""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from explorer.records.prompts import read_prompts
from tests.tools.scripts import script

TOOLS = Path(__file__).parents[2] / "tools"
COUNT = 1500


@pytest.fixture(scope="module")
def tool():
    return script("make_training_prompts")


@pytest.fixture(scope="module")
def records(tool):
    return tool.training_prompts(COUNT, seed=7)


def write(out: Path, *options: str) -> subprocess.CompletedProcess:
    script = str(TOOLS / "make_training_prompts.py")
    command = [sys.executable, script, "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_same_seed_same_file_other_seed_other_file(tmp_path):
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    for out, seed in ((first, "3"), (again, "3"), (other, "4")):
        assert write(out, "--count", "120", "--seed", seed).returncode == 0
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()


def test_shares(records):
    counts = Counter(record["category"] for record in records)
    assert sum(counts.values()) == COUNT
    assert counts == {
        "instruct": 450,
        "qa": 225,
        "maths": 180,
        "code": 225,
        "sum": 150,
        "extraction": 150,
        "creative": 75,
        "language": 45,
    }


@pytest.mark.parametrize("count", [0, 1, 7, 999])
def test_any_count_is_met(tool, count):
    assert sum(tool.counts_by_category(count).values()) == count


def test_distinct_even_without_numbers_and_case(tool, records):
    assert len({record["id"] for record in records}) == COUNT
    assert len({tool.likeness(record["prompt"]) for record in records}) == COUNT


def test_prompts_are_filled_and_of_chat_length(records):
    for record in records:
        prompt = record["prompt"]
        assert not re.search(r"a\(n\)|[\0\1⟨⟩]|\{[?!=@]|\{\w+#|\\n", prompt), prompt
        assert prompt == prompt.strip()
        assert 2 <= len(prompt.split()) <= 600, prompt


def test_excluded_prompts_do_not_come_back(tool, tmp_path, records):
    earlier, out = tmp_path / "earlier.jsonl", tmp_path / "out.jsonl"
    earlier.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert write(out, "--count", "300", "--seed", "7", "--exclude", str(earlier)).returncode == 0
    later = [json.loads(line)["prompt"] for line in out.read_text().splitlines()]
    taken = {tool.likeness(record["prompt"]) for record in records}
    assert len(later) == 300
    assert not taken & {tool.likeness(prompt) for prompt in later}


def test_more_than_the_templates_give_is_one_clear_line(tool, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tool, "makers", lambda rng: dict.fromkeys(tool.SHARES, lambda: "again"))
    options = ["--count", "100", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["make_training_prompts.py", *options])
    with pytest.raises(SystemExit) as stop:
        tool.main()
    assert stop.value.code == 2
    assert "ask for fewer" in capsys.readouterr().err


def test_results_in_code_prompts_are_right(tool):
    make = tool.makers(random.Random(5))["code"]
    prompts = "\n".join(make() for _ in range(8000))
    sums = re.findall(r">>> sum_of_evens\(\[(.*)\]\)\n\s+(\d+)", prompts)
    digits = re.findall(r">>> digit_sum\((\d+)\)\n\s+(\d+)", prompts)
    assert sums
    assert digits
    for numbers, result in sums:
        assert int(result) == sum(n for n in map(int, numbers.split(", ")) if n % 2 == 0)
    for number, result in digits:
        assert int(result) == sum(map(int, number))


def test_every_passage_is_80_to_300_words(tool):
    lengths = [len(line.split()) for line in tool.read_lines(tool.DATA / "passages.txt")]
    assert len(lengths) >= 60
    assert min(lengths) >= 80
    assert max(lengths) <= 300


def test_grammar_reckons_and_repeats(tool):
    class First:
        sample = staticmethod(lambda items, count: items[::-1])
        choice = staticmethod(lambda items: items[0])
        randrange = staticmethod(lambda low, high, step: low)

    grammar = tool.Grammar({"pet": ["owl", "cat"]}, First)
    template = r"A(n) {pet}, {pet#2}, {pet}: {=x*3-1} {!x:4-9}{?a|b}\n⟨{x}⟩"
    assert grammar.fill(template) == "An owl, cat, owl: 11 a\n{4}"


@pytest.mark.parametrize("name", ["openings.jsonl", "openings_articles.jsonl"])
def test_openings_can_be_given_to_train_data(name):
    openings = [record["prompt"] for record in read_prompts(TOOLS / "training_prompts" / name)]
    assert len(openings) >= 60
    assert all(
        run_start == run_start.rstrip() for run_start in openings
    )  # words follow with a space
