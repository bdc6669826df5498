"""Training of a tuned lens: it comes nearer to the model, goes on where it stopped, and its recipe writes it."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from tests.small import difference, ids, model
from tests.training.tiny_run import write_corpus
from tfcore.measures.lenses import affine_reader, logit_reader, mean_divergences
from tfcore.training.data import Batch
from tfcore.training.loop import TrainingSettings
from tfcore.training.recipes.tuned_lens import TUNED_LENS, tuned_lens
from tfcore.training.tuned_lenses import train_tuned_lens

SETTINGS = TrainingSettings(steps=40, rows=4, lr=1e-2, warmup=3, save_every=7)


def batches(step):
    rows = ids(4, 17, seed=step)
    return Batch(rows[:, :-1], rows[:, 1:])


def test_it_starts_as_the_logit_lens_and_comes_nearer_to_the_model():
    small, steps = model(), []
    before = {name: value.clone() for name, value in small.state_dict().items()}
    lens = train_tuned_lens(small, batches, SETTINGS, report=steps.append)
    readers = {"logit": logit_reader(small), "tuned": affine_reader(small, lens)}
    _, found = mean_divergences(small, readers, batches(0).ids.tolist())
    assert steps[0].loss == pytest.approx(found["logit"][:-1].mean(), rel=1e-5)
    _, found = mean_divergences(small, readers, batches(99).ids.tolist())  # rows that it was not trained on
    assert (found["tuned"][:-1] < 0.9 * found["logit"][:-1]).all()
    assert all(torch.equal(before[name], value) for name, value in small.state_dict().items())


def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path):
    settings = replace(SETTINGS, steps=12, save_every=5)
    whole = train_tuned_lens(model(), batches, settings, tmp_path / "one")

    def stop(progress):
        if progress.step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_tuned_lens(model(), batches, settings, tmp_path / "two", stop)
    assert load_file(tmp_path / "two" / "state.safetensors")
    rest = []
    found = train_tuned_lens(model(), batches, settings, tmp_path / "two", rest.append)
    assert rest[0].step == 6  # the state was kept after step 5
    assert difference(whole.weight, found.weight) == difference(whole.bias, found.bias) == 0


def test_the_recipe_writes_a_lens_and_measures_it_on_held_out_stories(tmp_path):
    settings = replace(TUNED_LENS.settings, steps=4, rows=2, warmup=1)
    recipe = replace(TUNED_LENS, models=("stories-learned",), seq=16, settings=settings)
    said = tuned_lens(write_corpus(tmp_path / "corpus"), tmp_path / "out", lambda _: None, recipe)
    assert (tmp_path / "out" / "stories-learned" / "lens.safetensors").is_file()
    assert said["stories-learned tokens"] > 0
    assert said["stories-learned embed tuned_lens"] < said["stories-learned embed logit_lens"]
    assert list(said)[-2:] == ["stories-learned attn 1 logit_lens", "stories-learned attn 1 tuned_lens"]
