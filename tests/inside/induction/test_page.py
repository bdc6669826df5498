"""The page on induction: its numbers are the model's, knock-outs cost what they cost, the film and a training play."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.inside.induction import find
from pages.ui import cache, controls
from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run
from tfcore.loading.checkpoint_history import load_history
from tfcore.measures.heads.induction_heads import copying, evaluate_heads, random_rows, twice
from tfcore.measures.heads.kinds import repeated_tokens
from tfcore.training import growing
from tfcore.training.growing import GrowConfig
from tfcore.views.inside import induction as views
from tfcore.views.inside.induction.find import NAMES
from tfcore.views.inside.induction.measure.find import CopyTask

opened = partial(visits.opened, "inside/induction/page.py")
FILM, GROW, CIRCUIT = "the phase change", "train one yourself", "the induction circuit"


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


def second(test: AppTest) -> float:
    """The loss on what is repeated, with the knock-out."""
    return float(next(m.value for m in test.metric if m.label.startswith(("Loss, second", "Loss, repeated"))))


def grid(test: AppTest) -> np.ndarray:
    return array(figures(test)["grid"][1]["data"][0]["z"])


def test_scores_are_those_of_the_standard_test():
    test = opened(length="32", draw="5")
    expected = repeated_tokens(cache.model("stories")[0], 5, 32, 8, distinct=True)
    np.testing.assert_allclose(grid(test), expected.induction, atol=1e-5)
    alt = figures(opened(length="32", draw="5", knock="none"))["losses"][0]["alt"]
    first_loss, second_loss = (float(n) for n in re.findall(r"(\d+\.\d+) nats", alt))
    assert first_loss == pytest.approx(expected.first_loss, abs=0.01)
    assert second_loss == pytest.approx(expected.second_loss, abs=0.01)


def test_one_induction_head_can_be_spared_all_of_them_cannot():
    whole, one = opened(knock="none"), opened(knock="heads you name", off="3.0")
    every, others = opened(), opened(knock="other heads (control)")
    assert second(whole) < 0.2
    assert second(one) < 1
    assert second(others) < 1
    assert second(every) > 10
    assert not [m for m in whole.metric if m.delta]
    assert "Crossed out: 3.0, 3.2" in figures(every)["grid"][0]["caption"]


def test_without_the_previous_token_heads_the_stripe_itself_goes():
    assert grid(opened(knock="previous-token heads"))[3].max() < 0.1 < 0.8 < grid(opened())[3].max()


def test_a_persons_own_text():
    whole, without = (opened(text_is="your text, repeated", knock=knock) for knock in ("none", "induction heads"))
    assert second(whole) < 0.6 * second(without)
    once = opened(text_is="your text, once", text="zab mip tol wex run zab mip tol wex run", knock="none")
    assert second(once) < 9
    nothing = opened(text_is="your text, once", text="A cat sat.")
    assert [m.value for m in nothing.metric if "repeated" in m.label] == ["none"]
    assert "nothing to copy" in figures(nothing)["losses"][0]["caption"]
    assert "comes twice" in figures(opened(text_is="your text, once", text="A cat"))["stripe"][0]["alt"]


@pytest.mark.parametrize("text", ["A cat", "The big dog ran home."])
def test_a_text_without_a_repeat_has_no_stripe_and_nothing_that_is_copied(text):
    said = visits.said(opened(text_is="your text, once", text=text), "markdown")
    assert "so there is no **stripe**" in said
    assert "nothing to copy" in said
    assert not re.search(r"second copy attends|copies nearly as well|The sequence is new", said)


def test_a_text_is_drawn_without_its_first_token_and_random_tokens_with_it():
    task = CopyTask("once", text=find.TEXT)
    whole, without = (views.stripe("stories", task, (), 3, 0, hide_first=hide) for hide in (False, True))
    weights, rest = (np.zeros((len(whole.result.ids),) * 2) for _ in range(2))
    for cells, shown in ((weights, whole), (rest, without)):
        table = shown.table()
        cells[table["query"], table["key"]] = table["weight"]
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-4)
    assert weights[1:, 0].max() > 0.1
    np.testing.assert_array_equal(rest[:, 1:], weights[:, 1:])
    assert not rest[:, 0].any()
    said = f"{weights[1:, 0].mean():.0%} of the weight of head 3.0; colours end at {weights[:, 1:].max():.2f}"
    cases = (("once", {}, True), ("once", {"hide": "false"}, False), ("once", {"v": "4"}, False), ("random", {}, False))
    for kind, more, hidden in cases:
        asked = {"text_is": find.INPUTS[kind], "layer": "3", "head": "0", **more}
        assert (said in figures(opened(**asked))["stripe"][0]["caption"]) == hidden


def test_what_is_said_of_the_stripe_is_said_of_this_text():
    """The number beside the head is the one in the figure of all heads."""
    test = opened(text_is="your text, once")
    [(head, weight)] = re.findall(
        r"clear(?:est|ly) in .*?(\d\.\d), with a mean weight of (\d\.\d\d)", visits.said(test, "markdown")
    )
    assert f"{head} {weight}" in figures(test)["grid"][0]["caption"]


@pytest.mark.parametrize("text", ["", "a", "   ", "😀👩‍👩‍👧‍👦", "$x$ :red[a] <b>%{x}", "a\0b\x1b[0m", "la " * 600])
def test_any_text_is_read(text):
    for how in ("your text, repeated", "your text, once"):
        test = opened(text_is=how, model="induction")
        test.text_area(key="text").set_value(text)
        run(test)


@pytest.mark.parametrize("off", ["", "9.9", "3.0 3.0, 3.2;1", "<script>", "3.0" * 130, "1.99999", "٣.٠"])
def test_heads_may_be_named_in_any_way(off):
    assert set(figures(opened(knock="heads you name", off=off))) == {"stripe", "grid", "losses"}


def test_each_head_alone_is_on_the_grid():
    test = opened(score="loss when ablated", length="12")
    values = grid(test)
    assert values.shape == (4, 6)
    assert values.min() >= 0


def test_of_many_heads_none_is_ablated_alone_and_the_caption_says_why(monkeypatch):
    config = cache.model("induction")[0].config
    monkeypatch.setattr(find, "MANY", config.n_layers * config.attention.n_heads)
    assert "offered up to" not in figures(opened(model="induction"))["grid"][0]["caption"]
    monkeypatch.setattr(find, "MANY", config.n_layers * config.attention.n_heads - 1)
    test = opened(model="induction")
    assert figures(test)["grid"][0]["caption"].endswith(f"this model has {config.n_layers * config.attention.n_heads}.")
    assert NAMES["alone"] not in test.segmented_control(key="score").options


def test_the_circuit_shows_that_keys_carry_it():
    test = opened(show=CIRCUIT)
    drawn = figures(test)
    losses = dict(re.findall(r"(none|query|key|value) (\d+\.\d+)", drawn["doors"][0]["caption"]))
    assert float(losses["key"]) > 10 > 1 > max(float(losses[way]) for way in ("none", "query", "value"))
    assert "K 0.20" in drawn["strips"][0]["alt"]
    assert "Random matrices: 0.072" in drawn["strips"][0]["alt"]
    filled = [trace for trace in drawn["strips"][1]["data"] if trace["marker"]["symbol"] == "diamond"]
    assert {"1.1 → 3.0", "1.1 → 3.2", "2.3 → 3.0", "2.3 → 3.2"} <= set(filled[1]["text"])
    assert "3.2" in drawn["tests"][0]["alt"]


def test_both_tests_of_the_heads_by_rank():
    drawn = figures(opened(show=CIRCUIT, tests_by="by rank"))["tests"]
    tests = evaluate_heads(cache.model("stories")[0])
    assert drawn[1]["data"][1]["x"] == [pytest.approx(tests.prefix_first[3, head]) for head in (0, 2)]
    assert drawn[1]["data"][1]["y"] == [pytest.approx(tests.copying_first[3, head]) for head in (0, 2)]
    assert "By rank: head 3." in drawn[0]["caption"]


@nightly
def test_the_film_shows_what_its_frames_measured():
    film = load_history("induction")
    for frame in (0, 12, 26):
        test = opened(show=FILM, frame=str(frame))
        kept = film.measures[frame]
        metrics = {metric.label: float(metric.value) for metric in test.metric}
        assert metrics["Loss, first copy"] == pytest.approx(kept["first_loss"], abs=0.011)
        assert metrics["Second copy"] == pytest.approx(kept["second_loss"], abs=0.011)
    caption = figures(test)["course"][0]["caption"]
    begin, end = (int(n) for n in re.search(r"between steps (\d+) and (\d+)", caption).groups())
    assert 340 <= begin < end <= 600
    assert metrics["In-context score"] < -4


def test_a_model_grows_is_stopped_and_begins_again(monkeypatch):
    monkeypatch.setattr(growing, "EVERY", 5)
    wait = jobs.Jobs.wait  # on a busy machine the first look may take longer than the page waits for it
    monkeypatch.setattr(jobs.Jobs, "wait", lambda self, key, items, _: wait(self, key, items, 240))
    test = opened(show=GROW, steps="200", layers="1")
    assert set(figures(test)) == {"course", "maps"}
    assert "No induction head until step" in said(test)
    press(test, "stop")
    assert jobs.JOBS.look(GrowConfig(n_layers=1, steps=200), "").state == "stopped"
    press(test, "anew")
    press(test, "stop")


def test_too_many_trainings_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(jobs, "JOBS", jobs.Jobs(running=0, waiting=0))
    assert "as soon as there is room" in said(opened(show=GROW))


def test_a_click_on_a_head_chooses_it(monkeypatch):
    chosen: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.update(values))
    find.look_at({"curve": 0, "point": [1, 5], "x": 5, "y": 1, "customdata": None})
    assert chosen == {"layer": 1, "head": 5}
    chosen.clear()
    for x, y in (("5", 1), (5, None), (0.5, 1)):
        find.look_at({"curve": 0, "point": 0, "x": x, "y": y, "customdata": None})
    assert not chosen


@pytest.fixture(scope="module")
def stories() -> Any:
    return cache.model("stories")


def test_one_induction_head_of_stories_can_be_missed_and_both_cannot(stories):
    def losses(*off: tuple[int, int]) -> tuple[float, float]:
        found = copying(stories[0], twice(random_rows(stories[0].config.vocab_size, 24, 4, 0)), 24, off)
        return float(found.losses[~found.repeated].mean()), float(found.losses[found.repeated].mean())

    first, second = losses()
    assert losses((3, 0))[1] < second + 0.05 * (first - second)
    assert losses((3, 0), (3, 2))[1] > 0.95 * losses((3, 0), (3, 2))[0]
