"""A step with its place in a tensor against a step that knows its place, and the same recorded on a GPU."""

import pytest
import torch

from tests import small
from tfcore import generate
from tfcore.generation.captured_steps import OneStep, can_be_captured
from tfcore.generation.sampling import Sampling
from tfcore.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.part_configs import LayerConfig, PositionsConfig

IDS, NEW = [3, 1, 4, 1, 5], 12
SHAPES = [
    {"positions": "rope", "n_kv_heads": 2},
    {"positions": "learned", "bias": True, "norm": "layernorm"},
    {"positions": "sinusoidal", "scale_embeddings": True, "embed_norm": True},
    {"positions": "none", "parallel": True},
    {"window": 40, "qk_norm": True, "tie_embeddings": False, "logit_scale": 0.5},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_step_of_tensors_gives_the_logits_of_a_step(shape):
    model = small.model(**shape)
    plain, fixed = (KVCache(model.config, capacity=len(IDS) + NEW, device=model.device) for _ in range(2))
    for cache in (plain, fixed):
        model(torch.tensor([IDS], device=model.device), cache=cache)
    step, token = OneStep(model, fixed), 7
    for _ in range(NEW):
        wanted = model(torch.tensor([[token]], device=model.device), cache=plain).logits
        step.token.fill_(token)
        step.place.fill_(fixed.length)
        assert small.difference(step(), wanted) < 2e-5
        fixed.advance(1)
        token = int(wanted.argmax())


def test_making_a_step_changes_nothing_of_what_the_cache_holds():
    model = small.model()
    cache = KVCache(model.config, capacity=len(IDS) + 1, device=model.device)
    model(torch.tensor([IDS], device=model.device), cache=cache)
    before = [store[:, :, :, : len(IDS)].clone() for store in cache._store]
    OneStep(model, cache)()  # as it is run before it is recorded
    assert all(torch.equal(store[:, :, :, : len(IDS)], was) for store, was in zip(cache._store, before, strict=True))


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ({"positions": "alibi"}, {}),
        ({"positions": "relative"}, {}),
        ({"architecture": "encoder-decoder", "start_id": 7}, {}),
        ({"window": 4}, {}),
        ({"window": 30}, {"rollback": 4}),
        ({}, {"batch": 2}),
        ({}, {}),  # not on a CPU
    ],
    ids=str,
)
def test_what_is_not_captured(shape, options):
    model = small.model(**shape).to("cuda" if (shape or options) and torch.cuda.is_available() else "cpu")
    assert not can_be_captured(model, KVCache(model.config, device=model.device, **options))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_on_a_gpu_the_same_is_written_with_and_without(shape, monkeypatch):
    model = small.model(**shape).to("cuda")
    assert can_be_captured(model, KVCache(model.config, device="cuda"))
    ways = [Sampling(temperature=0), Sampling(temperature=0.9), Sampling(temperature=0, repetition_penalty=1.4)]
    captured = [generate(model, IDS, way, max_new_tokens=20, seed=3) for way in ways]
    monkeypatch.setattr("tfcore.generation.generate.can_be_captured", lambda *_: False)
    assert captured == [generate(model, IDS, way, max_new_tokens=20, seed=3) for way in ways]


def test_layers_with_rotations_of_their_own_are_not_captured(monkeypatch):
    """A step has one rotation for all."""
    own = small.model(layers=(LayerConfig(positions=PositionsConfig(kind="none")), LayerConfig()))
    models = [(one, KVCache(one.config, device="cpu")) for one in (small.model(), own)]
    monkeypatch.setattr(Transformer, "device", torch.device("cuda"))
    assert [can_be_captured(*one) for one in models] == [True, False]
