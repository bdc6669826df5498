"""Training of sparse dictionaries: what is folded, what is kept, how dead features come back."""

import torch
from safetensors.torch import load_file

from tests.small import difference, ids, model
from tfcore.inspection.transcoders import TranscoderConfig, substitute
from tfcore.training.data import Batch
from tfcore.training.dictionaries import InTraining, Revival, read_and_written, train_dictionaries
from tfcore.training.loop import Settings

SHAPE = {"d_model": 24, "n_features": 60, "top_k": 6}
CONFIGS = [TranscoderConfig.of_mlp(0, **SHAPE), TranscoderConfig.of_stream(1, **SHAPE)]
SETTINGS = Settings(steps=30, rows=4, lr=1e-2, warmup=3, save_every=7)


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


def test_the_second_part_of_the_training_lowers_the_divergence_of_the_models_predictions():
    subject, one = model(), CONFIGS[:1]
    first = train_dictionaries(subject, one, batches, SETTINGS)
    with_it = train_dictionaries(subject, one, batches, SETTINGS, start=first, divergence=300.0)
    without = train_dictionaries(subject, one, batches, SETTINGS, start=first)

    def divergence(found):
        rows = batches(99).ids
        p, q = (subject(rows, edits=edits).logits.double().softmax(-1) for edits in ([], substitute(found)))
        return float((p * (p / q).log()).sum(-1).mean())

    assert divergence(with_it) < 0.97 * divergence(without)


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
