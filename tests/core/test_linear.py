"""The matrix product of a layer: equal to torch's by either library, with its gradient, and drawn as torch draws."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.other_device import needs_the_cpu
from tfcore import onednn as module
from tfcore.linear import Embedding, Linear
from tfcore.onednn import FEW, LEAST, linear

WIDE, HIGH = 512, LEAST // 512
pytestmark = pytest.mark.skipif(not module.ONEDNN, reason="this torch comes without oneDNN")


@pytest.fixture
def products(monkeypatch):
    """How many products oneDNN has computed."""
    counted = []
    theirs = torch.ops.mkldnn._linear_pointwise

    class Counting:
        def _linear_pointwise(self, *given):
            counted.append(given[0].shape)
            return theirs(*given)

    monkeypatch.setattr(torch.ops, "mkldnn", Counting())
    return counted


@pytest.fixture(autouse=True)
def maker(monkeypatch):
    """The processor is not one of Intel's, whichever runs the tests."""
    monkeypatch.setattr(module, "INTEL", False)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@needs_the_cpu
@pytest.mark.parametrize("shape", [(WIDE,), (1, WIDE), (2, 3, WIDE), (2, 3, 4, WIDE)])
@pytest.mark.parametrize("biased", [False, True])
def test_both_libraries_give_the_same(shape, biased, products):
    x, weight, bias = random(*shape), random(HIGH, WIDE) / 16, random(HIGH) if biased else None
    found = linear(x, weight, bias)
    assert products == [x.shape]
    torch.testing.assert_close(found, F.linear(x, weight, bias), atol=1e-5, rtol=1e-5)
    every_other = random(*shape[:-1], 2 * WIDE)[..., ::2]  # not side by side in memory
    torch.testing.assert_close(
        linear(every_other, weight, bias), F.linear(every_other, weight, bias), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("x", "weight"),
    [
        (random(3, WIDE), random(HIGH - 1, WIDE)),  # small
        (random(0, WIDE), random(HIGH, WIDE)),
        (random(3, WIDE).double(), random(HIGH, WIDE).double()),
        (random(3, WIDE).bfloat16(), random(HIGH, WIDE).bfloat16()),
        (random(3, WIDE), random(WIDE, HIGH).T),  # not side by side in memory
    ],
)
def test_what_onednn_does_not_gain_at_is_torchs(x, weight, products):
    torch.testing.assert_close(linear(x, weight), F.linear(x, weight), atol=0, rtol=0)
    assert products == []


@needs_the_cpu
def test_on_processors_of_intel_few_vectors_are_mkls(products, monkeypatch):
    monkeypatch.setattr(module, "INTEL", True)
    weight = random(HIGH, WIDE)
    for shape in [(WIDE,), (1, FEW, WIDE)]:
        x = random(*shape)
        torch.testing.assert_close(linear(x, weight), F.linear(x, weight), atol=0, rtol=0)
    assert products == []
    linear(random(1, FEW + 1, WIDE), weight)
    assert products == [(1, FEW + 1, WIDE)]


def test_the_maker_of_the_processor_is_read_where_linux_says_it(monkeypatch):
    def of(text):
        monkeypatch.setattr("builtins.open", lambda *_, **__: io.StringIO(text))
        return module._made_by_intel()

    assert of("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n")
    assert not of("processor\t: 0\nvendor_id\t: AuthenticAMD\n")

    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    assert not module._made_by_intel()


@needs_the_cpu
@pytest.mark.parametrize("learned", ["x", "weight", "bias"])
@pytest.mark.parametrize("shape", [(WIDE,), (2, 3, WIDE)])
def test_the_gradient_is_torchs(learned, shape, products):
    given = {"x": random(*shape), "weight": random(HIGH, WIDE) / 16, "bias": random(HIGH)}
    given[learned].requires_grad_()

    def gradients(product):
        (first,) = torch.autograd.grad(product(**given).square().sum(), given[learned], create_graph=True)
        (even,) = torch.autograd.grad(product(**given).sum(), given[learned])  # one number, repeated without a copy
        return first, torch.autograd.grad(first.square().sum(), given[learned])[0], even

    found, expected = gradients(linear), gradients(F.linear)
    if learned == "x":  # two passes there and back, and the second gradient's own two
        assert len(products) == 6
        for ours, theirs in zip(found, expected, strict=True):  # of numbers up to 500, rounded as a processor does
            torch.testing.assert_close(ours, theirs, atol=2e-6 * float(theirs.detach().abs().max()), rtol=1e-4)
    else:
        assert products == []
        torch.testing.assert_close(found, expected, atol=0, rtol=0)
    with torch.no_grad():  # none is asked for
        linear(**given)
    assert len(products) == (7 if learned == "x" else 1)


def test_layers_are_torchs_and_draw_nothing_on_the_meta_device():
    layers = [(Linear, nn.Linear, (5, 7)), (Embedding, nn.Embedding, (5, 7))]
    for ours, theirs, given in layers:
        torch.manual_seed(0)
        mine = ours(*given).state_dict()
        torch.manual_seed(0)
        assert all(torch.equal(mine[name], weight) for name, weight in theirs(*given).state_dict().items())
        with torch.device("meta"):
            before = torch.get_rng_state()
            assert ours(*given).weight.is_meta
            assert torch.equal(torch.get_rng_state(), before)
