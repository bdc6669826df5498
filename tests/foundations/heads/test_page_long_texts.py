"""The page on heads with texts that are too long to be drawn word by word, and its maps at their limits."""

from functools import partial

from pages.foundations.heads import every_head
from pages.ui import cache
from pages.ui.text import tick_labels
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import figures
from tfcore.views.foundations.heads import every_head as views_of_heads
from tfcore.views.foundations.heads.draw import maps, portrait
from tfcore.views.foundations.heads.draw.maps import MAP_CELLS
from tfcore.views.foundations.heads.draw.portrait import GAP, line_of
from tfcore.views.foundations.heads.measure.attention_maps import read_attention

opened = partial(visits.opened, "foundations/heads/page.py")


def test_of_a_long_text_the_chosen_token_is_in_sight(monkeypatch):
    seen = {}
    for module, name in ((portrait, "portrait"), (maps, "one_token")):
        draw = getattr(module, name)
        noted = lambda *given, draw=draw, name=name, **more: seen.update({name: given}) or draw(*given, **more)  # noqa: E731
        monkeypatch.setattr(module, name, noted)
    monkeypatch.setattr(views_of_heads, "KEYS", 64)
    text = " ".join(f"cat {i}" for i in range(100))
    test = opened(text=text, token="150")
    labels = tick_labels(read_attention(*cache.model("stories"), text).queries)
    assert 150 < len(labels) <= 2 * MAP_CELLS
    assert test.selectbox(key="range").options == ["all", "0 to 127", f"128 to {len(labels) - 1}"]
    pattern, line, chosen = seen["portrait"]
    assert chosen == 150
    assert line.tokens == line_of(labels, pattern[150], 150).tokens
    caption = figures(test)["portrait"][0]["caption"]
    assert f"{len(line.tokens)} of {len(labels)} tokens; {GAP} stands for others." in caption
    assert figures(test)["portrait"][0]["at"] == line.place(150)
    weights, _, columns, place, *_ = seen["one_token"]
    step = -(-len(labels) // 64)
    assert (weights.shape[1], columns, place) == (len(columns), labels[::step], 150 // step)
    assert f"the largest weight of {step} tokens, of which" in figures(test)["one-token"][0]["caption"]
    assert "the largest weight of" not in figures(opened(text="One two."))["one-token"][0]["caption"]


def test_as_many_tokens_as_a_map_has_cells_are_drawn_one_by_one():
    assert every_head.choose_range(MAP_CELLS) is None


@nightly
def test_of_a_deep_model_the_fourth_layer_is_cut(real_models):
    assert opened(show="how heads are cut", model="smollm2", text="One two").slider(key="layer").value == 3
