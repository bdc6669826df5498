"""The recipe of the induction model, in small: it leaves a model and a film, and goes on where it was stopped."""

from dataclasses import replace

import pytest
import torch

from tfcore.loading.checkpoint_history import load_history
from tfcore.loading.checkpoints import load
from tfcore.training.recipes.induction import INDUCTION, induction

SMALL = replace(
    INDUCTION,
    model=INDUCTION.model.changed(vocab_size=256, d_model=16, n_heads=2, d_head=8, max_seq_len=32),
    settings=replace(INDUCTION.settings, steps=6, rows=4, warmup=2, evaluate_every=2, save_every=2),
    frames=(0, 2, 6),
    seq=24,
)


class StoppedError(Exception):
    pass


def test_it_leaves_a_model_and_a_film(tmp_path):
    found = induction(None, tmp_path, lambda _: None, SMALL)
    model, tokenizer = load(tmp_path, device="cpu")
    assert tokenizer.decode(tokenizer.encode("zab")) == "zab"
    film = load_history(tmp_path)
    assert film.steps == (0, 2, 6)
    assert film.measures[-1]["second_loss"] == found["second_loss"]
    last = film.model(2).state_dict()
    assert all(torch.equal(last[name], value) for name, value in model.state_dict().items())
    assert not torch.equal(film.model(0).embed.weight, film.model(1).embed.weight)


def test_a_stopped_run_leaves_the_same_film(tmp_path):
    def stop(progress):
        if progress.step == 5:
            raise StoppedError

    induction(None, tmp_path / "whole", lambda _: None, SMALL)
    with pytest.raises(StoppedError):
        induction(None, tmp_path / "stopped", stop, SMALL)
    induction(None, tmp_path / "stopped", lambda _: None, SMALL)
    whole, stopped = load_history(tmp_path / "whole"), load_history(tmp_path / "stopped")
    assert whole.measures == stopped.measures
    assert all(torch.equal(whole.weights[name], stopped.weights[name]) for name in whole.weights)
