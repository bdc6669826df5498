"""The device that pretends does what a GPU does, and refuses what a GPU refuses; so do the models on it."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.other_device import needs_the_cpu
from tests.pretend_device import DEVICE, NAME
from tests.small import config
from tfcore.device import device
from tfcore.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig

pytestmark = needs_the_cpu  # whose tensors must not meet those of the device

X = torch.arange(12.0).view(3, 4)
ROW = torch.ones(4)

REFUSED = {
    "adding": lambda x: x + ROW,
    "comparing": lambda x: torch.equal(x, X),
    "a matrix product": lambda x: x @ ROW,
    "a condition": lambda x: torch.where(X > 1, x, 0.0),
    "joining": lambda x: torch.cat([x, X]),
    "joining single numbers": lambda x: torch.stack([x[0, 0], torch.tensor(1.0)]),
    "rows of a table": lambda x: F.embedding(torch.tensor([0]), x),
    "gathering": lambda x: x.gather(0, torch.zeros(1, 4, dtype=torch.int64)),
    "places in a CPU tensor": lambda x: X[x[0, :2].long()],
    "writing rows": lambda x: x.index_put_((torch.tensor([0]),), ROW),
    "drawing": lambda x: torch.rand(3, device=x.device, generator=torch.Generator()),
    "drawing in place": lambda x: x.uniform_(generator=torch.Generator()),
    "choosing": lambda x: torch.multinomial(x, 1, generator=torch.Generator()),
    "a product of whole numbers": lambda x: x.long() @ x.long().T,
    "a histogram": torch.histogram,
    "numpy": lambda x: x.numpy(),
    "numpy's functions": np.asarray,
    "numpy's functions of a list": lambda x: np.array([x[0, 0]]),
}

ALLOWED = {
    "a number of the CPU": lambda x: x + torch.tensor(1.0),
    "filling with such a number": lambda x: x.masked_fill(x > 1, torch.tensor(0.0)),
    "rows named on the CPU": lambda x: x[torch.tensor([0, 2])],
    "rows marked on the CPU": lambda x: x[torch.tensor([True, False, True])],
    "writing into a part": lambda x: x.index_put((torch.tensor([0]),), torch.tensor(5.0)),
    "counting": lambda x: torch.histc(x, 4),
    "made like it": torch.zeros_like,
    "made beside it": lambda x: x.new_tensor([1.0, 2.0]) + torch.arange(2, device=x.device),
    "sorting": lambda x: x.sort(descending=True)[1],
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True),
    "singular values": lambda x: torch.linalg.svd(x)[1],
    "other types": lambda x: x.double().half().long(),
    "a gradient": lambda x: torch.autograd.functional.jacobian(lambda row: row.softmax(-1), x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(name):
    with pytest.raises((RuntimeError, TypeError)):
        REFUSED[name](X.to(NAME))


@pytest.mark.parametrize("name", ALLOWED)
def test_it_computes_what_the_cpu_computes(name):
    found, wanted = ALLOWED[name](X.to(NAME)), ALLOWED[name](X)
    assert found.device == DEVICE
    assert torch.equal(found.cpu(), wanted)


def test_single_numbers_and_lists_come_back_by_themselves():
    x = X.to(NAME)
    assert (x.tolist(), float(x[1, 1]), bool((x > 10).any())) == (X.tolist(), 5.0, True)
    assert (f"{x[1, 1]:.1f}", x.cpu().numpy().tolist()) == ("5.0", X.tolist())
    assert DEVICE.type in repr(x)


@pytest.mark.parametrize(
    ("making", "writing"),
    [
        (torch.inference_mode, torch.inference_mode),
        (torch.no_grad, torch.inference_mode),
        (torch.enable_grad, torch.inference_mode),
        (torch.enable_grad, torch.no_grad),
    ],
)
def test_a_part_is_written_to_in_every_mode(making, writing):
    with making():
        x = torch.zeros(2, 3, 4, device=NAME)
    with writing():
        x[0, :, 1:3] = 1.0
        x.select(0, 1)[0].copy_(ROW)
    assert float(x.sum()) == 10.0


def test_it_trains_as_the_cpu_does():
    def after(place):
        torch.manual_seed(0)
        net = copy.deepcopy(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.LayerNorm(4))).to(place)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(X.to(place)).square().sum().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        return [weight.detach().cpu() for weight in net.parameters()]

    for found, wanted in zip(after(NAME), after("cpu"), strict=True):
        torch.testing.assert_close(found, wanted)


def test_a_module_changes_its_type():
    net = nn.Linear(4, 4).to(NAME).double()
    assert net(X.to(NAME).double()).dtype == net.weight.cpu().dtype == torch.float64


def test_the_setting_says_where_models_go(monkeypatch):
    monkeypatch.setenv("TFCORE_DEVICE", NAME)
    assert device().type == NAME
    assert device("cpu").type == "cpu"


def test_a_seed_gives_the_same_weights_on_every_device():
    with torch.device(NAME):
        found = Transformer(config(), 3)
    wanted = Transformer(config(), 3)
    assert found.device == DEVICE
    for one, other in zip(found.parameters(), wanted.parameters(), strict=True):
        assert torch.equal(one.cpu(), other)


@torch.no_grad()
def test_a_generator_of_the_cpu_draws_the_same_noise_for_routers():
    found = []
    for place in ("cpu", NAME):
        model = Transformer(config(experts=ExpertsConfig(n_experts=4, top_k=2, d_expert=8, noise=0.5)), 0).to(place)
        for block in model.decoder.blocks:
            block.mlp.generator = torch.Generator().manual_seed(1)
        found.append(model.train()(torch.arange(9, device=place)[None]).logits.cpu())
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("window", [None, 4])
@torch.no_grad()
def test_a_cache_is_written_to(window):
    model = Transformer(config(window=window), 0).eval().to(NAME)
    ids = torch.arange(9, device=NAME)[None]
    cache = KVCache(model.config, device=model.device)
    parts = [model(part, cache=cache).logits for part in ids.split(3, dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1).cpu(), model(ids).logits.cpu())
