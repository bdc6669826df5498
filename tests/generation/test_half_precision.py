"""Which models write text in bfloat16, and that they write about the same."""

import gc

import pytest
import torch

from tests import small
from tfcore.generation import half_precision
from tfcore.generation.generate import generate
from tfcore.generation.half_precision import HALF_FROM, copied_bytes, for_writing, half_is_faster
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("place", "parameters", "capability", "wanted"),
    [
        (GPU, HALF_FROM, (8, 0), True),
        (GPU, 8 * HALF_FROM, (9, 0), True),
        (GPU, HALF_FROM - 1, (9, 0), False),
        (GPU, HALF_FROM, (7, 5), False),
        (torch.device("mps"), HALF_FROM, (9, 0), False),
        (CPU, HALF_FROM, (9, 0), False),
    ],
)
def test_half_precision_is_for_large_models_on_gpus_that_have_it(monkeypatch, place, parameters, capability, wanted):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert half_is_faster(place, parameters) is wanted
    assert copied_bytes(place, parameters) == (2 * parameters if wanted else 0)


def test_elsewhere_the_model_itself_writes():
    model = small.model()
    assert for_writing(model) is model


def test_the_copy_is_made_once_and_goes_with_its_model(monkeypatch):
    monkeypatch.setattr(half_precision, "half_is_faster", lambda *_: True)
    model = small.model()
    half = for_writing(model)
    assert half.dtype == torch.bfloat16
    assert model.dtype == torch.float32
    assert for_writing(model) is half is for_writing(half)
    before = len(half_precision._copies)
    del model
    gc.collect()
    assert len(half_precision._copies) == before - 1


def test_what_it_writes_is_as_probable_to_the_model(monkeypatch):
    monkeypatch.setattr(half_precision, "half_is_faster", lambda *_: True)
    model, tokenizer = load("stories", device="cpu")
    ids = tokenizer.encode("Once upon a time there was a little")
    text = generate(for_writing(model), ids, Sampling(temperature=0), max_new_tokens=12)
    logits = [one(torch.tensor([ids + text])).logits[0].float() for one in (model, for_writing(model))]
    assert float((logits[0] - logits[1]).abs().max()) < 0.5  # bfloat16 has 8 bits, of logits up to 30
    best = logits[0][len(ids) - 1 : -1].softmax(-1)
    assert float((best.amax(-1) - best.gather(-1, torch.tensor(text)[:, None])[:, 0]).max()) < 0.05


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_on_a_gpu_the_copy_says_what_the_model_says():
    model, tokenizer = load("stories", device="cuda")
    ids = torch.tensor([tokenizer.encode("Once upon a time there was a little girl named Lily.")], device="cuda")
    plain, half = model(ids).logits, model.to(torch.bfloat16)(ids).logits.float()
    assert float((plain - half).abs().max()) < 0.5
