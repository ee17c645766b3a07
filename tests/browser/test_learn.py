"""Learn in a browser: every chapter opens, its widget shows what the formulas give."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest

from explorer.analysis import formulas
from explorer.analysis.cost_file import shipped_costs
from explorer.analysis.foresight import foresight, tokens_ahead
from explorer.learn import draft_and_verify, tree, tree_attention
from explorer.learn.chapters import chapters
from explorer.learn.draft_and_verify import drafting_ratio
from explorer.learn.formats import significant, size
from explorer.learn.llms import llm
from explorer.learn.machines import GPUS
from explorer.learn.recorded_runs import recorded_run
from explorer.records.faults import FAULTS
from tests.browser.conftest import serving
from tests.browser.steps import Steps
from tests.browser.test_access import serious

KEYS = [chapter.key for chapter in chapters()]
WITH_WIDGETS = [chapter.key for chapter in chapters() if chapter.has_widget]


@pytest.fixture(scope="module")
def learn_url(tmp_path_factory):
    """The app with recorded runs only, for all chapters."""
    command = ["app.py", "--replay", "--port"]
    with serving(command, tmp_path_factory.mktemp("learn"), {}) as url:
        yield f"{url}/learn"


@pytest.fixture
def learn(browser, learn_url):
    """Opens a chapter in a context of its own; errors on the page fail the test."""
    contexts, errors = [], []

    def open_chapter(key: str = "", **options: object):
        options = {"viewport": {"width": 1440, "height": 900}} | options
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{learn_url}#{key}")
        page.wait_for_function("window.learn")
        if key in WITH_WIDGETS:
            page.wait_for_selector(f"#{key} .lx-widget.is-ready")
        return page

    yield open_chapter
    for context in contexts:
        context.close()
    assert errors == []


def shown(page) -> str:
    """The key of the chapter on view."""
    return page.evaluate("learn.current.id")


def set_slider(page, label: str, value: int) -> None:
    """Move a slider of the chapter on view to a place."""
    page.locator(f".is-current .lx-slider:has-text('{label}') input").evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def figure(page, key: str) -> str:
    """What a figure of the chapter on view says."""
    return page.inner_text(f".is-current [data-figure={key}]").replace("\u202f", " ")


def test_chapters_are_turned_by_buttons_keys_and_addresses(learn):
    page = learn()
    assert shown(page) == KEYS[0]
    assert page.is_visible(f"#{KEYS[0]} h2")
    for key in KEYS[1:]:
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"learn.current.id === '{key}'")
        assert page.locator(".lx-chapter:visible").count() == 1
        assert page.locator(f".lx-list a[aria-current][href='#{key}']").count() == 1
    for key in reversed(KEYS[:-1]):
        page.click("text=◂ Back")
        page.wait_for_function(f"learn.current.id === '{key}'")
    assert page.is_disabled("text=◂ Back")


@pytest.mark.parametrize("key", KEYS)
def test_a_chapter_fits_a_phone(learn, key):
    page = learn(key, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_arrows_in_a_widget_stay_there(learn):
    page = learn("memory_wall")
    page.focus(".is-current .lx-slider input")
    page.keyboard.press("ArrowRight")
    assert shown(page) == "memory_wall"


def test_presenting_enlarges_a_chapter_and_escape_ends_it(learn):
    page = learn("memory_wall")
    before = page.locator(".is-current h2").bounding_box()["height"]
    page.keyboard.press("p")
    assert page.locator(".is-current h2").bounding_box()["height"] > 1.15 * before
    assert not page.is_visible(".lx-list")
    page.keyboard.press("Escape")
    assert page.is_visible(".lx-list")


def test_paper_is_white_and_holds_the_whole_tour(learn):
    page = learn("memory_wall", color_scheme="dark")
    page.evaluate("""() => {
      window.print = () => {
        dispatchEvent(new Event("beforeprint"));
        const shown = (what) =>
          [...document.querySelectorAll(what)].filter((one) => one.offsetWidth);
        window.printed = {
          chapters: shown(".lx-chapter").map(({ id }) => id),
          dark: document.documentElement.classList.contains("dark"),
          folded: document.querySelectorAll("details:not([open])").length,
          drawn: shown(".lx-chart").every((one) => one.querySelector("svg")),
        };
        dispatchEvent(new Event("afterprint"));
      };
    }""")
    page.click("text=Print all")
    page.wait_for_function("window.printed")
    assert page.evaluate("window.printed") == {
        "chapters": KEYS,
        "dark": False,
        "folded": 0,
        "drawn": True,
    }
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    assert page.locator(".lx-chapter:visible").count() == 1


def test_words_and_symbols_explain_themselves(learn):
    page = learn("memory_wall")
    page.click(".is-current summary >> nth=0")
    page.focus(".is-current .sx-term")
    assert "read bandwidth" in page.inner_text(".sx-tip")
    page.focus(".is-current .lx-formula")
    assert "memory bandwidth" in page.inner_text(".sx-tip")
    page.keyboard.press("Escape")
    assert page.locator(".sx-tip").count() == 0


def test_a_word_leads_to_its_chapter(learn):
    page = learn("draft_and_verify")
    page.click(".is-current .sx-term >> nth=0")
    assert page.get_attribute(".sx-tip a", "href") == "learn#draft_and_verify"
    at = "document.activeElement.textContent"
    word, following = page.locator(".is-current .sx-term").all_inner_texts()[:2]
    for key, leads_to in (
        ("Tab", "Learn more"),
        ("Shift+Tab", word),
        ("Tab", "Learn more"),
        ("Tab", following),
        ("Shift+Tab", word),
        ("Escape", word),
        ("Tab", following),  # a closed sentence has no link
    ):
        page.keyboard.press(key)
        assert page.evaluate(at) == leads_to, key
    page = learn("words")
    page.click(".is-current td a:text-is('The memory wall') >> nth=0")
    page.wait_for_function("learn.current.id === 'memory_wall'")


def test_a_word_on_explore_leads_to_its_chapter(learn_url, browser):
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(learn_url.removesuffix("learn"))
        page.wait_for_selector(".sx-tree svg")  # the page has settled
        # In one go: while the page still settles, a tip may close between two.
        page.eval_on_selector(
            ".sx-term:text-is('Candidate tree')",
            "term => { term.focus(); document.querySelector('.sx-tip a').click(); }",
        )
        page.wait_for_function("window.learn")
        assert page.url.endswith("/learn#tree")


def keep_run(page, learn_url: str, name: str) -> None:
    """Let a recorded run be the last one of the tab."""
    page.evaluate(
        """async (address) => {
          const answer = await fetch(address);
          const stream = answer.body.pipeThrough(new DecompressionStream("gzip"));
          sessionStorage.setItem("medusa-explorer-run", await new Response(stream).text());
        }""",
        learn_url.removesuffix("learn") + f"traces/{name}.json.gz",
    )


def test_the_last_run_of_the_tab_comes_before_a_recorded_one(learn, learn_url):
    page = learn("memory_wall")
    keep_run(page, learn_url, "slower")
    page.reload()
    page.wait_for_selector("#memory_wall .lx-see a:text-is('See it in your run')")
    page.evaluate("location.hash = 'draft_and_verify'")
    page.click(".is-current .lx-see a:text-is('See it in your run')")
    page.wait_for_selector(".sx-lanes")
    explore = Steps(page).wait("explorer.view !== null")
    assert "Your last run" in explore.ask("explorer.state.source")
    step = explore.ask("explorer.trace.steps[explorer.state.step]")
    assert len(step["accepted"]) == 1 < len(step["token_ids"])


def test_nothing_serious_is_found_by_axe(learn):
    page = learn("memory_wall", color_scheme="dark")
    for key in KEYS:
        page.evaluate(f"location.hash = '{key}'")
        page.wait_for_function(f"learn.current.id === '{key}'")
        if key in WITH_WIDGETS:
            page.wait_for_selector(f"#{key} .lx-widget.is-ready")
        assert serious(SimpleNamespace(page=page)) == [], key


def test_a_question_is_checked(learn):
    page = learn("memory_wall")
    page.click(".lx-options button >> nth=0")
    assert page.inner_text(".lx-answer").startswith("No: 96.")
    page.click(".lx-options button >> nth=1")
    assert page.inner_text(".lx-answer").startswith("Yes.")


def test_the_memory_wall_shows_what_the_formulas_give(learn):
    page = learn("memory_wall")
    assert figure(page, "weights") == "140 GB"
    for gpu in GPUS:
        page.click(f".is-current button:text-is('{gpu.name}')")
        seconds = formulas.pass_seconds(70e9, 16, gpu.bandwidth, gpu.flops)
        assert figure(page, "token") == f"{significant(1e3 * seconds)} ms"
        waits = formulas.idle_share(16, gpu.bandwidth, gpu.flops)
        assert figure(page, "idle") == f"{100 * waits:.1f} %"
        rows = formulas.free_rows(16, gpu.bandwidth, gpu.flops)
        assert figure(page, "free") == str(int(rows))
    set_slider(page, "Batch", 9)  # 512 sequences: the slack is used up
    assert figure(page, "idle") == "0 %"
    assert "Compute-bound" in page.inner_text(".is-current [role=status] >> nth=0")


def test_draft_and_verify_shows_what_the_formulas_give(learn):
    page = learn("draft_and_verify")
    costs = next(iter(shipped_costs().values())).curves_at(1)[0]
    for places, alpha, k, ratio in (((80, 4, 10), 0.8, 4, 0.1), ((30, 2, 40), 0.3, 2, 0.4)):
        for label, place in zip(("rate", "Drafts K", "T draft"), places, strict=True):
            set_slider(page, label, place)
        assert figure(page, "tokens") == f"{formulas.expected_tokens(alpha, k):.2f}"
        assert figure(page, "ideal") == f"{formulas.idealised_speedup(alpha, k, ratio):.2f}×"
        real = formulas.speedup_at_cost(alpha, k, ratio, costs.at(k + 1))
        assert figure(page, "real") == f"{real:.2f}×"


def test_the_printed_rule_is_shown_to_be_wrong(learn):
    page = learn("draft_and_verify")
    set_slider(page, "rate", 60)  # 1.31 accepted drafts, for the price of 1.9 passes
    note = page.inner_text(".is-current [role=status] >> nth=0")
    assert "The printed rule is wrong here." in note


def test_a_draft_that_does_not_fit_is_slower(learn):
    page = learn("draft_and_verify")
    page.click("text=What if it does not fit?")
    page.click("text=All of them as numbers")
    rows = page.locator(".is-current .lx-card:visible tr").all_inner_texts()[1:]
    fits = draft_and_verify.data()["fit"]["fits"]
    assert [row.split("\t")[3] for row in rows] == [f"{fit['speedup']:.2f}" for fit in fits]
    assert page.locator(".is-current .lx-card:visible .lx-dot").count() == len(fits)


def test_the_memory_of_a_draft_model(learn):
    page = learn("draft_and_verify")
    page.click("text=What memory?")
    large, small = llm("Llama 3 70B"), llm("Llama 3 8B")
    for model, bits, weights, cache in (
        (large, 4, "weights", "cache"),
        (small, 16, "draft", "draftCache"),
    ):
        assert figure(page, weights) == size_of(formulas.weight_bytes(model.parameters, bits))
        sizes = model.layers, model.kv_heads, model.head_size
        assert figure(page, cache) == size_of(formulas.kv_cache_bytes(*sizes, 8192))


def test_a_draft_on_many_gpus(learn):
    page = learn("draft_and_verify")
    page.click("text=On many GPUs?")
    assert float(figure(page, "ratio")) == float(significant(drafting_ratio(8), 2))
    set_slider(page, "GPUs", 0)
    assert float(figure(page, "ratio")) == float(significant(drafting_ratio(1), 2))


def size_of(value: float) -> str:
    """Bytes as the page writes them."""
    return size(value).replace("\u202f", " ")


def test_the_map_of_the_heads_shades_as_python_counts(learn):
    page = learn("heads")
    page.wait_for_selector(".is-current .sx-foresight [role=option]")
    page.select_option(".is-current .sx-foresight-controls select", "10")
    looks = page.eval_on_selector_all(
        ".is-current .sx-foresight [role=option]",
        "all => all.map(one => Number(one.className.match(/f([0-4])/)[1]))",
    )
    assert looks == [tokens_ahead(known, 10) for known in foresight(recorded_run("story"))]


def test_the_size_of_heads_is_what_the_formula_gives(learn):
    page = learn("heads")
    page.click(".is-current button:text-is('How large?')")
    one = formulas.head_parameters(4096, 1, 1, 32000)
    assert figure(page, "one") == f"{one / 1e6:.0f} M"
    assert figure(page, "share") == f"{100 * 5 * one / 6.74e9:.0f} %"
    page.click('.is-current button:text-is("the model\'s LM head")')
    assert figure(page, "one") == f"{formulas.head_parameters(4096, 1, 1, 0) / 1e6:.1f} M"


def test_a_head_as_it_is_misprinted_does_not_add_up(learn):
    page = learn("heads")
    page.click(".is-current button:text-is('What is a head?')")
    page.click(".is-current button:text-is('W₂·SiLU(W₁h) + h')")
    assert "cannot be computed" in page.inner_text(".is-current .lx-card:visible .lx-note")
    assert page.locator(".is-current .lx-table tbody tr").count() == 4


def test_a_step_with_fewer_guesses_writes_less(learn):
    page, said = learn("tree"), tree.numbers()
    title = ".is-current .sx-tree.is-{} h2"
    page.wait_for_selector(f"{title.format('wide')}:text('writes {said['tree']}')")
    assert f"writes {said['chain']}" in page.inner_text(title.format("chain"))
    set_slider(page, "Guesses of each head", 0)  # the first place: one guess
    assert f"3 nodes, writes {said['chain']}" in page.inner_text(title.format("wide"))
    assert "no more than the chain" in page.inner_text(".is-current [role=status] >> nth=0")


def test_nodes_are_counted_as_the_formulas_count_them(learn):
    page = learn("tree")
    page.click(".is-current button:text-is('How many nodes?')")
    assert figure(page, "nodes") == "10"
    right = page.locator(".is-current .lx-shape figure >> nth=0")
    assert right.locator("circle").count() == 10
    # Beside it the misprint, which drops a child of head 2 and what follows it.
    assert page.locator(".is-current .lx-shape figure").count() == 2
    misprint = page.locator(".is-current .is-misprint")
    assert misprint.locator("circle.is-dropped").count() == 2
    assert "8 nodes, 3 paths" in misprint.inner_text()
    page.click(".is-current button:text-is('8-8-8-8')")
    assert [figure(page, key) for key in ("paths", "nodes")] == ["4 096", "4 680"]
    set_slider(page, "Guesses of head 4", 0)
    assert figure(page, "paths") == "512"


def test_a_mask_is_built_by_hand_and_checked(learn):
    page, puzzle = learn("tree_attention"), tree_attention.data()["puzzles"][0]
    said = ".is-current .lx-said-list"
    page.click(".is-current button:text-is('Check')")
    assert "must see itself" in page.inner_text(said)
    for row, seen in enumerate(puzzle["mask"]):
        for column in seen:
            page.click(f".is-current [aria-label^='Row {row},'][aria-label*='sees row {column},']")
        page.fill(
            f".is-current [aria-label^='Position of row {row},']", str(puzzle["positions"][row])
        )
    page.click(".is-current button:text-is('Check')")
    assert page.inner_text(said).startswith("Right:")
    page.focus(".is-current .lx-cell >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    left = sum(map(len, puzzle["mask"])) - 1
    assert page.locator(".is-current .lx-cell[aria-pressed=true]").count() == left
    page.click(".is-current button:text-is('Check')")
    assert "must see its ancestor" in page.inner_text(said)


def test_faults_show_what_was_recorded_of_them(learn):
    page = learn("tree_attention")
    page.click(".is-current button:text-is('Break it')")
    for report in tree_attention.reports():
        page.click(f".is-current button:text-is('{FAULTS[report.fault][0]}')")
        for check in ("bits", "audit", "chi"):
            row = page.inner_text(f".is-current [data-check={check}]")
            assert ("caught" in row) == (check in report.caught_by), (report.fault, check)
        assert page.locator(".is-current mark").count() == (2 if report.audit.first else 0)
    assert not page.is_visible(".is-current button:text-is('Run it here')")  # no model here
