"""What is said of the text that goes into a walk and of the prediction that comes out."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.start.walk_costs import (
    ModelSize,
    StageCost,
    StageShare,
    _norm,
    _read,
    model_size,
    stage_cost,
    stage_share,
    values_for_words,
)
from tfcore.analysis.start.walk_prediction import (
    LikeliestToken,
    LikelyTokens,
    LogitRange,
    ProbabilityMass,
    TextCounts,
    likeliest_token,
    likely_tokens,
    logit_range,
    probability_mass,
    text_counts,
    with_next_token,
)
from tfcore.analysis.start.walkthrough import WalkedText, walk, walk_text
from tfcore.loading.checkpoints import load
from tfcore.part_configs import ExpertsConfig

TOKENS = ("The", " cat", "", " cat")


@pytest.fixture(scope="module")
def walked():
    walked = walk(small.model(), [1, 2, 3, 2], 0, position=2)
    return WalkedText(walked, TOKENS, tuple(f"t{i}" for i in walked.candidates))


def test_characters_tokens_and_ids_are_counted(walked):
    found = text_counts(walked, "tokens")
    assert found == TextCounts("tokens", 11, 4, 3, walked.walk.config.vocab_size)
    assert str(TextCounts("characters", 44, 10, 8, 2048)) == (
        "44 characters go in; under each is its number in Unicode."
    )
    assert str(TextCounts("tokens", 44, 10, 8, 2048)) == (
        "44 characters became 10 tokens, 4.4 characters each on average."
    )
    assert str(TextCounts("ids", 44, 10, 8, 2048)) == "10 tokens, 8 different ids of 2,048."


def test_logits_and_probabilities_at_the_position_looked_at(walked):
    logits = small.model()(torch.tensor([[1, 2, 3, 2]])).logits[0, 2]
    best = sorted(logits.tolist(), reverse=True)[:16]
    found = logit_range(walked.walk, TOKENS)
    assert (found.token, found.position, found.shown) == ("", 2, 16)
    assert (found.highest, found.lowest) == pytest.approx((best[0], best[-1]), abs=1e-4)
    mass = probability_mass(walked.walk, TOKENS)
    probabilities = sorted(logits.softmax(-1).tolist(), reverse=True)[:16]
    assert (mass.largest, mass.together) == pytest.approx((probabilities[0], sum(probabilities)), abs=1e-5)
    likely = likely_tokens(walked, 3)
    assert likely.tokens == tuple(f"t{i}" for i in logits.topk(3).indices.tolist())
    assert likely.probabilities == pytest.approx(probabilities[:3], abs=1e-5)
    assert likeliest_token(walked).token == likely.tokens[0]
    assert not likeliest_token(walked).filled
    assert likeliest_token(walked).probability == pytest.approx(probabilities[0], abs=1e-5)


def test_what_is_said_of_the_prediction():
    assert str(LogitRange(2048, 16, " cat", 3, 12.34, 5.67)) == (
        "2,048 logits per token; shown are the 16 ids that '·cat' (3) rates highest, from 12.3 down to 5.7."
    )
    assert str(ProbabilityMass(" cat", 3, 0.912, 16, 0.99)) == (
        "For '·cat' (3) the highest score has the probability 0.91; the 16 ids shown have 0.99 together."
    )
    assert str(LikelyTokens((" dog", "\n"), (0.9512, 0.01), 2048)) == (
        "The 2 most likely tokens: '·dog' 95.1%, '⏎' 1.0%; of 2,048 tokens."
    )
    said = "the most likely token, '·dog' (95.1%)."
    assert str(LikeliestToken(" dog", 0.9512, False)) == f"The text goes on with {said}"
    assert str(LikeliestToken(" dog", 0.9512, True)) == f"The masked token is replaced by {said}"


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
    found = stage_share(config, "qkv", 9)
    weights = small.model(vocab_size=512)
    assert found.cost == stage_cost(config, "qkv", 9)
    assert found.parameters == sum(weight.numel() for weight in weights.parameters())
    assert found.parameter_share == f"{found.cost.parameters / found.parameters:.1%} of all parameters"
    assert stage_share(config, "logits", 9).tied == config.tie_embeddings


def test_what_is_said_of_costs():
    product = StageShare(StageCost(1_500, 4_000, True), 10_000, 8_000, False)
    assert str(product) == (
        "Parameters used: 1,500, 15.0% of all parameters. Operations (FLOPs): 4,000, 50.0% of one pass."
    )
    little = StageShare(StageCost(1, 3, False), 10_000, 8_000, False)
    assert (little.parameter_share, little.flop_share) == ("below 0.1% of all parameters", "no matrix product")
    nothing = StageShare(StageCost(), 10_000, 8_000, False)
    assert (nothing.parameter_share, nothing.flop_share) == ("nothing learned here", "no arithmetic")
    assert StageShare(StageCost(5, 5, True), 10, 10, True).parameter_share == "the embedding table again"


def test_the_size_of_a_model():
    model = small.model()
    config, weights = model.config, sum(weight.numel() for weight in model.parameters())
    assert model_size(config, "x") == ModelSize("x", "decoder", weights, config.d_model, config.max_seq_len)
    assert str(ModelSize("stories", "decoder", 1_849_920, 192, 1_024)) == (
        "stories: decoder, 1,849,920 parameters, width 192, context 1,024 tokens."
    )


def test_values_for_words_are_those_of_the_config():
    config = small.config(d_ff=96, experts=ExpertsConfig(n_experts=4, top_k=2, n_shared=1))
    found = values_for_words(config, "add-1", 1, "'dog'")
    assert found["d_q"] == config.n_heads * config.head_size
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
    assert likeliest_token(walk_text(model, tokenizer, "The dog", 8, 0, hidden=1)).filled


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
