"""A model that grows, and the frames of the shipped film: true numbers at every moment."""

import numpy as np
import pytest
import torch

from tests.nightly import nightly
from tfcore.loading.checkpoint_history import load_history
from tfcore.measures.heads.compositions import composition
from tfcore.measures.heads.induction_moments import Moment, in_context_score, places
from tfcore.training.growing import GrowConfig, film_moment, film_steps, grow, repeating_rows
from tfcore.views.inside.induction.measure.training import loss_fall
from tfcore.views.inside.induction.say.training import heads_form

TINY = GrowConfig(steps=12, vocab_size=16, seq=24, rows=4)


def test_a_frame_says_what_was_measured_when_the_film_was_made():
    film = load_history("induction")
    assert film_steps() == film.steps
    for frame in (0, 12, 26):
        found, kept = film_moment(frame), film.measures[frame]
        assert found.step == kept["step"]
        assert found.first_loss == pytest.approx(kept["first_loss"], abs=2e-3)
        assert found.second_loss == pytest.approx(kept["second_loss"], abs=2e-3)
        np.testing.assert_allclose(found.induction, kept["induction"], atol=2e-3)
        np.testing.assert_allclose(found.previous, kept["previous"], atol=2e-3)
        assert found.key_composition == pytest.approx(composition(film.model(frame), 1).scores["key"].max())
    assert found.in_context < -4  # at the end the text itself helps
    assert abs(film_moment(0).in_context) < 0.3


def test_the_in_context_score_is_a_late_loss_minus_an_early_one():
    by_place = np.arange(2.0, 101.0)  # token i has loss i
    assert places(100) == (10, 100)
    assert in_context_score(by_place, 10, 100) == 90
    assert in_context_score(by_place, 50, 20) == -30


def moments(losses, induction):
    score = np.zeros((2, 1))
    return [
        Moment(10 * i, 5.0, loss, score, score + weight, 0.1, np.zeros(9), np.zeros((2, 1, 4, 4)))
        for i, (loss, weight) in enumerate(zip(losses, induction, strict=True))
    ]


def test_the_jump_is_where_most_of_the_loss_goes():
    assert loss_fall(moments([5.0, 5.0, 4.8, 3.0, 1.0, 0.2, 0.0], [0, 0, 0.1, 0.3, 0.6, 0.8, 0.9])) == (30, 50)
    assert loss_fall(moments([5.0, 4.9, 4.8], [0, 0.1, 0.1])) is None


def test_training_yields_moments_and_can_be_stopped_between_steps():
    items = list(grow(TINY))
    assert len(items) == 13
    assert [i for i, item in enumerate(items) if item is not None] == [0, 10, 12]
    assert items[-1].step == 12
    assert items[0].second_loss == pytest.approx(np.log(16), abs=0.3)
    assert items[0].patterns.shape == (2, 4, 32, 32)  # all 16 tokens, said twice


def test_the_same_seed_grows_the_same():
    first, second = (list(grow(TINY))[-1] for _ in range(2))
    assert first.second_loss == second.second_loss
    assert first.second_loss != list(grow(GrowConfig(steps=12, vocab_size=16, seq=24, rows=4, seed=1)))[-1].second_loss


@nightly
def test_heads_appear_and_one_layer_cannot():
    """Smaller than on the page, and just long enough."""
    shape = {"steps": 450, "vocab_size": 32, "seq": 32}
    two = [m for m in grow(GrowConfig(**shape)) if m is not None]
    assert loss_fall(two) is not None
    assert two[-1].second_loss < two[0].second_loss - 0.8
    assert two[-1].in_context < two[0].in_context - 0.8
    one = [m for m in grow(GrowConfig(**shape | {"n_layers": 1, "steps": 60})) if m is not None]
    assert loss_fall(one) is None
    assert one[-1].key_composition == 0


def test_rows_begin_again_after_a_period_of_their_own():
    rows = repeating_rows(30, 40, 6, torch.Generator().manual_seed(0), 5)
    for row in rows.tolist():
        assert any(row[period:] == row[: 40 - period] for period in range(5, 30))


@pytest.mark.parametrize("wrong", [{"n_layers": 0}, {"steps": 10_000}, {"vocab_size": 2}, {"seed": -1}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GrowConfig(**wrong)


@nightly
def test_the_phase_change_is_told_by_the_measures_of_the_film():
    kept = load_history("induction").measures
    moments = [film_moment(frame) for frame in range(len(kept))]
    found = heads_form(moments)
    for kind, step in (("previous", found.previous), ("induction", found.induction)):
        there = [m["step"] for m in kept if np.max(m[kind]) >= 1 / 3]
        assert there[0] == step
    highest = max(kept, key=lambda m: m["first_loss"])
    assert (found.peak, found.first_peak) == (highest["step"], pytest.approx(highest["first_loss"], abs=2e-3))
    assert found.fell == loss_fall(moments)
    assert found.early == kept[1]["step"]
    words = str(found)
    assert f"rises* from {found.first_before:.2f} to {found.first_peak:.2f}" in words
    assert heads_form(moments[:3]) is None
