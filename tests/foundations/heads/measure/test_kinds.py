"""Head scores against plain loops, and on patterns made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import config, difference, ids, model
from tfcore.measures.heads import kinds as measured
from tfcore.measures.heads.kinds import (
    CROSS_KINDS,
    KINDS,
    NEAR,
    THRESHOLD,
    HeadScores,
    induction_scores,
    mean_scores,
    repeated_tokens,
    repeated_tokens_measure,
    score_cross,
    score_heads,
)
from tfcore.measures.heads.maps import attention_maps
from tfcore.model import Transformer
from tfcore.views.foundations.heads.measure.head_table import head_table, order, score_columns


def naive(pattern, tokens, ahead):
    """The scores of one head, query by query."""
    n, weights = len(tokens), {kind: [] for kind in KINDS}
    entropies, distances = [], []
    for q in range(1, n):
        last = n if ahead else q + 1  # of the keys that it may see, plus one
        same = [k for k in range(last) if tokens[k] == tokens[q] and k != q]
        targets = {
            "previous token": [q - 1],
            "next token": [q + 1] if q + 1 < last else [],
            "first token": [0],
            "self": [q],
            "duplicate": same,
            "induction": [k + 1 for k in same if k + 1 < last and k + 1 != q],
            "local": [k for k in range(last) if 0 < abs(q - k) <= NEAR],
        }
        for kind, keys in targets.items():
            if keys:
                weights[kind].append(sum(pattern[q, k] for k in keys))
        entropies.append(-sum(p * math.log2(p) for p in pattern[q] if p > 0))
        weights["broad"].append(entropies[-1] / math.log2(last))
        distances.append(sum(pattern[q, k] * abs(q - k) for k in range(n)))
    scores = {kind: np.mean(values) if values else 0.0 for kind, values in weights.items()}
    return scores, np.mean(entropies), np.mean(distances)


def random_patterns(layers, heads, n, seed=0, ahead=False):
    scores = torch.randn(layers, heads, n, n, generator=torch.Generator().manual_seed(seed)) * 2
    if ahead:
        return scores.softmax(-1).numpy()
    return scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -math.inf).softmax(-1).numpy()


@pytest.mark.parametrize("n", [2, 3, 12, 30])
@pytest.mark.parametrize("alphabet", [2, 5, 1000])
@pytest.mark.parametrize("ahead", [False, True])
def test_scores_are_those_of_plain_loops(n, alphabet, ahead):
    patterns, tokens = random_patterns(2, 3, n, ahead=ahead), np.random.default_rng(n).integers(0, alphabet, n)
    found = score_heads(patterns, tokens)
    for layer in range(2):
        for head in range(3):
            scores, entropy, distance = naive(patterns[layer, head], tokens, ahead)
            for kind in KINDS:
                assert found.scores[kind][layer, head] == pytest.approx(scores[kind], abs=1e-5), kind
            assert found.entropy[layer, head] == pytest.approx(entropy, abs=1e-4)
            assert found.distance[layer, head] == pytest.approx(distance, abs=1e-4)


TWICE = np.tile(np.arange(20), 2)  # 0 .. 19, 0 .. 19


def looking_at(target):
    """A pattern in which each query looks at the keys `target` names, in equal parts; else at itself."""
    pattern = np.zeros((1, 1, 40, 40), dtype=np.float32)
    for q in range(40):
        keys = [k for k in target(q) if 0 <= k < 40] or [q]
        pattern[0, 0, q, keys] = 1 / len(keys)
    return pattern


HANDMADE = {
    "previous token": lambda q: [q - 1],
    "next token": lambda q: [q + 1],
    "first token": lambda _: [0],
    "self": lambda q: [q],
    "duplicate": lambda q: [q - 20],
    "induction": lambda q: [q - 19] if q >= 20 else [],
    "local": lambda q: range(q - NEAR, q),
    "broad": lambda q: range(q + 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_that_does_one_thing_scores_one_and_is_called_so(kind):
    found = score_heads(looking_at(HANDMADE[kind]), TWICE)
    assert found.scores[kind][0, 0] == pytest.approx(1, abs=1e-5)
    assert found.kind[0, 0] == kind
    assert found.score[0, 0] == found.scores[kind][0, 0]


def test_cross_attention_is_scored_by_place():
    diagonal = np.zeros((1, 1, 5, 9), dtype=np.float32)
    diagonal[0, 0, range(5), range(0, 9, 2)] = 1  # query i is as far along as key 2 i
    found = score_cross(diagonal)
    assert (found.kind[0, 0], found.score[0, 0], found.distance[0, 0]) == ("same place", 1, 0)
    last = np.zeros_like(diagonal)
    last[..., -1] = 1
    assert score_cross(last).kind[0, 0] == "last token"
    assert score_cross(last).distance[0, 0] == pytest.approx(np.mean([8, 6, 4, 2, 0]))
    uniform = score_cross(np.full((1, 1, 5, 9), 1 / 9, dtype=np.float32))
    assert (uniform.kind[0, 0], uniform.score[0, 0]) == ("broad", pytest.approx(1))
    assert tuple(uniform.scores) == CROSS_KINDS
    assert score_cross(last[:, :, :1]).distance[0, 0] == 8  # a single query is at the beginning
    assert score_cross(last[:, :, :2]).distance[0, 0] == pytest.approx(np.mean([8, 0]))


def test_distance_and_entropy_are_in_tokens_and_bits():
    found = score_heads(looking_at(HANDMADE["previous token"]), TWICE)
    assert (found.distance[0, 0], found.entropy[0, 0]) == pytest.approx((1, 0), abs=1e-6)
    uniform = score_heads(looking_at(HANDMADE["broad"]), TWICE)
    assert uniform.entropy[0, 0] == pytest.approx(np.mean(np.log2(np.arange(2, 41))), rel=1e-5)
    assert uniform.distance[0, 0] == pytest.approx(np.mean(np.arange(1, 40) / 2), rel=1e-5)


def test_with_learned_sinks_distance_and_entropy_are_of_what_falls_on_tokens():
    whole = attention_maps(model(), [3, 1, 4, 1, 5]).patterns
    left = np.linspace(0.1, 0.9, 5, dtype=np.float32)[:, None]
    one, other = (score_heads(patterns, np.array([3, 1, 4, 1, 5])) for patterns in (whole, whole * left))
    np.testing.assert_allclose(other.entropy, one.entropy, atol=1e-4)
    np.testing.assert_allclose(other.distance, one.distance, atol=1e-4)
    np.testing.assert_allclose(other.scores["broad"], one.scores["broad"], atol=1e-4)
    taken = (whole * left)[:, :, 1:, 0].mean(-1)
    np.testing.assert_allclose(other.scores["first token"], taken, atol=1e-6)


def test_scores_stay_between_zero_and_one_and_one_token_has_none():
    found = score_heads(random_patterns(2, 3, 25), np.zeros(25, dtype=np.int64))
    assert all(0 <= scores.min() <= scores.max() <= 1 + 1e-5 for scores in found.scores.values())
    one = score_heads(np.ones((2, 3, 1, 1), dtype=np.float32), np.zeros(1, dtype=np.int64))
    assert all(not scores.any() for scores in one.scores.values())
    assert one.kind.shape == one.entropy.shape == one.distance.shape == (2, 3)


def test_repeated_tokens_reads_the_right_diagonals_and_losses():
    subject = model(max_seq_len=32, n_kv_heads=6)
    found = repeated_tokens(subject, seed=5, length=9, rows=3)
    once = torch.randint(0, 61, (3, 9), generator=torch.Generator().manual_seed(5))
    tokens = torch.cat((once, once), 1)
    output = subject(tokens, capture=("blocks.*.attn.pattern",))
    pattern = output.activations["blocks.1.attn.pattern"][:, 4]
    previous = np.mean([float(pattern[row, q, q - 1]) for row in range(3) for q in range(1, 18)])
    induction = np.mean([float(pattern[row, q, q - 8]) for row in range(3) for q in range(9, 18)])
    assert found.previous[1, 4] == pytest.approx(previous, abs=1e-6)
    assert found.induction[1, 4] == pytest.approx(induction, abs=1e-6)
    loss = torch.nn.functional.cross_entropy(output.logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    assert found.first_loss == pytest.approx(float(loss[:, :8].mean()), abs=1e-5)
    assert found.second_loss == pytest.approx(float(loss[:, 9:].mean()), abs=1e-5)


def test_a_model_with_an_induction_head_shows_it():
    """Two layers wired by hand: the first copies the previous token beside each token, the second looks for it."""
    subject = wired()
    found = repeated_tokens(subject, seed=0, length=12, rows=8)
    assert found.previous[0].max() > 0.95
    assert found.induction[1].max() > 0.85  # less than 1 where chance drew a token twice
    assert found.second_loss < 0.3 * found.first_loss
    best = repeated_tokens_measure(subject, seed=0)
    assert best["previous_token_head"] > 0.95
    assert best["induction_head"] > 0.85
    assert best["second_over_first"] < 0.3


def wired():
    """Attention only. The residual stream has a part each for the token, the token before, the answer, the position."""
    vocab, places = 200, 32
    shape = config(
        vocab_size=vocab,
        d_model=3 * vocab + places,
        n_heads=1,
        n_layers=2,
        max_seq_len=places,
        positions="learned",
        d_ff=0,
        tie_embeddings=False,
        d_head=vocab,
    )
    subject, eye, width = Transformer(shape).eval().requires_grad_(False), torch.eye(vocab), 3 * vocab + places
    for parameter in subject.parameters():
        if parameter.ndim == 2:
            parameter.zero_()
    subject.embed.weight[:, :vocab] = 10 * eye
    subject.decoder.pos_embed.weight[:, 3 * vocab :] = 10 * torch.eye(places)
    first, second = subject.decoder.blocks[0].attn, subject.decoder.blocks[1].attn
    first.qkv.weight[: places - 1, 3 * vocab + 1 :] = 20 * torch.eye(places - 1)  # query: my position less one
    first.qkv.weight[vocab : vocab + places - 1, 3 * vocab : width - 1] = 20 * torch.eye(places - 1)  # key: position
    first.qkv.weight[2 * vocab :, :vocab] = eye
    first.out.weight[vocab : 2 * vocab] = 10 * eye  # writes the token before into the second stream
    second.qkv.weight[:vocab, :vocab] = 20 * eye  # query: my token
    second.qkv.weight[vocab : 2 * vocab, vocab : 2 * vocab] = 20 * eye  # key: the token before
    second.qkv.weight[2 * vocab :, :vocab] = eye
    second.out.weight[2 * vocab : 3 * vocab] = 10 * eye  # writes the token found into the third stream
    subject.unembed.weight[:, 2 * vocab : 3 * vocab] = 10 * eye
    return subject


def test_measuring_leaves_the_model_alone():
    subject = model(max_seq_len=32)
    before = subject(ids()).logits
    repeated_tokens(subject)
    assert difference(subject(ids()).logits, before) == 0


def test_a_head_that_inducts_in_the_standard_test_is_called_so_on_any_text():
    patterns = np.concatenate([looking_at(HANDMADE["self"])] * 2, axis=1)
    found = mean_scores([score_heads(patterns, TWICE)], np.array([[0.39, 0.9]], dtype=np.float32))
    assert found.kind.tolist() == [["self", "induction"]]
    assert found.score[0].tolist() == pytest.approx([1, 0.9])
    assert found.scores["induction"][0, 1] == 0  # the scores stay those of the text


@pytest.fixture(scope="module")
def found():
    return attention_maps(model(), ids(1, 7)[0].tolist()).heads


@pytest.mark.parametrize("sort", ["place", "kind", "score"])
def test_every_order_holds_every_head_once(found, sort):
    assert sorted(order(found, sort)) == [(layer, head) for layer in range(2) for head in range(6)]


def test_orders_are_sorted_by_what_they_are_called(found):
    assert order(found, "place") == sorted(order(found, "place"))
    scores = [found.score[place] for place in order(found, "score")]
    assert scores == sorted(scores, reverse=True)
    by_kind = [(found.kind[place], -found.score[place]) for place in order(found, "kind")]
    assert by_kind == sorted(by_kind)
    assert order(found, "score") != order(found, "place"), "this model cannot tell the orders apart"


def test_head_table_has_a_row_a_head_and_every_score(found):
    kinds = replace(found, kind=np.where(found.kind == "broad", "local", "self"), score=found.score / 2)
    table = head_table(found, kinds)
    assert list(table.columns) == ["layer", "head", "kind", *score_columns(found)]
    assert list(table.select_dtypes(float).columns) == score_columns(found)
    assert len(table) == 12
    for row in table.to_dict("records"):
        place = row["layer"], row["head"]
        assert row["kind"] == kinds.kind[place]
        assert row["score"] == kinds.score[place]
        assert row["entropy (bits)"] == found.entropy[place]
        assert row["mean distance (tokens)"] == found.distance[place]
        assert all(row[kind] == found.scores[kind][place] for kind in KINDS)


def test_one_token_has_a_table_too():
    scores = attention_maps(model(), [5]).heads
    assert not head_table(scores, scores).isna().any(axis=None)


@pytest.mark.parametrize(("weight", "kind"), [(0.39, "broad"), (0.41, "self"), (0.49, "self"), (0.51, "self")])
def test_a_mean_weight_of_four_tenths_names_a_head(weight, kind):
    """The rest of the weight lies on the four tokens before, in equal parts."""
    pattern = np.zeros((1, 1, 40, 40), dtype=np.float32)
    for q in range(40):
        pattern[0, 0, q, max(0, q - 4) : q] = (1 - weight) / max(1, min(q, 4))
        pattern[0, 0, q, q] = weight if q else 1
    found = score_heads(pattern, np.arange(40))
    assert found.scores["self"][0, 0] == pytest.approx(weight, abs=1e-6)
    assert found.kind[0, 0] == kind


@pytest.mark.parametrize(("inducing", "kind"), [(0.39, "self"), (THRESHOLD, "induction")])
def test_a_score_of_four_tenths_names_an_induction_head(inducing, kind):
    on_text = score_heads(looking_at(HANDMADE["self"]), TWICE)
    found = mean_scores([on_text], np.array([[inducing]], dtype=np.float32))
    assert found.kind[0, 0] == kind


def test_a_score_of_exactly_four_tenths_is_definite():
    def kind(score):
        scores = {kind: np.full((1, 1), 0.9 if kind == "broad" else 0.1) for kind in KINDS} | {"self": score}
        return mean_scores([HeadScores(scores, score, score, score, score)], None).kind.item()

    assert [kind(np.full((1, 1), score)) for score in (0.39, THRESHOLD)] == ["broad", "self"]


def scores_of(kinds, values):
    """Scores of which only the kind and its score matter."""
    kind, score = np.array(kinds, dtype=object), np.array(values, dtype=float)
    return HeadScores({}, kind, score, np.zeros(score.shape), np.zeros(score.shape))


def test_only_a_decoder_that_predicts_has_induction_scores():
    subject = model()
    found = induction_scores(subject)
    assert found is not None
    np.testing.assert_array_equal(found, repeated_tokens(subject, rows=8).induction)
    assert induction_scores(model(architecture="encoder", head="mlm")) is None
    assert induction_scores(model(max_seq_len=3)) is None
    assert induction_scores(model(max_seq_len=4)) is not None


def test_of_a_large_vocabulary_one_row_of_random_tokens_is_read(monkeypatch):
    subject = model()
    for largest, rows in ((61, 8), (60, 1)):
        monkeypatch.setattr(measured, "SMALL_VOCABULARY", largest)
        np.testing.assert_array_equal(induction_scores(subject), repeated_tokens(subject, rows=rows).induction)
