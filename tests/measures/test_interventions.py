"""Ablation, scaling and their effects, against edits written out by hand; many edits in one batch."""

import math
import threading
from contextlib import suppress

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.information import divergence
from tfcore.measures.interventions import (
    Effect,
    Part,
    changed,
    columns_of,
    compared_tokens,
    continue_text,
    edits_for,
    effect,
    part_title,
    parts_of,
    read_parts,
    run_each,
    written,
)
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.part_configs import ExpertsConfig, LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.changes import (
    DifferenceChange,
    changed_tokens,
    described,
    difference_change,
    prediction_change,
)

TEXT = small.ids(1, 9)[0].tolist()
CONFIG = small.config()
SETS = [
    [],
    [Edit.zero("blocks.0.attn.z", heads=[2])],
    [Edit.mean("blocks.1.attn.z", heads=[0, 5]), Edit.scale("blocks.0.mlp_out", 2.0)],
    [Edit.mean("blocks.0.mlp_out", positions=[3])],
]


def logits(model, ids, *edits):
    return model(torch.tensor([list(ids)]), edits=edits).logits[0]


def test_a_head_scaled_is_what_it_writes_times_the_factor():
    model = small.model()
    edits = edits_for(model, TEXT, [Part(0, 2)], "scale", -1.5)
    kept = model(torch.tensor([TEXT]), capture=("blocks.0.attn.result", "blocks.0.attn_out")).activations
    after = model(torch.tensor([TEXT]), capture=("blocks.0.attn_out",), edits=edits).activations["blocks.0.attn_out"]
    expected = kept["blocks.0.attn_out"] - 2.5 * kept["blocks.0.attn.result"][:, :, 2]
    torch.testing.assert_close(after, expected, atol=1e-5, rtol=1e-4)


def test_only_one_token_is_edited_where_that_is_asked_for():
    model = small.model()
    off = logits(model, TEXT, *edits_for(model, TEXT, [Part(1, "ff")], "zero", positions=[4]))
    same = (off == logits(model, TEXT)).all(-1).tolist()
    assert same == [i != 4 for i in range(9)]  # of the last layer: nobody reads it after that


def test_the_mean_stays_the_one_of_the_text_while_it_is_continued():
    """A pass with a cache has one new token, whose own mean would change nothing at all."""
    model, part = small.model(), Part(0, 3)
    held = model(torch.tensor([TEXT]), capture=("blocks.0.attn.z",)).activations["blocks.0.attn.z"][0, 3].mean(0)
    text = list(TEXT)
    for _ in range(5):
        edit = Edit.replace("blocks.0.attn.z", held, heads=[3])
        text.append(int(logits(model, text, edit)[-1].argmax()))
    assert continue_text(model, TEXT, edits_for(model, TEXT, [part], "mean"), 5) == text[9:]


def test_without_edits_the_text_goes_on_as_ever():
    model = small.model()
    assert continue_text(model, TEXT, [], 6) == generate(model, TEXT, Sampling(temperature=0), max_new_tokens=6)
    assert edits_for(model, TEXT, (), "mean") == []


def test_parts_are_read_as_they_are_written():
    config = small.config()
    assert read_parts(" 1.FF,0.3  0.3;0.1", config) == (Part(0, 1), Part(0, 3), Part(1, "ff"))
    assert read_parts(" \n", config) == ()
    assert [str(part) for part in read_parts("0.ff 1.5", config)] == ["0.ff", "1.5"]


@given(st.text(st.sampled_from("01.f,;x \n²\0"), max_size=12))
def test_no_text_is_anything_but_parts_or_one_sentence(said):
    parts: tuple[Part, ...] = ()
    with suppress(ValueError):
        parts = read_parts(said, CONFIG)
    assert all(part in parts_of(CONFIG)[part.layer] for part in parts)


def test_the_parts_of_a_hybrid_are_those_that_each_layer_has():
    """Six heads of attention, four of a state; a convolution has none, and some layers feed nothing forward."""
    kinds = (LayerConfig(mixer="conv"), LayerConfig(mixer="ssm", alone=True), LayerConfig(mixer="none"), LayerConfig())
    mixer = MixerConfig(n_heads=4, n_key_heads=2, d_key=5, d_value=6, decay="token")
    model = small.model(n_layers=4, layers=kinds, mixer=mixer)
    named = [["" if one is None else str(one).partition(".")[2] for one in layer] for layer in parts_of(model.config)]
    assert [" ".join(filter(None, layer)) for layer in named] == ["mix ff", "0 1 2 3", "ff", "0 1 2 3 4 5 ff"]
    assert [len(layer) for layer in named] == [8] * 4
    assert columns_of(parts_of(model.config)) == [*"012345", "mix", "FF"]
    assert [part_title(part) for part in read_parts("2.ff 0.mix 1.3", model.config)] == [
        "mixer 0",
        "head 1.3",
        "feed-forward 2",
    ]
    kept = model(torch.tensor([TEXT]), capture=["blocks.1.attn.result", "blocks.1.attn_out"]).activations
    result, out = kept["blocks.1.attn.result"], kept["blocks.1.attn_out"]
    off = edits_for(model, TEXT, [Part(1, 2)], "zero")
    without = model(torch.tensor([TEXT]), edits=off, capture=["blocks.1.attn_out"]).activations["blocks.1.attn_out"]
    torch.testing.assert_close(without, out - result[:, :, 2], atol=1e-5, rtol=1e-5)
    off = edits_for(model, TEXT, [Part(0, "mix")], "mean")
    kept = model(torch.tensor([TEXT]), capture=["blocks.0.attn_out"]).activations["blocks.0.attn_out"]
    mean = model(torch.tensor([TEXT]), edits=off, capture=["blocks.0.attn_out"]).activations["blocks.0.attn_out"]
    torch.testing.assert_close(mean, kept.mean(1, keepdim=True).expand_as(kept), atol=1e-6, rtol=1e-5)


def test_a_word_that_is_no_part_gets_an_answer():
    with pytest.raises(ValueError, match=r"'2\.0' is no part .* possible: 0\.0, 0\.1 \.\.\. 1\.ff"):
        read_parts("0.1 2.0", CONFIG)


def test_new_tokens_are_marked():
    assert changed([1, 2, 3, 4], [1, 9, 3, 4]) == [False, True, False, False]
    assert changed([1, 2, 3], [1, 2, 3]) == [False] * 3
    assert changed([1, 2, 3], [7, 1, 2]) == [True, False, False]
    assert changed([], [5]) == [True]


def test_what_the_pages_say_of_single_parts_of_stories():
    """Skipping attention 3 or 0 in the example of the ball, and both ablations of head 0.3 in that of Sam."""
    model, tokenizer = load("stories")
    text = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
    ids, (ball,) = tokenizer.encode(text), tokenizer.encode(" ball")
    left = {layer: effect(model, ids, [Edit.zero(f"blocks.{layer}.attn_out")], len(ids) - 1).after for layer in (0, 3)}
    assert f"{left[3][ball]:.0%} {left[0][ball]:.0%}" == "57% 3%"
    assert left[3].argmax() == ball
    parts = contributions(model, stream_parts(model, ids, len(ids) - 1), ball, "mean")
    attention = parts.heads.sum(1)
    assert attention.argmax() == 3
    assert attention[3] > parts.feedforward.max()
    assert attention[0] / attention[3] == pytest.approx(1 / 3, abs=0.05)
    sam = tokenizer.encode("There was a little boy. One day, Sam said that")
    he = Quantity("prediction", tokenizer.encode(" he")[0])
    zero, mean = (all_effects(list(knock_out_each(model, sam, he, action)), 4)[0, 3] for action in ("zero", "mean"))
    assert zero > 2 * mean > 1


@pytest.mark.parametrize("values", [{}, {"experts": ExpertsConfig(n_experts=4, capacity_factor=0.5)}])
def test_rows_of_a_batch_are_passes_of_their_own(values):
    model = small.model(**values)
    together = torch.cat(list(run_each(model, TEXT, SETS)))
    for row, edits in zip(together, SETS, strict=True):
        alone = model(torch.tensor([TEXT]), edits=edits).logits[0]
        torch.testing.assert_close(row, alone, atol=2e-5, rtol=1e-4)


def test_more_sets_than_fit_in_one_pass(monkeypatch):
    monkeypatch.setattr("tfcore.measures.interventions.BATCH", 3)
    parts = list(run_each(small.model(), TEXT, SETS))
    assert [len(part) for part in parts] == [3, 1]


@pytest.mark.parametrize("position", [0, 4, -1])
def test_an_effect_has_the_numbers_of_two_passes(position):
    model = small.model()
    found = effect(model, TEXT, SETS[2], position)
    plain, edited = (model(torch.tensor([TEXT]), edits=edits).logits[0] for edits in (SETS[0], SETS[2]))
    np.testing.assert_allclose(found.before, plain[position].softmax(-1), atol=1e-6)
    np.testing.assert_allclose(found.after, edited[position].softmax(-1), atol=1e-6)
    np.testing.assert_allclose(
        found.losses_after, F.cross_entropy(edited[:-1], torch.tensor(TEXT[1:]), reduction="none"), atol=1e-5
    )
    p, q = (logits[position].double().softmax(-1) for logits in (plain, edited))
    assert found.bits == pytest.approx(float((p * (p / q).log2()).sum()), rel=1e-3)
    assert effect(model, TEXT, [], 4).bits == 0
    scaled = Edit.scale("embed", 0.5)  # below all layers
    wanted = model(torch.tensor([TEXT]), edits=[scaled]).logits[0, position].softmax(-1)
    np.testing.assert_allclose(effect(model, TEXT, [scaled], position).after, wanted, atol=1e-6)


def test_divergence_of_certain_predictions():
    sure, fair = torch.tensor([1.0, 0.0]).log(), torch.tensor([0.5, 0.5]).log()
    assert float(divergence(sure, fair)) == pytest.approx(np.log(2))
    assert float(divergence(sure, sure)) == 0
    drawn = torch.randn(64, 9, generator=torch.Generator().manual_seed(0))
    one, other = drawn.log_softmax(-1), (drawn + 7).log_softmax(-1)  # the same but for rounding
    assert ((one.exp() * (one - other)).sum(1) < 0).any()
    same = Effect(one[0].exp().numpy(), other[0].exp().numpy(), np.zeros(0), np.zeros(0))
    assert same.bits == pytest.approx(0, abs=1e-6)
    assert same.bits >= 0
    for row in (0, 5):
        assert divergence(one, one.flip(0))[row] == pytest.approx(float(divergence(one[row], one[63 - row])))


def test_two_threads_with_edits_of_their_own_disturb_nobody():
    """A model shared by all visitors: each sees its own edits and no others, and the weights stay as they were."""
    model = small.model()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    alone = [effect(model, TEXT, edits, 5).after for edits in SETS]
    seen: dict[int, list[np.ndarray]] = {i: [] for i in range(len(SETS))}

    def visitor(i):
        for _ in range(20):
            seen[i].append(effect(model, TEXT, SETS[i], 5).after)

    threads = [threading.Thread(target=visitor, args=(i,)) for i in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, found in seen.items():
        assert len(found) == 20
        assert all(np.array_equal(one, alone[i]) for one in found)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


LETTERS = NamedTokenizer(list("abcdefgh"))


def test_parts_in_words():
    parts = (Part(2, 5), Part(1, "ff"), Part(0, 1))
    assert written(parts) == "0.1 1.ff 2.5"
    assert described(parts[:2], "scale", -2.0) == "head 2.5 and feed-forward 1 times -2"
    assert described(parts, "zero", 0.0) == "3 parts zero-ablated"
    assert described(parts[:1], "mean", 0.0) == "head 2.5 mean-ablated"
    assert described((), "zero", 0.0) == "nothing edited"


def drawn(seed: int) -> Effect:
    rng = np.random.default_rng(seed)
    before, after = rng.dirichlet(np.ones(8), 2)
    return Effect(before, after, rng.random(5), rng.random(5))


def test_the_change_of_a_prediction_is_a_loop_over_the_vocabulary():
    for seed in range(5):
        found = drawn(seed)
        change = prediction_change(found, " b", 3, "head 1.0 zero-ablated", 2, LETTERS)
        before, after = (list(zip(p.tolist(), "abcdefgh", strict=True)) for p in (found.before, found.after))
        assert (change.top_before, change.top_after) == (max(before)[1], max(after)[1])
        assert (change.token, change.before, change.after) == ("c", before[2][0], after[2][0])
        bits = sum(p * math.log2(p / q) for (p, _), (q, _) in zip(before, after, strict=True))
        assert change.bits == pytest.approx(bits)
        assert change.loss_before == pytest.approx(sum(found.losses_before) / 5)
        assert change.loss_after == pytest.approx(sum(found.losses_after) / 5)
        ids = compared_tokens(found, 2, 2)
        wanted = {2} | {"abcdefgh".index(name) for one in (before, after) for _, name in sorted(one)[-2:]}
        assert set(ids) == wanted
        highest = [max(before[i][0], after[i][0]) for i in ids]
        assert highest == sorted(highest, reverse=True)


def test_the_change_of_a_prediction_in_words():
    before, after = np.full(8, 0.05), np.full(8, 0.05)
    before[1], after[4] = 0.65, 0.65
    found = prediction_change(
        Effect(before, after, np.array([1.0, 2.0]), np.array([1.5, 2.75])), " b", 3, "x", 1, LETTERS
    )
    assert str(found) == (
        "The next token after '·b' (3), x: 'b' goes from 65.0% to 5.0%; the model now predicts 'e'; "
        "KL divergence 2.22 bits."
    )
    assert found.change_text == "-2.56 nats"
    assert found.loss_texts == ("2.12", "+0.62")
    nothing = Effect(before, before, np.array([]), np.array([]))
    same = prediction_change(nothing, "b", 0, "y", 1, LETTERS)
    assert "the model keeps its top prediction; KL divergence 0.00 bits." in str(same)
    assert same.loss_texts is None
    gone = np.zeros(8)
    assert prediction_change(Effect(before, gone, *[np.array([])] * 2), "b", 0, "y", 1, LETTERS).change_text[0] == "-"


def test_tokens_without_any_probability_do_not_differ():
    sure = np.eye(8)[0]
    found = difference_change(Effect(sure, sure, *[np.array([])] * 2), 1, 2, LETTERS)
    assert (found.before, found.after) == (0, 0)


def test_changed_tokens_are_counted():
    assert str(changed_tokens([1, 2, 3, 4], [1, 9, 3, 8])) == "2 of 4 tokens changed."
    assert changed_tokens([1, 2], [1, 2]).title == "the same, token for token"


def test_neither_zero_nor_mean_ablation_costs_more_of_every_head():
    """The page asks which of them does; on its text half of the heads of stories go either way."""
    model, tokenizer = load("stories")
    ids, text = tokenizer.encode("Sam was a little boy. One day, Sam said that"), Quantity("text")
    zero, mean = (all_effects(list(knock_out_each(model, ids, text, action)), 4)[:, :6] for action in ("zero", "mean"))
    assert 0 < (zero > mean).sum() < zero.size  # half of them, or one more where a processor rounds otherwise


def test_the_sentence_of_a_difference():
    said = "The logit of '·he' less that of '·she' goes from 2.50 to -0.75."
    assert str(DifferenceChange(" he", " she", 2.5, -0.75)) == said
