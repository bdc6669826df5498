"""The page on generation: true numbers, the same text from the same link, work that ends and can be stopped."""

import re
import threading
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.inference.generation import beam, speculative
from pages.inside.stream.choices import TOKENS
from pages.ui import cache
from pages.ui.work.jobs import Job
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import run
from tests.pages.waiting import SOON, wait_for_jobs
from tfcore.generation.beam import beam_search
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.views.inference.generation.measure import decoding
from tfcore.views.inference.generation.measure.beam_tree import search_text, sentence_ends
from tfcore.views.inference.generation.measure.speculation import Guess, Pass

opened = partial(visits.opened, "inference/generation/page.py")
TEXT = "Once upon a time there was a little dog"
ALL = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.2}


@pytest.fixture(autouse=True)
def _one_turn(monkeypatch, patience):
    monkeypatch.setattr("tfcore.views.inference.generation.measure.speculation.TURNS", 1)


@pytest.fixture
def chosen(monkeypatch) -> dict[str, int]:
    """What a click sets."""
    values: dict[str, int] = {}
    monkeypatch.setattr(speculative.controls, "set_values", values.update)
    return values


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "markdown", "info")


def ended(test: AppTest) -> AppTest:
    wait_for_jobs()
    return run(test)


def text_of(ids: list[int]) -> str:
    return cache.model("stories")[1].decode(ids)


def test_one_token_is_the_one_that_generate_draws_and_the_link_decides():
    model, tokenizer = cache.model("stories")
    ids = generate(model, tokenizer.encode(TEXT), Sampling(**ALL), max_new_tokens=4, seed=17)
    address = {"text": TEXT, "seed": "17", "drawn": "3"}
    first, again = (figures(opened(**address)) for _ in range(2))
    assert set(first) == {"filters", "draw", "ranks"}
    assert {name: spec for name, (_, spec) in first.items()} == {name: spec for name, (_, spec) in again.items()}
    piece = tokenizer.tokens([ids[3]])[0].replace(" ", "·")
    assert f"drawn: '{piece}'" in first["filters"][0]["alt"]
    assert "top-k leaves 40" in first["filters"][0]["alt"]
    assert text_of(ids).strip() in said(opened(**address)).replace("\u00a0", " ")


def test_filters_off_leave_everything():
    test = opened(temperature="1", top_k="0", top_p="1", min_p="0", penalty="1")
    assert "Of 2,048 tokens none is cut away" in figures(test)["filters"][0]["alt"]
    assert test.metric[0].value == test.metric[1].value
    assert test.metric[2].value == "100.0%"


def test_temperature_0_leaves_one_token():
    test = opened(temperature="0", top_k="0", top_p="1", min_p="0", penalty="1")
    assert test.metric[1].value == "0.00 bits"
    assert "after the filters 1 are left" in figures(test)["ranks"][0]["alt"]


def test_every_strategy_ends_with_its_numbers():
    test = ended(opened(show="Decoding strategies", text=TEXT, tokens="10", seed="3"))
    model, tokenizer = cache.model("stories")
    ids, words = tokenizer.encode(TEXT), said(test).replace("\u00a0", " ")
    for sampling in (Sampling(temperature=0), Sampling(), Sampling(**ALL)):
        assert text_of(generate(model, ids, sampling, max_new_tokens=10, seed=3)).strip() in words
    best = beam_search(model, ids, beams=4, max_new_tokens=10)[0]
    assert f"beam search, 4 beams {best.score:.2f}" in figures(test)["likelihood"][0]["alt"]
    assert test.button(key="again:button").label == "Another seed"


def test_writing_can_be_stopped_and_begun_again(monkeypatch):
    gate, write = threading.Event(), decoding.continue_beside

    def slow(*args):
        for i, item in enumerate(write(*args)):
            yield item
            if i >= 5:
                gate.wait(SOON)

    monkeypatch.setattr(decoding, "continue_beside", slow)
    test = opened(show="Decoding strategies", text=TEXT, tokens="10", seed="4")
    wait_for_jobs(6)
    run(test.button(key="stop:button").click())
    assert "Stopped at token" in test.get("progress")[0].proto.text
    assert figures(test)["likelihood"][0]["alt"].count(";") >= 1  # what was written stays
    gate.set()
    test = ended(run(test.button(key="anew:button").click()))
    assert test.button(key="again:button").label == "Another seed"


def test_beams_end_with_the_sentence_and_greedy_loses():
    head = figures(opened(show="Beam search"))["tree"][0]
    best, greedy = re.search(r"the best scores (\S+), greedy (\S+);", head["alt"]).groups()
    assert float(best) > float(greedy)
    assert "greedy's text is dropped at token" in head["alt"]
    address = {"show": "Beam search", "sentence": "true", "beams": "4", "steps": "12"}
    short, long = (opened(**address, length_penalty=penalty) for penalty in ("0", "2"))
    first = [
        re.search(r"\*\*1\*\* · (.*?) \*\*2\*\*", visits.said(test, "markdown")).group(1) for test in (short, long)
    ]
    assert len(first[0]) < len(first[1])
    tokenizer = cache.model("stories")[1]
    assert [tokenizer.tokens([i])[0].strip()[0] in ".!?" for i in sentence_ends(tokenizer)] == [True] * 6


@pytest.mark.parametrize("draft", ["bigram table", "first 3 of 4 blocks"])
def test_speculation_keeps_the_distribution_and_measures(draft):
    test = ended(opened(show="Speculative decoding", text=TEXT, tokens="10", draft=draft))
    numbers = {metric.label: metric.value for metric in test.metric}
    assert float(numbers["Error of the sum"]) < 2e-6
    assert float(numbers["Speed-up"]) > 0
    assert 1 <= float(numbers["Tokens per pass"]) <= 3
    assert set(figures(test)) == {"rule", "worth"}


def test_before_the_first_pass_the_place_of_the_text_is_kept(monkeypatch):
    """A fragment may fill a place outside of it only if the first run wrote there, too."""
    monkeypatch.setattr(speculative.live, "begin", lambda *_: Job("refused"))
    test = opened(show="Speculative decoding", text=TEXT)
    assert "Nothing is written yet" in said(test)
    assert not test.exception


def test_a_model_of_one_block_and_a_large_vocabulary_says_that_it_has_no_draft(monkeypatch):
    monkeypatch.setattr(speculative, "kinds", lambda _: {})
    test = opened(show="Speculative decoding", text=TEXT)
    assert "one block and 2,048 tokens" in test.info[0].value
    assert not test.exception


def test_a_greedy_draft_changes_nothing():
    test = ended(opened(show="Speculative decoding", text=TEXT, tokens="10", temperature="0"))
    model, tokenizer = cache.model("stories")
    ids = generate(model, tokenizer.encode(TEXT), Sampling(temperature=0), max_new_tokens=10)
    assert text_of(ids).strip() in said(test).replace("\u00a0", " ")


@pytest.mark.parametrize("show", ["Sampling a token", "Beam search"])
@pytest.mark.parametrize("pasted", ["a", " \n\t", "😀👩‍👩‍👧", "<script>$x$ :red[a] %{x}", "a\0b\x1b[0m"])
def test_any_text_is_continued(show, pasted):
    assert figures(opened(show=show, text=pasted, steps="2"))


def test_no_text_and_much_text():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value
    test.text_area(key="text").set_value("A cat sat. " * 150)
    assert "the last 128 are used here" in said(run(test))
    assert figures(test)


def a_pass(*states):
    """A pass with guesses of these states, of which only the state counts."""
    none = np.zeros(0, dtype=int)
    return Pass(
        tuple(Guess(0, 0.5, 0.5, state, 1.0, 0.0, none, none.astype(float), none.astype(float)) for state in states),
        0,
        (0,),
    )


def test_a_click_on_a_chip_chooses_its_draft_token(chosen):
    passes = [a_pass("accepted", "rejected", "discarded"), a_pass("accepted", "accepted"), a_pass("rejected")]
    chips = speculative.guess_of_chip(passes)
    # accepted 0, rejected 1, discarded (next), model (before); accepted 2, accepted 3, model; rejected 4, model
    assert chips == [0, 1, 2, 1, 2, 3, 3, 4, 4]
    for chip, number in enumerate(chips):
        speculative.choose_guess(chips, chip)
        assert chosen == {"at": number}
    speculative.choose_guess([10_000], 0)
    assert chosen == {"at": speculative.AT - 1}  # the end of the slider
    assert speculative.guess_of_chip([a_pass()]) == [0]


@pytest.mark.parametrize("show", ["Sampling a token", "Decoding strategies", "Beam search", "Speculative decoding"])
def test_every_slider_reaches_its_end(show):
    test = opened(show=show, tokens="10")
    assert test.slider
    assert visits.sliders_short_of_their_end(test) == []


def test_on_a_gpu_that_is_faster_in_half_precision_texts_are_written_in_it_and_the_page_says_so(monkeypatch):
    assert "bfloat16" not in visits.said(opened(show="Decoding strategies", tokens="10"), "caption")
    monkeypatch.setattr("tfcore.generation.half_precision.half_is_faster", lambda *_: True)
    assert "Written in bfloat16" in visits.said(opened(show="Decoding strategies", tokens="10", seed="3"), "caption")


def test_greedy_loses_where_a_thing_to_try_says_so():
    asked = beam.TRY["greedy loses"]
    model, tokenizer = cache.model(asked["model"])
    given = asked["text"], TOKENS, asked["beams"], asked["steps"], asked["length_penalty"], ()
    assert search_text(model, tokenizer, *given).left_at > 0
