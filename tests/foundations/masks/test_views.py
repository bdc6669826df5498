"""What a mask does to attention, what is said of it, and the views of it without an application."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import nightly
from tfcore.device import device
from tfcore.measures.leaks import leak_test
from tfcore.measures.mask_cost import MaskCost, mask_cost
from tfcore.measures.mask_patterns import FUNCTIONS, MaskConfig, build, of_layers
from tfcore.model import Transformer
from tfcore.part_configs import LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.training.pitfalls import PitfallConfig, PitfallEvaluation
from tfcore.views.foundations import masks as views
from tfcore.views.foundations.masks.measure import masked_attention
from tfcore.views.foundations.masks.say import (
    AllowedPairs,
    LeakComparison,
    blocked_scores,
    blocked_weight,
    grown_weights,
    largest_score,
    twin_losses,
)

N = 13
TEXT = "Max had a red ball. Max lost the red ball."
WINDOW = MaskConfig(kind="window", window=3)


def text(n=N):
    return small.ids(1, n)[0].tolist()


@pytest.mark.parametrize("kind", list(FUNCTIONS))
@pytest.mark.parametrize("positions", ["rope", "alibi"])
def test_before_and_after_belong_together(kind, positions):
    model, config = small.model(positions=positions), MaskConfig(kind=kind, window=3)
    result = masked_attention(model, text(), config)
    allowed = of_layers(config, N, 2)[:, None].numpy()
    assert np.array_equal(result.allowed, allowed[:, 0])
    assert result.scores.shape == result.unmasked.shape == result.masked.shape == (2, 6, N, N)
    exp = np.exp(result.scores - result.scores.max(-1, keepdims=True))
    np.testing.assert_allclose(result.unmasked, exp / exp.sum(-1, keepdims=True), atol=1e-6)
    exp = exp * allowed
    np.testing.assert_allclose(result.masked, exp / exp.sum(-1, keepdims=True), atol=1e-5)
    assert (result.masked * ~allowed == 0).all()
    np.testing.assert_allclose(result.blocked_share, (result.unmasked * ~allowed).sum(-1).mean(-1), atol=1e-6)


def test_alternating_windows_are_those_of_a_model_that_has_them():
    """Gemma 3's, one layer of three without a window; a sink's column is what its model has not."""
    model, mask = small.model(n_layers=4), MaskConfig(kind="alternating", window=3, n_global=0, every=3)
    windows = [LayerConfig(window=None if layer == 2 else 3) for layer in range(4)]
    theirs = Transformer(model.config.changed(layers=tuple(windows))).eval().requires_grad_(False).to(device())
    theirs.load_state_dict(model.state_dict())
    ids = torch.tensor([text()], device=device())
    found = masked_attention(model, text(), mask)
    for layer in range(4):
        pattern = theirs(ids, capture="*pattern").activations[f"blocks.{layer}.attn.pattern"][0]
        np.testing.assert_allclose(found.masked[layer], pattern.cpu(), atol=1e-6)
    sunk = build(MaskConfig(kind="alternating", window=3, every=3), N, 0).numpy()
    assert sunk[:, 0].all(), "the first token stays in sight"
    assert sunk.sum() == found.allowed[0].sum() + N - 3
    whole, near = (views.allowed("stories", TEXT, mask, layer).caption for layer in (2, 3))
    assert whole.startswith("alternating windows, layer 2 (all earlier tokens): ")
    assert near.startswith("alternating windows, layer 3 (a window): ")


def test_of_a_hybrid_the_layers_that_attend_are_masked():
    """What the other layers have looks back alone, whatever the mask, so that a causal one leaks nothing."""
    kinds = ("delta", "attention", "conv", "attention+ssm")
    mixer = MixerConfig(n_heads=3, decay="token", width=3)
    layers = tuple(LayerConfig(mixer=kind) for kind in kinds)
    model = small.model(n_layers=4, mixer=mixer, layers=layers, vocab_size=256)
    found, ids = masked_attention(model, text(), WINDOW), torch.tensor([text()], device=device())
    patterns = model(ids, capture="*pattern", mask=build(WINDOW, N)).activations
    for layer in (1, 3):
        np.testing.assert_allclose(found.masked[layer], patterns[f"blocks.{layer}.attn.pattern"][0].cpu(), atol=1e-6)
        assert (found.blocked_share[layer] > 0).all()
    assert not found.scores[[0, 2]].any()
    assert not found.masked[[0, 2]].any()
    assert leak_test(model, text(), WINDOW, 7, 1 + text()[7]).equal
    assert not leak_test(model, text(), MaskConfig(kind="bidirectional"), 7, 1 + text()[7]).equal
    with pytest.raises(ValueError, match="layer 2 has no attention that a mask acts on; these have: 1, 3"):
        views.masked_weights((model, ByteTokenizer()), TEXT, WINDOW, 2, 0)


def test_a_single_token_works():
    result = masked_attention(small.model(), [3], MaskConfig())
    assert (result.masked == 1).all()
    assert (result.blocked_share == 0).all()


def test_pairs_are_counted_for_the_text_and_for_a_long_one():
    window = AllowedPairs("sliding window", mask_cost(WINDOW, 5), mask_cost(WINDOW, 100))
    assert (window.near.pairs, window.far.pairs) == (1 + 2 + 3 + 3 + 3, 1 + 2 + 98 * 3)
    assert str(window) == (
        "sliding window: 12 of 25 pairs, 48.0%; none of them with a later key. At 100 tokens the same mask allows 3.0%."
    )
    open_mask = AllowedPairs("none", MaskCost(40, 1_600, 780), MaskCost(1_024, 1_024**2, 0))
    assert str(open_mask) == (
        "none: 1,600 of 1,600 pairs, 100.0%; 780 of them with a later key. At 1,024 tokens the same mask allows 100.0%."
    )


def test_each_map_has_a_sentence_of_its_own():
    allowed = np.tril(np.ones((2, 2), bool))
    scores, weights = np.array([[1.0, 3.0], [0.5, -2.0]]), np.array([[0.25, 0.75], [0.5, 0.5]])
    assert str(blocked_weight(0.256, "causal")) == "26% of the weight lies on pairs that this mask (causal) blocks."
    said = "the largest is 3.00, of 'a' for '·b', which this mask blocks."
    assert str(largest_score(scores, allowed, ["a", " b"])) == said
    assert str(largest_score(-scores, allowed, ["a", " b"])).endswith("of '·b' for '·b', which this mask allows.")
    assert str(blocked_scores(allowed)) == "1 of 4 become minus infinity; the others stay as they are."
    assert str(grown_weights(weights, weights * allowed / (weights * allowed).sum(-1, keepdims=True), allowed)) == (
        "blocked ones are exactly 0, and the rest of a row grows to a sum of 1: 2.5 times in the median row."
    )


def test_with_learned_sinks_weights_grow_with_the_part_of_the_sink():
    model, mask = small.model(attn_sinks=True), MaskConfig(kind="window", window=2)
    found = masked_attention(model, [3, 1, 4, 1, 5], mask)
    every = build(MaskConfig(kind="bidirectional"), 5)
    recorded = model(torch.tensor([[3, 1, 4, 1, 5]]), capture="*pattern", mask=every).activations
    np.testing.assert_allclose(found.unmasked[0], recorded["blocks.0.attn.pattern"][0].cpu(), atol=1e-5)
    said = grown_weights(found.unmasked[0, 2], found.masked[0, 2], found.allowed[0])
    growth = np.median((found.masked[0, 2] / found.unmasked[0, 2]).max(-1))
    assert str(said) == (
        "blocked ones are exactly 0, and the rest of a row grows, with the part of the learned sink, to a sum of 1: "
        f"{growth:.2g} times in the median row."
    )


def test_a_comparison_says_whether_something_leaks():
    assert str(LeakComparison("causal", 20, True, 0.0, 0.01234)) == (
        "With the mask causal, the outputs at the 20 positions before the changed token are equal to the last bit; "
        "without a mask they differ by up to 0.0123."
    )
    assert str(LeakComparison("padding", 20, False, 0.01234, 3.5)) == (
        "With the mask padding, the outputs at the 20 positions before the changed token differ by up to 0.0123; "
        "without a mask they differ by up to 3.5."
    )


def test_the_losses_of_the_twins_are_those_of_the_last_look():
    looks = [PitfallEvaluation(step, (1.0 / step, 2.0), (0.0, 0.0)) for step in (5, 8, 10)]
    assert (twin_losses(looks).values["without"], twin_losses(looks).values["masked"]) == (0.1, 2.0)
    assert str(twin_losses([PitfallEvaluation(160, (0.01234, 1.2), (0.0, 0.0))])) == (
        "Training loss, nats per letter, after 160 steps: 0.0123 without a mask, 1.2 with it."
    )


# ---- views ----


def test_the_maps_are_those_of_the_head_under_the_mask():
    tokens, result = views.tokens_of("stories", TEXT), views.attention_of("stories", TEXT, WINDOW)
    n = len(tokens.ids)
    blocked = ~build(WINDOW, n).numpy()
    for show, values in (
        (views.scores, result.scores),
        (views.masked_scores, result.scores),
        (views.weights, result.unmasked),
        (views.masked_weights, result.masked),
    ):
        shown = show("stories", TEXT, WINDOW, 1, 4)
        what, _, when = shown.key.partition(" ")
        np.testing.assert_array_equal(shown.result, values[1, 4])
        share = float((result.unmasked[1, 4] * blocked).sum(-1).mean())
        said = {
            "Scores before the mask": largest_score(result.scores[1, 4], ~blocked, tokens.tokens),
            "Scores after the mask": blocked_scores(~blocked),
            "Weights before the mask": blocked_weight(share, "sliding window"),
            "Weights after the mask": grown_weights(result.unmasked[1, 4], result.masked[1, 4], ~blocked),
        }[shown.key]
        assert shown.alt == f"{what} of layer 1, head 4 {when}: {said}"
        assert shown.caption == f"{shown.key}, (query, key) = ({n}, {n}): {said}"
        table = shown.numbers()
        named = table.iloc[n + 2][["query", "key", "query_token", "key_token"]].tolist()
        assert named == [1, 2, tokens.tokens[1], tokens.tokens[2]]
        assert table[shown.key].tolist() == pytest.approx(values[1, 4].ravel().tolist())


def test_the_mask_is_counted_on_the_tokens_that_are_used():
    shown = views.allowed("stories", TEXT * 20, MaskConfig())
    assert shown.result.shape == (views.TOKENS, views.TOKENS)
    assert shown.alt.startswith("The mask causal: 2,080 of 4,096 pairs, 50.8%; none of them with a later key.")
    assert shown.numbers()["allowed"].sum() == 2_080


def test_a_leak_is_measured_with_the_mask_and_without():
    shown = views.leak("stories", TEXT, WINDOW, 4)
    tokens = views.tokens_of("stories", TEXT).tokens
    assert (shown.result.changed, shown.result.replacement) == (tokens[4], " dragon")
    assert shown.result.masked.equal
    assert shown.result.free.reached == 4
    assert [one.note for one in shown.metrics] == ["equal to the last bit", "4 of 4 earlier positions changed"]
    table = shown.numbers()
    np.testing.assert_array_equal(table["sliding window"], shown.result.masked.difference)
    np.testing.assert_array_equal(table["no mask"], shown.result.free.difference)


@nightly
def test_the_twins_are_trained_unless_it_is_known_what_they_came_to():
    config, looks = PitfallConfig(kind="mask", steps=2), [PitfallEvaluation(2, (3.0, 3.5), (3.1, 3.4))]
    known, trained = views.trained(config, so_far=looks), views.trained(config)
    assert known.result is looks
    assert known.numbers().to_numpy().tolist() == [[2, 3.0, 3.5]]
    assert [look.step for look in trained.result] == [0, 2]
    assert str(known).splitlines()[1].startswith("Loss of the broken model 3.00")
