"""A score taken apart: pairs of writers add up to what the model computed, for every kind of model, and each pair is
what a computation written apart gives."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tests.nightly import nightly
from tests.real import real
from tfcore.model import Transformer
from tfcore.norms import rms_norm
from tfcore.part_configs import ExpertsConfig, LayerConfig, PositionsConfig
from tfcore.positions import apply_rope, rope_angles, rope_cos_sin
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.measure.score_parts import score_parts, seen_keys, strongest_key
from tfcore.views.foundations.heads.measure.score_table import largest_pairs, parts_table, score_table
from tfcore.views.foundations.heads.measure.score_writers import Writer, stream_pass
from tfcore.views.foundations.heads.say import ScoreSum, score_sum, strongest_writers

NAMES = [f"w{i}" for i in range(small.config().vocab_size)]
TEXT = " ".join(NAMES[i] for i in (3, 1, 4, 1, 5, 9, 2, 6))
PLACES = [(1, 2, 6, 3, None), (1, 0, 6, 3, 5), (0, 1, 4, 4, 0)]  # layer, head, query, key, other key
KINDS = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "grouped, QK-norm, biases": {"n_kv_heads": 2, "qk_norm": True, "bias": True},
    "parallel": {"parallel": True, "n_kv_heads": 2},
    "sandwich": {"norm_placement": "sandwich", "norm": "layernorm", "bias": True, "positions": "sinusoidal"},
    "post": {"norm_placement": "post", "norm": "layernorm", "bias": True, "positions": "learned"},
    "like OLMo 2": {"norm_placement": "after", "qk_norm": "width", "n_kv_heads": 2, "bias": True},
    "like Pythia": {"norm": "layernorm", "parallel": True, "shared_norm": False, "rotated": 2, "bias": True},
    "some rotated": {"layers": (LayerConfig(), LayerConfig(positions=PositionsConfig(kind="none")))},
    "rotated otherwise": {"layers": (LayerConfig(positions=PositionsConfig(base=7.0)), LayerConfig())},
    "alibi": {"positions": "alibi"},
    "alibi by key": {"positions": "alibi", "alibi_by_key": True, "alibi_steepness": 12.0},
    "QK-norm of each head": {"n_kv_heads": 2, "qk_norm": "each", "bias": True, "norm": "layernorm"},
    "relative": {"positions": "relative"},
    "relative by layer": {"positions": "relative", "relative_by_layer": True},
    "like ALBERT": {
        "architecture": "encoder", "head": "none", "norm_placement": "post", "norm": "layernorm", "bias": True,
        "positions": "learned", "n_segments": 2, "embed_norm": True, "d_embed": 10,
    },
    "like MPNet": {
        "architecture": "encoder", "head": "none", "norm_placement": "post", "norm": "layernorm", "bias": True,
        "positions": "relative", "relative_absolute": True, "embed_norm": True,
    },
    "like DeBERTa": small.DEBERTA,
    "like DeBERTa v2-xlarge": small.CONVOLVED,
    "like DeBERTa, shared": small.DEBERTA | {"relative_shared": True, "relative_products": "p2c"},
    "attention alone": {"d_ff": 0},
    "like gpt-oss": small.WIRINGS["like gpt-oss"],
    "experts": {"experts": ExpertsConfig(n_experts=4, top_k=2)},
    "a norm after the embeddings": {"embed_norm": True, "positions": "learned", "bias": True},
    "like BERT": {
        "architecture": "encoder", "head": "none", "norm_placement": "post", "norm": "layernorm", "bias": True,
        "positions": "learned", "n_segments": 2, "embed_norm": True,
    },
    "like ModernBERT": {
        "architecture": "encoder", "head": "none", "norm": "layernorm", "embed_norm": True, "first_norm": False,
        "layers": (LayerConfig(), LayerConfig(window=7, positions=PositionsConfig(base=7.0))),
    },
}  # fmt: skip


def shaken(**values: object) -> Transformer:
    """A small model whose norms and biases are no longer ones and zeros."""
    model = small.model(**values)
    generator = torch.Generator().manual_seed(3)
    for weight in model.parameters():
        if weight.ndim == 1:
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


def read(model):
    return stream_pass(model, NamedTokenizer(NAMES), TEXT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_pairs_add_up_to_the_recorded_score(kind):
    model = shaken(**KINDS[kind])
    run = read(model)
    for layer, head, query, key, against in PLACES:
        name = f"blocks.{layer}.attn."
        recorded = model(torch.tensor([run.text.ids]), capture=[f"{name}scores", f"{name}pattern"]).activations
        scores, pattern = (recorded[name + what][0, head, query] for what in ("scores", "pattern"))
        expected = float(scores[key]) - (0.0 if against is None else float(scores[against]))
        found = score_parts(model, run, layer, head, query, key, against)
        assert found.score == pytest.approx(expected, abs=1e-4)
        assert found.total == pytest.approx(expected, abs=1e-4)
        np.testing.assert_allclose(found.weights, pattern, atol=1e-5)
        assert found.values.shape == (len(found.at_query), len(found.at_key))
        if against is not None:
            assert math.exp(found.score) == pytest.approx(float(pattern[key] / pattern[against]), rel=1e-3)


@pytest.mark.parametrize("name", ["stories", "stories-learned", "induction", "fill"])
def test_so_do_those_of_the_models_that_ship(name):
    model, tokenizer = tfcore.load(name)
    run = stream_pass(model, tokenizer, "One day Tom saw a red ball. One day Tom")
    last = len(run.text.ids) - 1
    layer = model.config.n_layers - 1
    recorded = model(torch.tensor([run.text.ids]), capture=[f"blocks.{layer}.attn.scores"]).activations
    for head in range(model.config.attention.n_heads):
        found = score_parts(model, run, layer, head, last, 1)
        assert found.total == pytest.approx(float(recorded[f"blocks.{layer}.attn.scores"][0, head, last, 1]), abs=1e-4)


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_and_those_of_each_part_of_a_translator(part):
    model, tokenizer = tfcore.load("translate")
    run = stream_pass(model, tokenizer, "She gave me a red book yesterday.", part)
    name = {
        "encoder": "encoder.blocks.1.attn",
        "decoder": "decoder.blocks.1.attn",
        "cross": "decoder.blocks.1.cross_attn",
    }
    recorded = model(
        torch.tensor([run.text.ids]), decoder_ids=torch.tensor([run.text.decoder_ids]), capture=[f"{name[part]}.scores"]
    ).activations[f"{name[part]}.scores"][0]
    found = score_parts(model, run, 1, 2, 3, 1)
    assert found.total == pytest.approx(float(recorded[2, 3, 1]), abs=1e-4)
    assert (found.queries, found.keys) == (tuple(run.text.queries), tuple(run.text.keys))
    assert score_sum(found).shape == (len(found.at_query), len(found.at_key))
    assert any(one.kind == "cross head" for one in found.at_query) == (part != "encoder")


@nightly
def test_a_real_model_too(real_models):
    model, tokenizer = real("smollm2")
    run = stream_pass(model, tokenizer, "The animal didn't cross the street because it was too tired.")
    recorded = model(torch.tensor([run.text.ids]), capture=["blocks.13.attn.scores"]).activations
    found = score_parts(model, run, 13, 8, 8, 1, 6)
    scores = recorded["blocks.13.attn.scores"][0, 8, 8]
    assert found.total == pytest.approx(float(scores[1] - scores[6]), abs=1e-4)
    assert found.values.shape == (1 + 13 * 10, 1 + 13 * 10)


def test_one_pair_is_what_a_loop_gives():
    """A head at the query by a feed-forward layer at the key: each goes alone through norm, projection, rotation."""
    model = shaken(n_kv_heads=2)
    run, config = read(model), model.config
    layer, head, query, key = 1, 3, 6, 2
    names = ["blocks.0.attn.result", "blocks.0.mlp_out", f"blocks.{layer}.resid_pre"]
    seen = model(torch.tensor([run.text.ids]), capture=names).activations
    block = model.decoder.blocks[layer]
    w, size = block.attn.qkv.weight.double(), config.head_size
    w_q = w[head * size : (head + 1) * size]
    w_k = w[(config.attention.n_heads + head // 3) * size : (config.attention.n_heads + head // 3 + 1) * size]

    def rotated(x, place):
        out = x.clone()
        for i in range(size // 2):
            angle = place * config.positions.base ** (-2 * i / size)
            one, other = float(x[i]), float(x[i + size // 2])
            out[i] = one * math.cos(angle) - other * math.sin(angle)
            out[i + size // 2] = one * math.sin(angle) + other * math.cos(angle)
        return out

    def alone(vector, place, weight):
        whole = seen[f"blocks.{layer}.resid_pre"][0, place].double()
        scale = (whole.pow(2).mean() + config.norm.eps).sqrt()
        return rotated(weight @ (vector.double() / scale * block.ln1.weight.double()), place)

    found = score_parts(model, run, layer, head, query, key)
    for i in range(config.attention.n_heads):
        q = alone(seen["blocks.0.attn.result"][0, query, i], query, w_q)
        k = alone(seen["blocks.0.mlp_out"][0, key], key, w_k)
        row, column = found.at_query.index(Writer("head", 0, i)), found.at_key.index(Writer("feed-forward", 0))
        assert found.values[row, column] == pytest.approx(float(q @ k) / math.sqrt(size), abs=1e-5)
    whole = seen[f"blocks.{layer}.resid_pre"][0, query].double()
    normed = rms_norm(whole, block.ln1.weight.double(), config.norm.eps)
    torch.testing.assert_close(normed, whole / (whole.pow(2).mean() + config.norm.eps).sqrt() * block.ln1.weight)


def test_rows_are_the_gradient_of_the_score_by_each_writer_with_norms_held_fixed():
    """Bilinear: the derivative of the score along a writer at the query is its row sum."""
    model = shaken()
    run = read(model)
    found = score_parts(model, run, 1, 2, 6, 3)
    stream = model(torch.tensor([run.text.ids]), capture="blocks.1.resid_pre").activations["blocks.1.resid_pre"][0]
    block, config = model.decoder.blocks[1], model.config
    scales = (stream.double().pow(2).mean(-1, keepdim=True) + config.norm.eps).sqrt()
    x = stream.double().requires_grad_(True)
    with torch.enable_grad():
        normed = x / scales * block.ln1.weight.double()
        q, k, _ = block.attn.heads(normed[None] @ block.attn.qkv.weight.double().T, 6, 6, 6)
        angles = rope_angles(torch.arange(len(stream)), config.head_size, config.positions.base)
        q, k = apply_rope(q, *rope_cos_sin(angles)), apply_rope(k, *rope_cos_sin(angles))
        score = q[0, 2, 6] @ k[0, 2, 3] / math.sqrt(config.head_size)
        (slope,) = torch.autograd.grad(score, x)
    results = model(torch.tensor([run.text.ids]), capture="blocks.0.attn.result").activations["blocks.0.attn.result"][0]
    for i in range(6):
        at = found.at_query.index(Writer("head", 0, i))
        assert found.values[at].sum() == pytest.approx(float(slope[6] @ results[6, i].double()), abs=1e-5)
        at = found.at_key.index(Writer("head", 0, i))
        assert found.values[:, at].sum() == pytest.approx(float(slope[3] @ results[3, i].double()), abs=1e-5)


def test_the_induction_head_reads_what_the_previous_token_head_wrote_at_the_key():
    model, tokenizer = tfcore.load("induction")
    run = stream_pass(model, tokenizer, "zab mip tol wex run fod zab mip tol wex run fod")
    query = len(run.text.queries) - 1
    head = max(
        range(model.config.attention.n_heads),
        key=lambda h: float(score_parts(model, run, 1, h, query, query // 2).weights[query // 2]),
    )
    found = score_parts(model, run, 1, head, query, query // 2)
    said = strongest_writers(found)
    source = next(one for one in said.sources if one.side == "key")
    assert said.at_key[0] == source.writer.name
    assert source.key == source.place - 1
    assert source.weight > 0.8


def test_the_keys_of_a_query_are_those_before_it_and_in_its_window():
    for window, first in ((None, 0), (2, 5)):
        model = shaken(window=window)
        assert seen_keys(model, read(model), 1, 0, 6) == list(range(first, 7))


def test_a_token_that_cannot_be_seen_is_refused():
    model = shaken()
    with pytest.raises(ValueError, match="token 3 cannot see token 5 in layer 1"):
        score_parts(model, read(model), 1, 0, 3, 5)
    with pytest.raises(ValueError, match="cannot see token 0"):
        score_parts(shaken(window=2), read(shaken(window=2)), 1, 0, 6, 6, 0)
    for key in (-1, 8):  # of a text of 8 tokens, of which the last sees all
        with pytest.raises(ValueError, match=f"token 7 cannot see token {key}"):
            score_parts(model, read(model), 1, 0, 7, key)


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (0.0, "is 1.0 times as large as that"),
        (math.log(9.5), "is 9.5 times as large as that"),
        (-0.5, "is 1.6 times as small as that"),
        (-math.log(10.4), "is 10 times as small as that"),
        (40.0, f"is {math.exp(30):,.0f} times as large as that"),
    ],
)
def test_a_difference_of_scores_is_a_ratio_of_weights(score, words):
    said = ScoreSum(1, 2, 6, 3, 5, ("a", "b", "c"), score, score, (3, 5), 0.5, 0.25, 0.0)
    assert words in str(said)
    assert str(said).endswith("0.25; 3 × 5 pairs of writers add up to it within 1e-07.")
    assert str(replace(said, total=score + 0.25)).endswith("within 2e-01.")


def test_no_part_is_the_first_part():
    model, tokenizer = tfcore.load("translate")
    run, first = (stream_pass(model, tokenizer, "a red book .", part) for part in (None, "encoder"))
    assert (run.part, run.text) == ("encoder", first.text)


def test_no_token_is_no_pass():
    assert stream_pass(shaken(), NamedTokenizer(NAMES), "") is None


def test_the_strongest_key():
    model = shaken()
    run = read(model)
    weights = score_parts(model, run, 1, 2, 6, 0).weights
    best = int(weights.argmax())
    assert strongest_key(model, run, 1, 2, 6) == best
    but = [i == best for i in range(len(weights))]
    assert strongest_key(model, run, 1, 2, 6, but) == int(np.where(but, -1, weights).argmax())
    assert strongest_key(model, run, 1, 2, 0, [True] + 7 * [False]) == 0


def test_the_table_keeps_every_sum():
    model = shaken(n_layers=5)
    found = score_parts(model, read(model), 4, 1, 6, 2)
    table = score_table(found, single=4)
    assert table.values.sum() == pytest.approx(found.values.sum(), abs=1e-9)
    assert table.values.shape == (len(table.rows), len(table.columns)) == tuple(map(len, table.kinds))
    sums = np.abs(found.values.sum(1))
    best = sorted((i for i, one in enumerate(found.at_query) if one.layer >= 0), key=lambda i: -sums[i])[:4]
    for i in best:
        at = table.rows.index(found.at_query[i].name)
        assert table.values[at].sum() == pytest.approx(found.values[i].sum(), abs=1e-9)
    assert any(" heads of " in name for name in table.rows)


def test_what_is_said():
    model = shaken()
    found = score_parts(model, read(model), 1, 2, 6, 3, 5)
    pairs = largest_pairs(found, 3)
    flat = sorted(found.values.ravel().tolist(), key=abs, reverse=True)
    assert [value for *_, value in pairs.pairs] == pytest.approx(flat[:3])
    assert pairs.rest == pytest.approx(sum(flat[3:]))
    assert pairs.others == len(flat) - 3
    assert str(say.pairs(pairs)).startswith(f"Largest pairs (query × key): {pairs.pairs[0][0]} × {pairs.pairs[0][1]} ")
    total = score_sum(found)
    assert (total.key, total.against, total.weight, total.other) == (3, 5, found.weights[3], found.weights[5])
    times = math.exp(abs(found.score))
    assert f"is {times:.1f} times {'as large as' if found.score > 0 else 'as small as'} that" in str(total)
    assert total.error < 1e-4
    alone = score_parts(model, read(model), 1, 2, 6, 3)
    assert str(score_sum(alone)).startswith(
        f"Head 1.2 scores 'w1' (3) with {alone.score:+.2f} for 'w2' (6), and gives "
    )
    assert (score_sum(alone).other, score_sum(alone).bias) == (0, 0)
    strongest = strongest_writers(found)
    assert strongest.at_query[1] == pytest.approx(max(found.values.sum(1), key=abs))
    assert f"at the query 'w2' {strongest.at_query[0]}, {strongest.at_query[1]:+.2f}" in str(strongest)
    assert parts_table(found)["part of the score"].abs().is_monotonic_decreasing
