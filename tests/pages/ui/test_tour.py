"""The tour: a bar where the address says so, links that go on and back, and nothing anywhere else."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.foundations.heads.page import TRY
from pages.inside.induction.heads import kinds
from pages.ui import cache, tour
from tests.pages.test_router import listed
from tests.pages.visits import address, opened, press, run, said
from tfcore import presets
from tfcore.analysis.block.depth import Deep, probe
from tfcore.analysis.block.feedforward import block_share
from tfcore.analysis.foundations.attention_maps import attention_maps, strongest_key
from tfcore.analysis.inside.induction_heads import ROWS, copying, random_rows, twice

FILES = {url: file for file, _, _, url in listed()}


def links_of(test: AppTest) -> list[tuple[str, str]]:
    """Words and address of the links."""
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.label, f"{link.page}?{link.query_string}") for link in found]


def bar(test: AppTest) -> str:
    return " ".join(words for words in said(test, "markdown").split("  ") if "Tour, stop" in words)


def test_the_front_page_begins_it():
    words, address = next(link for link in links_of(opened("start/home/page.py")) if "Take the tour" in link[0])
    assert f"{len(tour.STOPS)} stops" in words
    assert address.startswith("tokens?")
    assert "tour=1" in address


def test_stops_change_the_page_so_that_each_view_begins_anew():
    assert 8 <= len(tour.STOPS) <= 12
    for one, after in zip(tour.STOPS, tour.STOPS[1:], strict=False):
        assert one.page != after.page
    for stop in tour.STOPS:
        assert stop.page in FILES
        assert stop.words.count(". ") == 1, "two sentences"


def test_a_stop_sets_its_view_and_leads_back_and_on():
    test = opened("foundations/masks/page.py", **tour.address(5))
    assert "Tour, stop 5 of 11" in bar(test)
    found = dict(links_of(test))
    assert "tour=4" in found["Back: Positions"]
    assert "tour=6" in found["Next: Residual connections"]
    assert found["Next: Residual connections"].startswith("residuals?")


def test_the_address_keeps_it_while_controls_move_and_ending_it_keeps_the_view():
    test = opened("foundations/masks/page.py", tour="5", kind="sliding window")
    test.slider(key="layer").set_value(1)
    test = run(test)
    assert address(test, "tour") == "5"
    test = press(test, "tour_end")
    assert "tour" not in test.query_params
    assert test.selectbox(key="kind").value == "window"
    assert not bar(test)


@pytest.mark.parametrize("number", ["0", "99", "-1", "1.5", "x", "", "٥", "9" * 400, "4", "%00"])
def test_unknown_numbers_and_stops_of_other_pages_are_ignored(number):
    test = opened("foundations/masks/page.py", tour=number)
    assert not bar(test)
    assert all(button.key != "tour_end" for button in test.button)


def test_the_last_stop_leads_to_the_questions():
    number = len(tour.STOPS)
    test = opened("reference/check/page.py", **tour.address(number))
    assert f"stop {number} of {number}" in bar(test)
    assert not any("Next:" in words for words, _ in links_of(test))


# --- what the stops say is what their views show ---------------------------------------------------------------------


def stop(page: str) -> tour.Stop:
    return next(one for one in tour.STOPS if one.page == page)


def attended(view) -> tuple[list[str], int, int, float]:
    """Tokens of the text, the query, the key it attends to most, and the weight, by the maps alone."""
    model, tokenizer = cache.model(view["model"])
    ids = tokenizer.encode(view["text"])
    pattern = attention_maps(model, ids).patterns[int(view["layer"]), int(view["head"])]
    tokens = tokenizer.tokens(ids)
    most = strongest_key(pattern, int(view["token"]), tokens, tokens)
    assert most.weight == max(pattern[most.query]) == pattern[most.query, most.key]
    return tokens, most.query, most.key, most.weight


def test_the_head_of_the_tour_attends_to_what_followed_the_first_red():
    tokens, query, key, weight = attended(stop("heads").view)
    first, second = (i for i, token in enumerate(tokens) if token == " red")
    assert (query, key) == (second, first + 1)
    assert tokens[key] == " ball"
    assert weight > 0.5
    assert "second “red” attends most to “ball”, the token that followed the first" in stop("heads").words


def test_the_examples_of_the_page_on_heads_show_what_their_buttons_say():
    tokens, query, key, _ = attended(TRY["induction"])
    assert tokens[key - 1] == tokens[query] == " red"
    _, query, key, _ = attended(TRY["previous token"])
    assert key == query - 1
    tokens, query, key, _ = attended(TRY["attention alone"])
    assert tokens[key - 1] == tokens[query]
    assert key < query
    _, query, key, _ = attended(TRY["an encoder"])
    assert key > query


def test_the_examples_on_real_models_show_what_is_said_of_them(real_models):
    for name, model, expected in (
        ("too tired", "minilm", 0.68),
        ("too wide", "minilm", 0.28),
        ("“it” → “animal”", "smollm2", 0.75),
    ):
        view = TRY[name]
        tokens, query, key, weight = attended(view)
        assert view["model"] == model
        assert (query, view["from"]) == (view["token"],) * 2
        assert tokens[query].strip() == "it"
        assert tokens[view["to"]].strip() == "animal"
        network, tokenizer = cache.model(model)
        patterns = attention_maps(network, tokenizer.encode(view["text"])).patterns
        weights = patterns[:, :, query, view["to"]]
        assert weights[view["layer"], view["head"]] == pytest.approx(expected, abs=0.005)
        if name != "too wide":  # found by scanning all heads
            assert weights.max() == weights[view["layer"], view["head"]] == weight
            assert key == view["to"]


def test_gradients_vanish_without_skips_and_norms_and_not_with_them():
    n_layers = int(stop("residuals").view["layers"])
    assert probe(Deep(n_layers=n_layers, placement="none", skip=False, init="xavier")).gradient[0] < 1e-30
    assert probe(Deep(n_layers=n_layers, placement="pre", skip=True, init="xavier")).gradient[0] > 1e-3
    assert probe(Deep(n_layers=n_layers, placement="pre", skip=False, init="xavier")).gradient[0] > 1e-3  # a norm alone


def test_without_induction_heads_the_second_copy_costs_nearly_what_the_first_does():
    model = cache.model("stories")[0]
    length = int(stop("induction").view["length"])
    rows = twice(random_rows(model.config.vocab_size, length, ROWS, 0))
    whole, without = copying(model, rows, length), copying(model, rows, length, kinds("stories").induction)
    assert whole.second_loss < 0.05 * whole.first_loss
    assert without.second_loss == pytest.approx(without.first_loss, rel=0.05)


def test_two_thirds_of_a_block_of_gpt3_are_feed_forward():
    assert block_share(presets.gpt3_175b()).share == pytest.approx(2 / 3, abs=0.005)
