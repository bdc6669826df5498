"""Mistakes leave their symptoms, healthy twins do not have them, and the floors are what can be reached."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.nightly import nightly
from tfcore.model import Transformer
from tfcore.norms import rms_norm
from tfcore.training import pitfall_tasks as tasks
from tfcore.training import pitfalls as variants
from tfcore.training.pitfalls import (
    DOSES,
    KINDS,
    PitfallConfig,
    PitfallEvaluation,
    Twin,
    last_said,
    model_config,
    train_twins,
)
from tfcore.views.pitfall_remarks import remarks, without_places

pytestmark = pytest.mark.usefixtures("unchecked")  # trainings


def looks(**values: object) -> list[PitfallEvaluation]:
    return [look for look in train_twins(PitfallConfig(**values)) if look is not None]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# ---- the tasks ----


def test_the_floor_of_the_language_is_its_entropy_counted_out():
    lengths = [len(tasks.SENTENCE.format(*words)) for words in product(*tasks.SLOTS)]
    assert tasks.sentence_length() == pytest.approx(np.mean(lengths))
    assert tasks.sentence_floor() == pytest.approx(np.log(len(lengths)) / np.mean(lengths))


def test_the_loss_of_counting_letters_is_their_entropy():
    share = np.bincount(tasks.encode(tasks.sentences(4_000, generator())), minlength=len(tasks.LETTERS))
    share = share[share > 0] / share.sum()
    assert tasks.letter_loss() == pytest.approx(-(share * np.log(share)).sum(), abs=0.01)


def test_letters_and_ids_are_inverse():
    text = tasks.sentences(50, generator(1))
    assert tasks.decode(tasks.encode(text)) == text
    batch = tasks.text_batch(tasks.encode(text), 4, 20, generator())
    assert torch.equal(batch.ids[:, 1:], batch.targets[:, :-1])


def test_the_floor_without_places_is_reached_by_guessing_among_the_others():
    batch = tasks.reverse_batch(300, generator())
    assert torch.equal(batch.targets.flip(1), batch.ids)
    losses = []
    for row, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        for own, target in zip(row, targets, strict=True):
            others = list(row)
            others.remove(own)
            losses.append(-np.log(others.count(target) / len(others)))
    assert tasks.reverse_floor(batch) == pytest.approx(np.mean(losses), rel=1e-5)
    assert without_places() == pytest.approx(np.mean(losses), abs=0.03)


# ---- the mistakes ----


def test_the_wrong_axis_makes_a_text_depend_on_its_batch_and_the_right_one_does_not():
    config = model_config(PitfallConfig(kind="axis"))
    healthy, broken = Transformer(config), Transformer(config)
    variants.across_batch(broken)
    ids = tasks.text_batch(tasks.encode(tasks.sentences(50, generator())), 4, 20, generator()).ids
    for model, changes in ((healthy, False), (broken, True)):
        difference = float((model(ids).logits[:1] - model(ids[:1]).logits).detach().abs().max())
        assert (difference > 1e-2) == changes


def test_the_wrong_axis_is_the_right_norm_of_a_turned_tensor():
    norm, x = (
        variants.AcrossBatch(model_config(PitfallConfig(kind="axis"))),
        torch.randn(5, 3, 64, generator=generator()),
    )
    expected = rms_norm(x.movedim(0, -1), torch.ones(5), norm.eps).movedim(-1, 0)
    torch.testing.assert_close(norm(x), expected)


def test_the_last_texts_are_those_of_the_last_look_that_has_some():
    silent = PitfallEvaluation(60, (1.0, 1.0), (0.0, 0.0))
    first, last = (replace(silent, step=step, said=(f"a{step}", f"b{step}")) for step in (20, 40))
    assert last_said([first, last, silent]) == (40, ("a40", "b40"))
    assert last_said([silent]) is None


def test_without_skips_the_weights_start_as_those_of_the_twin():
    config = model_config(PitfallConfig(kind="skip"))
    healthy, broken = Transformer(config, 3), Transformer(config, 3)
    variants.without_skip(broken, 3)
    for (name, one), (_, other) in zip(healthy.named_parameters(), broken.named_parameters(), strict=True):
        assert torch.equal(one, other), name


def test_float16_loses_what_is_smaller_than_half_of_its_smallest_number():
    rounded = variants.HalfGradients(torch.nn.Linear(2, 2))
    small = torch.tensor([1.0, 0.51 * 2.0**-24, 0.49 * 2.0**-24, 0.0])
    assert (rounded.round(small) != 0).tolist() == [True, True, False, False]
    assert rounded.reset() == pytest.approx(1 / 3)
    assert rounded.reset() == 0


def test_loss_scaling_gives_the_gradients_back_unscaled():
    config = model_config(PitfallConfig(kind="half"))
    batch = tasks.text_batch(tasks.encode(tasks.sentences(50, generator())), 4, 20, generator())
    model = Transformer(config)
    F.cross_entropy(model(batch.ids).logits.flatten(0, 1), batch.targets.flatten()).backward()
    expected = model.embed.weight.grad.clone()
    twin = Twin(Transformer(config), parts=4096, loss_scale=2.0**16, clip=1e9)
    twin.half = variants.HalfGradients(twin.model)
    twin.step(batch, 0)
    found = twin.model.embed.weight.grad
    assert float((found - expected).norm() / expected.norm()) < 2e-3


# ---- what they leave behind ----


@nightly
def test_without_a_mask_the_loss_is_too_good_and_with_it_bad():
    config = PitfallConfig(kind="mask", steps=100)
    found = looks(kind="mask", steps=100)
    last = found[-1]
    assert last.loss[0] < tasks.sentence_floor() < last.loss[1]
    assert last.symptom[0] > 2 > last.symptom[1]
    assert "a causal model can reach" in remarks(config, found).loss.text


@nightly
def test_without_positions_the_loss_stays_above_the_floor():
    last = looks(kind="positions", steps=60)[-1]
    assert last.loss[0] > without_places() - 0.1
    assert last.loss[1] < 0.3
    assert last.symptom[0] < 0.4 < 0.95 < last.symptom[1]


@nightly
@pytest.mark.parametrize(
    ("kind", "telling"),
    [
        ("axis", lambda bad, good: bad > 1.01 * good),
        pytest.param("skip", lambda bad, good: bad < 1e-5 * good, marks=nightly),
        pytest.param("final", lambda bad, good: bad > good, marks=nightly),
        pytest.param("scale", lambda bad, good: bad > 0.7 and good < 0.5, marks=nightly),
        ("rate", lambda bad, good: bad > 5 * good),
        pytest.param("half", lambda bad, good: bad > 0.8 and good < 0.05, marks=nightly),
    ],
)
def test_the_telling_number_tells(kind, telling):
    found = looks(kind=kind, steps=20)
    assert telling(*found[-1].symptom)
    assert all(said for said in found[-1].said)


@nightly
@pytest.mark.parametrize("kind", ["mask", "positions", "half"])
def test_both_see_the_same_batches_and_the_same_seed_gives_the_same_run(kind):
    first, second = looks(kind=kind, steps=2), looks(kind=kind, steps=2)
    assert first == second
    assert [look.step for look in first] == [0, 2]
    assert looks(kind=kind, steps=2, seed=1) != first
    assert abs(first[0].loss[0] - first[0].loss[1]) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_findings_can_be_said_of_any_beginning(kind):
    for dose in DOSES.get(kind, ((0,), 0))[0]:
        config = PitfallConfig(kind=kind, dose=dose)
        for pair in ((3.0, 3.0), (0.0, 0.0), (1e9, 1e-9)):
            said = remarks(config, [PitfallEvaluation(0, (3.2, 3.2), pair), PitfallEvaluation(100, pair, pair)])
            assert said.sentence.endswith(".")
            assert "nan" not in said.sentence


@nightly
def test_each_step_can_be_stopped_at():
    running = train_twins(PitfallConfig(steps=7))
    assert [look is not None for look in running] == [True, False, False, False, False, True, False, True]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"kind": "skip", "dose": 5}, "dose=5 of 'skip' is not one of 1, 2, 3, 4, 6, 8"),
        ({"dose": 3}, "dose=3 of 'mask' is not one of 0"),
        ({"steps": 0}, "steps=0"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_what_does_not_fit_is_named(values, named):
    with pytest.raises(ValueError, match=named):
        PitfallConfig(**values)


def test_a_training_to_the_end_has_all_looks():
    config = PitfallConfig(kind="positions", steps=6)
    looks = variants.train_to_the_end(config)
    assert [look.step for look in looks] == [0, 5, 6]
    assert looks == [look for look in variants.train_twins(config) if look is not None]
