"""Training of sparse dictionaries: what is folded, what is kept, how dead features come back."""

import pytest
import torch
from safetensors.torch import load_file

from tests.small import difference, ids, model
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig, substitute
from tfcore.training.data import Batch
from tfcore.training.dictionaries import (
    InTraining,
    Revival,
    divergence_of,
    largest_of,
    read_and_written,
    seen,
    summed_rows,
    train_dictionaries,
)
from tfcore.training.loop import TrainingSettings

SHAPE = {"d_model": 24, "n_features": 60, "top_k": 6}
CONFIGS = [TranscoderConfig.of_mlp(0, **SHAPE), TranscoderConfig.of_stream(1, **SHAPE)]
SETTINGS = TrainingSettings(steps=30, rows=4, lr=1e-2, warmup=3, save_every=7)


def batches(step):
    rows = ids(4, 17, seed=step)
    return Batch(rows[:, :-1], rows[:, 1:])


def test_what_is_left_unexplained_shrinks_and_the_folded_weights_predict_as_well():
    steps = []
    found = train_dictionaries(model(), CONFIGS, batches, SETTINGS, report=steps.append)
    assert [one.step for one in steps] == list(range(1, 31))
    assert steps[-1].loss < 0.6 * steps[0].loss
    unexplained = []
    for one, (x, y) in zip(found, read_and_written(model(), CONFIGS, batches(99).ids), strict=True):
        assert difference(one.W_dec.norm(dim=-1), torch.ones(60)) < 1e-5
        unexplained.append(float((one(x) - y).square().sum() / (y - y.mean(0)).square().sum()))
    assert sum(unexplained) / 2 < 1.3 * steps[-1].loss  # in the units of the activations, not of the training


def test_folding_changes_units_alone():
    (x, y), _ = read_and_written(model(), CONFIGS, batches(0).ids)
    one = InTraining(CONFIGS[0])
    one.settle_(x, y)
    inside = one.dictionary((x - one.mean_read) / one.scale_read) * one.scale_written + one.mean_written
    assert difference(one.folded()(x), inside) < 1e-4
    other = InTraining(CONFIGS[0], seed=5)
    other.settle_(x, y)
    other.begin_with_(one.folded())
    assert difference(other.dictionary.W_enc, one.dictionary.W_enc) < 1e-5
    assert difference(other.losses(x, y, Revival())[2], inside) < 1e-4


def test_the_divergence_is_that_of_the_predictions_and_its_gradient_lowers_it():
    subject, config, batch = model(), CONFIGS[0], batches(99)
    output = seen(subject, CONFIGS, batch.ids)
    as_is = output.activations[config.writes].flatten(0, 1)
    assert float(divergence_of(subject, batch.ids, output, config, as_is)) == pytest.approx(0, abs=1e-6)
    given = Transcoder(config, seed=3)
    predicted = given(output.activations[config.reads].flatten(0, 1)).detach().requires_grad_()
    found = divergence_of(subject, batch.ids, output, config, predicted)
    p, q = (subject(batch.ids, edits=edits).logits.double().softmax(-1) for edits in ([], substitute([given])))
    said, (gradient,) = float(found.detach()), torch.autograd.grad(found, predicted)
    assert said == pytest.approx(float((p * (p / q).log()).sum(-1).mean().detach()), rel=1e-4)
    lower = predicted.detach() - 0.1 * gradient / gradient.norm()
    assert float(divergence_of(subject, batch.ids, output, config, lower)) < said


def test_a_second_part_begins_with_the_dictionaries_of_the_first():
    first = train_dictionaries(model(), CONFIGS, batches, SETTINGS)
    steps = []
    train_dictionaries(model(), CONFIGS, batches, SETTINGS, report=steps.append, start=first, divergences=[1.0, 1.0])
    errors = [
        float((one(x) - y).square().mean() / (y - y.mean(0)).square().mean())
        for one, (x, y) in zip(first, read_and_written(model(), CONFIGS, batches(0).ids), strict=True)
    ]
    assert steps[0].loss == pytest.approx(sum(errors) / 2, rel=1e-3)


def test_it_is_the_same_where_the_model_reads_several_steps_at_once():
    each = train_dictionaries(model(), CONFIGS, batches, SETTINGS)
    together = train_dictionaries(model(), CONFIGS, batches, SETTINGS, at_once=4)
    assert max(difference(one.W_dec, other.W_dec) for one, other in zip(each, together, strict=True)) < 1e-4


def test_positions_before_the_first_are_not_learned_from():
    config, tokens = TranscoderConfig.of_mlp(1, **SHAPE, first=3), batches(0).ids
    (x, y), (every, _) = read_and_written(model(), [config, TranscoderConfig.of_mlp(1, **SHAPE)], tokens)
    assert difference(x, every.view(4, 16, 24)[:, 3:].reshape(-1, 24)) == 0
    output = seen(model(), [config], tokens)
    assert float(divergence_of(model(), tokens, output, config, y)) == pytest.approx(0, abs=1e-6)


def test_all_features_are_looked_at_where_there_is_no_waiting():
    """The way of a GPU, whose numbers are those of the CPU's."""
    before, among = torch.randn(5, 40, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 3 == 0
    rows = torch.randn(40, 24, generator=torch.Generator().manual_seed(1))
    found = [summed_rows(rows, *largest_of(before, among, 6, waits=waits)) for waits in (True, False)]
    assert difference(*found) < 1e-5


def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path):
    whole = train_dictionaries(model(), CONFIGS, batches, SETTINGS, tmp_path / "one")

    def stop(progress):
        if progress.step == 17:
            raise KeyboardInterrupt

    try:
        train_dictionaries(model(), CONFIGS, batches, SETTINGS, tmp_path / "two", stop)
    except KeyboardInterrupt:
        assert load_file(tmp_path / "two" / "state.safetensors")
    rest = []
    found = train_dictionaries(model(), CONFIGS, batches, SETTINGS, tmp_path / "two", rest.append)
    assert rest[0].step == 15  # the state was kept after step 14
    for one, other in zip(whole, found, strict=True):
        assert difference(one.W_enc, other.W_enc) == 0


def test_dead_features_learn_what_the_others_leave_over():
    (x, y), _ = read_and_written(model(), CONFIGS, batches(0).ids)
    one = InTraining(CONFIGS[0])
    one.settle_(x, y)
    one.idle[:5] = 1_000
    with torch.no_grad():
        one.dictionary.b_enc[:5] = -1.0
    error, auxiliary, _ = one.losses(x, y, Revival(weight=0.0))
    (error + auxiliary).backward()
    without = one.dictionary.W_enc.grad[:5].clone()
    one.zero_grad()
    one.idle[:5] = 1_000
    error, auxiliary, _ = one.losses(x, y, Revival(weight=1.0))
    (error + auxiliary).backward()
    assert one.dictionary.W_enc.grad[:5].norm() > without.norm()
