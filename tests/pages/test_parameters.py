"""The page on parameters: the counts that everybody quotes, and a sentence for what cannot be built."""

from functools import partial

import pytest

from pages.ui.presets import NAMES
from tests.pages import visits
from tests.pages.figures import figures
from tfcore.presets import PRESETS

opened = partial(visits.opened, "model/parameters.py")


def test_every_preset_has_a_name():
    assert set(NAMES) == set(PRESETS)


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("GPT-2 small", ["124,439,808"]),
        ("GPT-3 175B", ["174,604,259,328"]),
        ("Mixtral 8x7B", ["46,702,792,704", "12,879,925,248"]),
        ("LLaMA 3 8B", ["8,030,261,248"]),
    ],
)
def test_the_counts_are_those_of_the_weights(model, counts):
    test = opened(model=model, build="true")
    assert [metric.value for metric in test.metric][: len(counts)] == counts
    assert any(f"**{counts[0]}** parameters: the same" in markdown.value for markdown in test.markdown)
    assert counts[0] in figures(test)["parts"][0]["alt"]


def test_heads_that_do_not_divide_the_width_say_what_would():
    test = opened(model="your own, by sliders", d_model="832", n_heads="12")
    assert "d_model=832 is not divisible by n_heads=12" in test.warning[0].value
    assert not figures(test)
    test.slider(key="n_heads").set_value(13)
    assert figures(test.run())
    test.slider(key="group").set_value(2)
    assert "13 heads do not fall into groups of 2; 1, 13 would do" in test.run().warning[0].value


def test_two_models_side_by_side():
    test = opened(model="LLaMA 3 8B", versus="LLaMA 2 7B")
    assert list(test.dataframe[0].value.columns) == ["LLaMA 3 8B", "LLaMA 2 7B"]
    assert len(test.dataframe[1].value) == len(PRESETS)
