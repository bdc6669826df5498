"""What is said of the text that goes into a walk and of the prediction that comes out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests import small
from tfcore.loading.checkpoints import load
from tfcore.part_configs import ExpertsConfig
from tfcore.views.start import walkthrough
from tfcore.views.start.walkthrough.measure.costs import StageCost, _norm, _read, stage_cost
from tfcore.views.start.walkthrough.measure.walk import WalkedText, walk, walk_text, with_next_token
from tfcore.views.start.walkthrough.say.costs import cost_metrics, flop_share, parameter_share
from tfcore.views.start.walkthrough.say.prediction import (
    likeliest_token,
    likely_tokens,
    logit_range,
    probability_mass,
    text_counts,
)
from tfcore.views.start.walkthrough.say.words import values_for_words

TOKENS = ("The", " cat", "", " cat")


@pytest.fixture(scope="module")
def walked():
    walked = walk(small.model(), [1, 2, 3, 2], 0, position=2)
    return WalkedText(walked, TOKENS, tuple(f"t{i}" for i in walked.candidates))


def test_characters_tokens_and_ids_are_counted(walked):
    vocab = walked.walk.config.vocab_size
    assert [str(text_counts(walked, stage)) for stage in ("characters", "tokens", "ids")] == [
        "11 characters go in; under each is its number in Unicode.",
        "11 characters became 4 tokens, 2.8 characters each on average.",
        f"4 tokens, 3 different ids of {vocab:,}.",
    ]


def test_logits_and_probabilities_at_the_position_looked_at(walked):
    logits = small.model()(torch.tensor([[1, 2, 3, 2]])).logits[0, 2]
    best = sorted(logits.tolist(), reverse=True)[:16]
    found = logit_range(walked.walk, TOKENS).values
    assert (found["token"], found["position"], found["shown"]) == ("∅", 2, 16)
    assert (found["highest"], found["lowest"]) == pytest.approx((best[0], best[-1]), abs=1e-4)
    mass = probability_mass(walked.walk, TOKENS).values
    probabilities = sorted(logits.softmax(-1).tolist(), reverse=True)[:16]
    assert (mass["largest"], mass["together"]) == pytest.approx((probabilities[0], sum(probabilities)), abs=1e-5)
    best_ids = logits.topk(3).indices.tolist()
    listed = ", ".join(f"'t{i}' {p:.1%}" for i, p in zip(best_ids, probabilities, strict=False))
    vocab = walked.walk.config.vocab_size
    assert str(likely_tokens(walked, 3)) == f"The 3 most likely tokens: {listed}; of {vocab} tokens."
    likeliest = likeliest_token(walked).values
    assert likeliest["token"] == f"t{best_ids[0]}"
    assert likeliest["probability"] == pytest.approx(probabilities[0], abs=1e-5)


def test_what_is_said_of_the_prediction(walked):
    planted = replace(
        walked.walk,
        candidates=walked.walk.candidates[:2],
        logits=np.tile(np.float32([12.34, 5.67]), (4, 1)),
        probabilities=np.tile(np.float32([0.9512, 0.01]), (4, 1)),
        position=3,
    )
    assert str(logit_range(planted, TOKENS)) == (
        "61 logits per token; shown are the 2 ids that '·cat' (3) rates highest, from 12.3 down to 5.7."
    )
    assert str(probability_mass(planted, TOKENS)) == (
        "For '·cat' (3) the highest score has the probability 0.95; the 2 ids shown have 0.96 together."
    )
    text = WalkedText(planted, TOKENS, (" dog", "\n"))
    assert str(likely_tokens(text, 2)) == "The 2 most likely tokens: '·dog' 95.1%, '⏎' 1.0%; of 61 tokens."
    said = "the most likely token, '·dog' (95.1%)."
    assert str(likeliest_token(text)) == f"The text goes on with {said}"
    fills = replace(planted, config=small.config(architecture="encoder", head="mlm"))
    assert str(likeliest_token(WalkedText(fills, TOKENS, (" dog",)))) == f"The masked token is replaced by {said}"


def test_a_view_of_the_prediction_says_it():
    model = load("stories", device="cpu")
    shown = walkthrough.answer(model, "The little dog lost the red ball. The little", 3, height=190)
    assert (shown.height, str(shown)) == (190, shown.alt)
    assert shown.caption == f"The prediction. {shown.alt}"
    probabilities = model[0](torch.tensor([model[1].encode("The little dog lost the red ball. The little")])).logits
    best = probabilities[0, -1].softmax(-1).topk(5)
    assert shown.numbers()["token"].tolist() == model[1].tokens(best.indices.tolist())
    assert shown.numbers()["probability"].tolist() == pytest.approx(best.values.tolist(), rel=1e-4)


@pytest.mark.parametrize(("architecture", "text", "at"), [("decoder", "abcX", 3), ("encoder", "aXc", 1)])
def test_the_most_likely_token_stands_in_its_place(architecture, text, at):
    kind = {"architecture": "encoder", "head": "mlm"} if architecture == "encoder" else {}
    walked = walk(small.model(**kind), [1, 2, 3], 0, position=1)
    assert with_next_token(WalkedText(walked, ("a", "b", "c"), ("X", "Y"))) == (list(text), at)


def test_a_text_is_walked_to_its_end():
    model, tokenizer = load("stories", device="cpu")
    found = walk_text(model, tokenizer, "The little dog lost the ball.", 4, 2)
    ids = tokenizer.encode("The little dog lost the ball.")[-4:]
    assert found.walk.ids == tuple(ids)
    assert found.tokens == tuple(tokenizer.tokens(ids))
    assert (found.walk.layer, found.walk.position) == (2, 3)
    best = model(torch.tensor([ids])).logits[0, -1].topk(16).indices
    assert found.candidates == tuple(tokenizer.tokens(best.tolist()))


def test_a_masked_token_is_hidden_from_the_model():
    model, tokenizer = load("fill", device="cpu")
    shown, hidden = (walk_text(model, tokenizer, "The little dog", 8, 0, at) for at in (None, 1))
    assert hidden.tokens[1] == "[hidden]"
    assert hidden.walk.position == 1
    changed = [i for i, (a, b) in enumerate(zip(shown.walk.ids, hidden.walk.ids, strict=True)) if a != b]
    assert changed == [1]


def test_costs_beside_those_of_the_model():
    config = small.config(vocab_size=512)
    used, _ = cost_metrics(config, "qkv", 9)
    cost, total = (
        stage_cost(config, "qkv", 9),
        sum(weight.numel() for weight in small.model(vocab_size=512).parameters()),
    )
    assert (used.value, used.note) == (f"{cost.parameters:,}", f"{cost.parameters / total:.1%} of all parameters")
    for tied in (True, False):
        used, _ = cost_metrics(small.config(tie_embeddings=tied), "logits", 9)
        assert (used.note == "the embedding table again") == tied


def test_what_is_said_of_costs():
    product, little = StageCost(1_500, 4_000, True), StageCost(1, 3, False)
    assert (parameter_share(product, 10_000), flop_share(product, 8_000)) == (
        "15.0% of all parameters",
        "50.0% of one pass",
    )
    assert (parameter_share(little, 10_000), flop_share(little, 8_000)) == (
        "below 0.1% of all parameters",
        "no matrix product",
    )
    assert (parameter_share(StageCost(), 1), flop_share(StageCost(), 1)) == ("nothing learned here", "no arithmetic")


def test_values_for_words_are_those_of_the_config():
    config = small.config(d_ff=96, experts=ExpertsConfig(n_experts=4, top_k=2, n_shared=1))
    found = values_for_words(config, "add-1", 1, "'dog'")
    assert found["d_q"] == config.attention.n_heads * config.head_size
    assert found["last_id"] == config.vocab_size - 1
    assert found["root_d_model"] == f"{np.sqrt(config.d_model):.1f}"
    assert found["before"] == "After 1 other block, each"
    assert (found["added"], values_for_words(config, "add-2", 0, "")["added"]) == ("attention", "feed-forward")
    assert found["scale_sign"] == rf"\div\sqrt{{{config.head_size}}}"
    assert values_for_words(small.config(attn_scale=0.25), "scaled", 0, "")["scale_sign"] == r"\times 0.25"
    assert f"become 96, {96 / config.d_model:.3g} times" in found["up_words"]
    assert "sliding window of 4 tokens" in values_for_words(small.config(window=4), "mask", 0, "")["mask_words"]


@pytest.mark.parametrize(
    ("top_k", "shared", "words"),
    [
        (1, 0, "the chosen expert"),
        (2, 1, "the 2 chosen experts and the shared expert"),
        (3, 2, "the 3 chosen experts and the 2 shared experts"),
    ],
)
def test_experts_in_words(top_k, shared, words):
    config = small.config(experts=ExpertsConfig(n_experts=4, top_k=top_k, n_shared=shared))
    assert values_for_words(config, "experts", 0, "")["expert_words"] == words


@pytest.mark.parametrize(
    ("norm", "bias", "operations"), [("rmsnorm", True, 4), ("layernorm", False, 6), ("layernorm", True, 7)]
)
def test_what_a_norm_costs_for_each_number(norm, bias, operations):
    """Square, sum, divide, scale; LayerNorm sums and subtracts besides, and shifts where there are biases."""
    config = small.config(norm=norm, bias=bias)
    weights = 2 if operations == 7 else 1
    assert _norm(config, 5) == StageCost(weights * config.d_model, operations * 5 * config.d_model)


@pytest.mark.parametrize(
    ("stage", "each", "numbers"),
    [
        ("qk-norm", 4, 5 * 12 * 4),
        ("rotation", 3, 5 * 12 * 4),
        ("scaled", 1, 6 * 25),
        ("bias", 1, 6 * 25),
        ("softmax", 4, 6 * 25),
        ("add-1", 1, 5 * 24),
        ("add-2", 1, 5 * 24),
        ("activation", 1, 5 * 96 * 2),
        ("probabilities", 4, 5 * 61),
    ],
)
def test_what_a_stage_without_products_costs_for_each_number(stage, each, numbers):
    """Of 5 tokens, in 6 heads of 4 numbers."""
    assert stage_cost(small.config(d_ff=96, activation="swiglu"), stage, 5).flops == each * numbers


def test_what_reading_costs():
    config = small.config(positions="learned")
    d = config.d_model
    found = _read(config, 5)
    assert found["embedding"] == StageCost(config.vocab_size * d)
    assert found["scaling"] == StageCost(0, 5 * d)
    assert found["positions"] == StageCost(config.max_seq_len * d, 5 * d)
    assert found["segments"] == StageCost(config.n_segments * d, 5 * d)


def test_a_gated_layer_has_two_matrices_on_the_way_up():
    for activation, gates in (("swiglu", True), ("gelu", False)):
        given = values_for_words(small.config(activation=activation), "up", 1, "'dog'")
        assert [("gate" in given[name]) for name in ("up", "up_arrow")] == [gates, gates]
        assert (r"\odot" in given["act"]) == gates
    assert given["before"] == "After 1 other block, each"
    assert values_for_words(small.config(n_layers=4), "up", 2, "'dog'")["before"] == "After 2 other blocks, each"


def test_a_masked_token_is_replaced():
    model, tokenizer = load("fill")
    assert str(likeliest_token(walk_text(model, tokenizer, "The dog", 8, 0, hidden=1))).startswith("The masked token")


def test_what_is_said_of_the_experts_a_token_goes_to():
    for experts, chosen, through in (
        (ExpertsConfig(top_k=1), "the expert with the highest probability", "the chosen expert"),
        (
            ExpertsConfig(top_k=2, n_shared=1, bias_rate=0.001),
            "the 2 experts with the highest probability, after a bias of their own is added that counts for the choice "
            "alone",
            "the 2 chosen experts and the shared expert",
        ),
    ):
        given = values_for_words(small.config(experts=experts), "router", 0, "")
        assert (given["chosen_words"], given["expert_words"]) == (chosen, through)


def test_only_a_division_by_the_root_is_called_so():
    labels = {scale: values_for_words(small.config(attn_scale=scale), "scaled", 0, "") for scale in (None, 1.0)}
    assert [given["scale_label"] for given in labels.values()] == ["÷ √d", "scale"]
