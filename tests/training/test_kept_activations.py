"""Activations that are kept: those of a pass, read once, and what is trained on them."""

import pytest
import torch

from tests.small import difference, ids, model
from tfcore.inspection.transcoders import TranscoderConfig
from tfcore.training import kept_activations
from tfcore.training.dictionaries import InTraining, names_of, train_on_kept
from tfcore.training.kept_activations import keep_activations, kept_pair
from tfcore.training.loop import TrainingSettings

CONFIG = TranscoderConfig.of_mlp(1, d_model=24, n_features=60, top_k=6, first=1)
SETTINGS = TrainingSettings(steps=40, rows=1, lr=1e-2, warmup=3, save_every=7)
ROWS = ids(10, 16, seed=3)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_activations, "IN_A_FILE", 4)
    keep_activations(model(), names_of([CONFIG]), ROWS, tmp_path)
    return tmp_path


def test_they_are_those_of_one_pass_in_half_precision(kept):
    plain = model()(ROWS, capture=(CONFIG.reads, CONFIG.writes)).activations
    for found, name in zip(kept_pair(kept, CONFIG), (CONFIG.reads, CONFIG.writes), strict=True):
        assert found.dtype == torch.float16
        assert difference(found.float(), plain[name][:, 1:].reshape(-1, 24)) < 4e-3


def test_what_is_there_is_not_read_again(kept):
    lost, steps = sorted(kept.glob("*.safetensors"))[1], []
    before = kept_pair(kept, CONFIG)
    lost.unlink()
    keep_activations(model(), names_of([CONFIG]), ROWS, kept, steps.append)
    assert [(one.step, one.steps) for one in steps] == [(20, 30)]
    assert all((one == other).all() for one, other in zip(before, kept_pair(kept, CONFIG), strict=True))


def test_every_vector_is_seen_once_a_pass_and_the_error_shrinks(kept, monkeypatch):
    pair, steps, seen = kept_pair(kept, CONFIG), [], []
    note_what_is_read(monkeypatch, seen)
    found = train_on_kept(CONFIG, pair, SETTINGS, report=steps.append, vectors=30)
    for first in (0, 5):
        order = torch.cat(seen[first : first + 5])
        rows = {tuple(row) for row in order.tolist()}
        assert rows == {tuple(row) for row in pair[0].float().tolist()}
    assert seen[0].tolist() != seen[5].tolist(), "each pass has an order of its own"
    assert sum(one.loss for one in steps[-5:]) < 0.6 * sum(one.loss for one in steps[:5])
    read, wanted = (one.float() for one in pair)
    unexplained = (found(read) - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    assert unexplained < 1.3 * steps[-1].loss  # in the units of the activations, not of the training


def note_what_is_read(monkeypatch, seen):
    """Note what the dictionary is given each step."""
    plain = InTraining.losses

    def noted(self, x, y, revival):
        seen.append(x)
        return plain(self, x, y, revival)

    monkeypatch.setattr(InTraining, "losses", noted)


def test_a_stopped_run_goes_on_to_the_same_weights(kept, tmp_path):
    pair = kept_pair(kept, CONFIG)
    whole = train_on_kept(CONFIG, pair, SETTINGS, vectors=30)

    def stop(progress):
        if progress.step == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_on_kept(CONFIG, pair, SETTINGS, tmp_path / "run", stop, vectors=30)
    again = train_on_kept(CONFIG, pair, SETTINGS, tmp_path / "run", vectors=30)
    assert difference(whole.W_enc, again.W_enc) == 0
