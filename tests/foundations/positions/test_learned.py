"""Learned positions, trained for real within the test: the structure that the page talks about is there."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import nightly
from tfcore.loading.checkpoints import load
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.measure import learned
from tfcore.views.foundations.positions.measure.learned import position_table


@pytest.fixture(scope="module")
def nearby():
    return learned.learn_positions("nearby")


@nightly
def test_training_starts_from_noise_at_a_uniform_guess(nearby):
    assert nearby.steps[0] == 0
    assert nearby.losses[0] == pytest.approx(learned.uniform_loss(), abs=0.05)
    assert abs(np.diagonal(nearby.similarity[0], 1).mean()) < 0.15


@nightly
def test_neighbours_become_alike_when_they_may_be_confused(nearby):
    last = nearby.similarity[-1]
    assert np.diagonal(last, 1).mean() > 0.5
    assert abs(np.diagonal(last, 10).mean()) < 0.4
    assert nearby.floor < nearby.losses[-1] < 2.0
    four_before = sum(np.diagonal(nearby.patterns[-1], -k)[4:].mean() for k in range(1, 5))
    assert four_before > 0.6


@nightly
def test_every_look_is_a_copy(nearby):
    assert len({table.tobytes() for table in nearby.tables}) == len(nearby.steps) == len(nearby.losses)
    assert nearby.patterns.sum(-1) == pytest.approx(np.ones(nearby.patterns.shape[:2]), abs=1e-4)


def test_the_same_seed_gives_the_same_run(monkeypatch):
    monkeypatch.setattr(learned, "STEPS", 10)
    one, other = learned.learn_positions("previous", seed=4), learned.learn_positions("previous", seed=4)
    assert np.array_equal(one.tables, other.tables)


@pytest.mark.parametrize(("task", "reach"), [("nearby", 4), ("previous", 1)])
def test_targets_are_among_the_tokens_just_before(task, reach):
    ids, targets = learned.draw_batch(task, 5, torch.Generator().manual_seed(0))
    for row in range(5):
        for p in range(learned.REACH, learned.SEQ):
            assert targets[row, p] in ids[row, p - reach : p]


def test_best_loss_of_the_noisy_task_is_a_little_below_ln_4():
    ids, targets = learned.draw_batch("nearby", 200, torch.Generator().manual_seed(0))
    assert math.log(4) - 0.2 < learned.best_loss("nearby", ids, targets) < math.log(4)
    assert learned.best_loss("previous", ids, targets) == 0.0
    shares = [
        ids[3, p - learned.REACH : p].tolist().count(int(targets[3, p])) / 4 for p in range(learned.REACH, learned.SEQ)
    ]
    by_hand = -sum(math.log(share) for share in shares) / len(shares)
    assert learned.best_loss("nearby", ids[3:4], targets[3:4]) == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("architecture", ["decoder", "encoder"])
def test_it_is_the_models_own_table_and_attention(architecture):
    model = small.model(positions="learned", architecture=architecture)
    found = position_table(model, 12, seed=3)
    table = dict(model.named_parameters())[f"{architecture}.pos_embed.weight"].numpy()
    assert np.array_equal(found.table, table[:12])
    for i, j in ((0, 0), (2, 7), (11, 4)):
        cosine = table[i] @ table[j] / np.linalg.norm(table[i]) / np.linalg.norm(table[j])
        assert found.similarity[i, j] == pytest.approx(cosine, abs=1e-5)
    ids = torch.randint(0, 61, (learned.TABLE_ROWS, 12), generator=torch.Generator().manual_seed(3))
    rows = [model(row[None], capture=small.ALL_PATTERNS).activations["blocks.0.attn.pattern"][0].numpy() for row in ids]
    assert found.patterns == pytest.approx(np.mean(rows, axis=0), abs=1e-5)
    assert found.back(2)[3] == pytest.approx(np.mean([found.patterns[2, q, q - 3] for q in range(3, 12)]), abs=1e-6)


def test_its_waves_are_the_eigenvectors_of_the_covariance():
    model = small.model(positions="learned")
    found, table = position_table(model, 5), model.decoder.pos_embed.weight.numpy().astype(np.float64)
    variances, directions = np.linalg.eigh(np.cov(table.T))
    assert found.explained == pytest.approx(variances[::-1][:3] / variances.sum(), rel=1e-4)
    on_them = (table - table.mean(0)) @ directions[:, ::-1][:, :3]
    assert abs(found.waves) == pytest.approx(abs(on_them), abs=1e-4)


def test_a_model_without_a_table_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="take a model with positions='learned'"):
        position_table(small.model(positions="rope"), 5)


def test_the_shipped_table_is_what_its_card_and_the_page_say():
    model, _ = load("stories-learned", device="cpu")
    found = position_table(model, 64)
    assert np.diagonal(found.similarity, 1).mean() == pytest.approx(0.91, abs=0.01)
    assert np.diagonal(found.similarity, 32).mean() == pytest.approx(-0.27, abs=0.01)
    assert found.explained.sum() == pytest.approx(0.93, abs=0.01)
    assert [found.back(head).argmax() for head in (0, 1)] == [1, 1]  # most on the token before
    assert all(found.back(head)[1] < 0.1 for head in (2, 3))


def made_up_run():
    """Two looks at random numbers."""
    random = np.random.default_rng(3)
    table, square = random.normal(size=(2, 16, 4)), random.random((2, 16, 16))
    return learned.LearnedPositions(
        np.array([0, 10]), table, square, random.random((2, 16, 16)), np.array([3.0, 2.0]), 1.0
    )


def test_what_is_said_of_a_look_is_taken_from_its_diagonals():
    run = made_up_run()
    found = say.learning(run, 1)
    neighbours, ten_apart = (np.mean([run.similarity[1, i, i + k] for i in range(16 - k)]) for k in (1, 10))
    assert found.values["neighbours"] == pytest.approx(neighbours)
    assert found.values["ten_apart"] == pytest.approx(ten_apart)
    back = [np.mean([run.patterns[1, q, q - k] for q in range(4 + k, 16)]) for k in (1, 2, 3, 4)]
    assert found.values["previous"] == pytest.approx(back[0])
    assert found.values["four"] == pytest.approx(sum(back))
    assert str(found) == (
        f"After 10 steps. Neighbouring positions: cosine {neighbours:.2f}; ten apart: {ten_apart:.2f}. Attention on "
        f"the previous token {back[0]:.2f}, on the four before {sum(back):.2f}."
    )
    assert str(say.loss_bounds(run)) == "uniform guess 2.77, best possible 1.00"  # ln 16


def test_what_is_said_of_a_table_is_taken_from_its_diagonals():
    random = np.random.default_rng(4)
    table = learned.PositionTable(
        np.zeros((12, 4)),
        random.random((12, 12)),
        random.random((3, 12, 12)),
        np.zeros((20, 3)),
        np.array([0.5, 0.2, 0.1]),
    )
    neighbours, far = (np.mean([table.similarity[i, i + k] for i in range(12 - k)]) for k in (1, 6))
    back = [np.mean([table.patterns[2, q, q - k] for q in range(k, 12)]) for k in range(4)]
    assert str(say.table_attention(table, 2)) == (
        f"The first 12 position vectors: neighbouring positions have a cosine of {neighbours:.2f}, those 6 apart "
        f"{far:.2f}. Head 2 over 16 sequences of random tokens: {back[1]:.2f} on the previous token."
    )
    around = f"on itself {back[0]:.2f}, two back {back[2]:.2f}, three back {back[3]:.2f}"
    assert str(say.other_weights(table, 2)) == around
    weights = [np.mean([table.patterns[h, q, q - 1] for q in range(1, 12)]) for h in range(3)]
    found = say.previous_weights(table)
    assert found.values["weights"] == pytest.approx(weights)
    each = ", ".join(f"{weight:.2f}" for weight in weights)
    assert str(found) == f"Mean weight on the previous token, head by head: {each}."
    assert str(say.component_share(table)) == (
        "All 20 positions along the three directions in which their vectors vary most, which hold 80 % of the variance."
    )


def test_a_few_huge_values_leave_the_others_their_colours():
    vectors = np.full((10, 20), 0.1)
    others = np.zeros((10, 10)), np.zeros((1, 10, 10)), np.zeros((10, 3)), np.zeros(3)
    table = learned.PositionTable(vectors, *others)
    assert str(say.vector_scale(table)) == "Colours of the vectors end at ±0.10, the largest value."
    vectors[3, 4] = -1.9
    assert str(say.vector_scale(table)) == "Colours of the vectors end at ±0.10; the largest value is 1.90."
