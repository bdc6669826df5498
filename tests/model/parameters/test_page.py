"""The page on parameters: the counts that everybody quotes, and a sentence for what cannot be built."""

from functools import partial

import pytest

from tests.pages import visits
from tests.pages.figures import figures
from tfcore.config import ModelConfig
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import AttentionConfig, ExpertsConfig, FeedForwardConfig
from tfcore.presets import NAMES, PRESETS, gpt2_small
from tfcore.views.reference.folklore.measure import model as folklore

opened = partial(visits.opened, "model/parameters/page.py")


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
    assert [metric.delta.partition(":")[0] for metric in test.metric][: len(counts)] == counts
    assert any(f"**{counts[0]}** parameters: the same" in markdown.value for markdown in test.markdown)
    assert counts[0] in figures(test)["parts"][0]["alt"]


def test_training_takes_what_the_page_counts():
    """GPT-2 small at 1,024 tokens, by hand: 854.4 M a token, 1.67 times what 6 N says."""
    test = opened(model="GPT-2 small")
    [metric] = [one for one in test.metric if one.label == "FLOPs per token"]
    block = 2 * 12 * 768**2 + 2 * 2 * 768 * 1_024  # weights, then scores and weighted values of all pairs
    forward = 12 * block + 2 * 768 * 50_257
    assert (metric.value, metric.delta) == (f"{forward / 1e6:.1f} M", f"in training: {3 * forward / 1e6:.1f} M")
    assert metric.delta == "in training: 854.4 M"
    ratio = 3 * forward / flops(gpt2_small(), 1_024).six_n
    assert folklore.six_n().computed.startswith(f"{ratio:.2f} / ")


def test_a_text_is_counted_as_long_as_the_model_can_read():
    test = opened(model="GPT-2 small", versus="GPT-2 large", seq="32768")
    said = figures(test)["memory"][0]["caption"]
    assert "1 x 1,024 tokens" in said
    assert "GPT-2 small reads 1,024 at most. GPT-2 large reads 1,024 at most." in said
    compared = test.dataframe[0].value.loc["KV cache (bytes per token)"]
    assert list(compared) == ["36,864", "184,320"], "2 x layers x width x 2 bytes"
    assert "at most" not in figures(opened(model="GPT-2 small"))["memory"][0]["caption"]


def test_the_sizes_quoted_for_bert_are_those_without_heads_and_with_both():
    said = visits.said(opened(model="BERT base"), "caption")
    assert "BertForMaskedLM: 109,514,298, 622,650 of them the masked language model's head." in said
    assert "BertModel: 109,482,240, without heads, 590,592 of them the pooler." in said
    assert "next-sentence prediction too: 110,106,428." in said
    assert "109,482,240" not in visits.said(opened(model="GPT-2 small"), "caption")


def test_the_example_of_embeddings_is_mostly_those():
    test = visits.press(opened(), "try mostly embeddings")
    finding = figures(test)["parts"][0]["alt"]
    table, blocks = 50_257 * 256, 4 * 12 * 256**2
    assert "is token embedding" in finding
    assert f"{table / (table + blocks):.0%}, is" in finding
    assert table / (table + blocks) > 0.5


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


def test_a_model_of_ones_own_has_what_the_sliders_say():
    sizes = {"d_model": "128", "n_layers": "3", "n_heads": "8", "group": "4", "vocab": "1000", "n_experts": "2"}
    test = opened(model="your own, by sliders", **sizes)
    own = ModelConfig(
        vocab_size=1_000,
        d_model=128,
        n_layers=3,
        attention=AttentionConfig(n_heads=8, n_kv_heads=2),
        feed_forward=FeedForwardConfig(d_ff=3_072, activation="gelu"),
        tie_embeddings=True,
        max_seq_len=131_072,
        experts=ExpertsConfig(n_experts=2, top_k=2),
    )
    assert (test.slider(key="top_k").min, test.slider(key="top_k").max) == (1, 2)
    assert test.metric[0].delta == f"{parameters(own).total:,}"
