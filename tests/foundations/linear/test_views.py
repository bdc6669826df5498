"""Mixers on a head's vectors: numbers against loops written apart, charts, and sentences."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tfcore.charts import theme
from tfcore.charts.heatmaps import full_colour
from tfcore.measures.head_vectors import HeadVectors, head_vectors
from tfcore.training.alike import Repeats, SeedRange
from tfcore.training.mixing import comparison, lengths
from tfcore.training.mixing.comparison import MixingConfig
from tfcore.views.foundations import linear as views
from tfcore.views.foundations.linear import measure, say
from tfcore.views.foundations.linear.measure import MixerSettings, carried_state, features, stored_pairs

TEXT = "Once upon a time there was a little dog named Max. Max had a red ball."
OF = "stories", TEXT, 1, 2


@pytest.fixture(scope="module")
def stories():
    model, tokenizer = tfcore.load("stories")
    return model, tokenizer.encode(TEXT)


@pytest.mark.parametrize("row", list(say.NAMES))
def test_matrix_and_states_are_those_of_a_loop(stories, row):
    model, ids = stories
    settings = MixerSettings(row=row, half_life=5.0, strength=0.7)
    carried, vectors = carried_state(model, ids, 1, 2, settings), head_vectors(model, ids, 1, 2)
    outputs = carried.matrix @ vectors.v.numpy()
    if row == "conv":
        assert np.allclose(outputs[6], vectors.v[3:7].mean(0), atol=1e-5)
        assert np.allclose(carried.states[6], vectors.v[4:7])
        return
    q, k, rule = features(vectors, settings)
    state, total = np.zeros((k.shape[1], vectors.v.shape[1])), np.zeros(k.shape[1])
    for t in range(len(ids)):
        fade = 1.0 if rule.log_decay is None else np.exp(rule.log_decay[t].numpy())[:, None]
        strength = 1.0 if rule.strength is None else float(rule.strength[t])
        kept = fade * state
        new = vectors.v[t].numpy() - (k[t].numpy() @ kept if rule.erase else 0)
        written = strength * np.outer(k[t].numpy(), new)
        state, total = kept + written, total + k[t].numpy()
        if t == 8:
            read = q[t].numpy() @ state / (float(q[t].numpy() @ total) if rule.normalised else 1)
            assert np.allclose(outputs[t], read, atol=1e-4 * np.abs(outputs).max())
            assert np.allclose(carried.states[t], state, atol=1e-4 * np.abs(state).max())
            if not rule.normalised:
                assert carried.norms[t] == pytest.approx(np.linalg.norm(state), rel=1e-4)
    assert carried.difference < 1e-5
    assert np.allclose(carried.weights.sum(-1), 1, atol=1e-5)


def test_half_lives_are_those_asked_for_in_the_mean():
    generator = torch.Generator().manual_seed(0)
    vectors = HeadVectors(*(torch.randn(9, 6, generator=generator) for _ in range(3)))
    for row in ("decay", "gated", "ssm", "gated delta"):
        _, _, rule = features(vectors, MixerSettings(row=row, half_life=4.0))
        assert float(rule.log_decay.mean()) == pytest.approx(-math.log(2) / 4, rel=1e-5)


def test_the_last_token_is_read_back_by_the_delta_rule(stories):
    carried = carried_state(stories[0], stories[1], 1, 2, MixerSettings(row="delta"))
    assert np.allclose(np.diag(carried.held), 1, atol=1e-4)
    assert float(np.triu(np.abs(carried.held), 1).max()) == 0


def test_the_telling_head_is_that_of_a_loop(stories):
    model, ids = stories
    heads = range(model.config.attention.n_heads)
    patterns = model.activations(torch.tensor([ids]), ["blocks.1.attn.pattern"])["blocks.1.attn.pattern"][0]
    sharp = []
    for head in heads:
        rows = [
            max([float(w) for j, w in enumerate(row) if j not in (0, i)] or [0.0])
            for i, row in enumerate(patterns[head])
        ]
        sharp.append(sum(rows) / len(rows))
    assert measure.telling_head(model, ids, 1) == max(heads, key=sharp.__getitem__)


def test_pairs_are_lost_from_about_the_width_of_the_keys_on():
    small, large = stored_pairs(8, 0), stored_pairs(64, 0)
    assert small.right.shape == (3, len(measure.PAIRS))
    assert (small.right[0] == 1).all()  # softmax keeps them apart
    assert (small.right[:, 0] == 1).all()
    at = measure.PAIRS.index(16)
    assert (large.right[1:, at] > small.right[1:, at] + 0.3).all()


def test_every_view_draws_and_says_something():
    settings = MixerSettings(row="gated delta")
    shown = [
        views.softmax(*OF),
        views.implied(*OF, settings),
        views.implied(*OF, MixerSettings(row="conv")),
        views.state(*OF, settings, 5),
        views.state(*OF, MixerSettings(row="conv"), 99),
        views.held(*OF, settings, 5),
        views.carried(*OF, settings, 5),
        views.recall(16),
        views.sizes(),
        *(views.course(task) for task in comparison.TASKS),
        *(views.by_pairs(task) for task in comparison.TASKS),
        views.time_by_length(),
        views.time_by_length(lengths.LengthConfig(), so_far=[]),
        views.memory(),
    ]
    for one in shown:
        theme.check(one.chart)
        assert str(one).endswith(".")
        if one.key != "lengths":
            assert len(one.numbers())
    assert "Nothing is measured yet" in str(shown[-2])
    assert "4,096" not in str(shown[3])
    assert "1,024 numbers at any length" in str(shown[3])  # 32 x 32


def test_colours_of_a_state_end_below_a_few_large_numbers_and_that_is_said():
    states = np.zeros((2, 10, 20))
    states[1] = 0.25
    states[1, 0, 0] = -8.0
    assert full_colour(*states) == 0.25
    assert say.scale_ends(0.25, 8.0) == "Colours end at 0.25; the largest number is 8."
    assert say.scale_ends(8.0, 8.0) == ""
    assert full_colour(*np.zeros((1, 2, 2))) == 1
    of = *OF, MixerSettings(row="delta"), 5
    shown, largest = views.state(*of), np.abs(views.carried(*of).result.states).max()
    assert shown.chart["data"][0]["zmax"] < largest
    assert shown.note.startswith("Colours end at")


def test_a_plain_sum_loses_nothing():
    assert "nothing fades; the state's norm" in str(views.carried(*OF, MixerSettings(row="linear"), 5))


def test_forms_are_compared_where_there_is_a_state():
    assert "outputs agree within 10" in str(views.carried(*OF, MixerSettings(row="delta"), 5))
    assert "agree" not in str(views.carried(*OF, MixerSettings(row="conv"), 5))


def test_what_is_said_of_sizes_and_hybrids_is_counted():
    repeats = Repeats((0, 1), ((0.9, 0.8, 0.5, 0.4), (1.0, 0.82, 0.4, 0.6)), ((), ()))
    said = str(say.recall_regained(repeats))
    assert "means of 2 seeds: attention in all 95% right, in none 50%" in said
    # 0.40 and 0.22 above none: mean 0.31, standard deviation 0.127, and t = 12.7 of one degree of freedom
    assert (
        "in the first alone 81%, +31 points against none (-83 to +145), which these seeds do not tell from none" in said
    )
    same = Repeats((0, 1), ((0.9, 0.8, 0.4, 0.4), (1.0, 0.9, 0.6, 0.5)), ((), ()))
    told = str(say.recall_regained(same))
    assert "in the first alone 85%, +40 points against none (+40 to +40), 80% of what was missing" in told
    assert (
        "in the third alone 50%, +5 points against none (-59 to +69), which these seeds do not tell from none" in told
    )
    one = Repeats((0,), ((0.1, 0.2, 0.3, 0.4),), ((),))
    sized = say.sizes_of_states({2: one, 4: one}, comparison_range(0.7))
    assert "with 64 and with 128 numbers of state: linear attention 10% and 10%" in str(sized)
    assert MixingConfig(d_key=4).state == 128


def comparison_range(mean):
    return SeedRange(mean, mean, mean)
