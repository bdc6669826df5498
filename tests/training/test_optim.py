"""Which weights decay, and the learning rate of every step."""

import math

import pytest
import torch
from torch import nn

from tests.small import model
from tfcore.training.optim import adamw, decay_groups, muon, warmup_cosine


def test_matrices_decay_and_vectors_and_embeddings_do_not():
    subject = model(positions="learned", norm="layernorm", bias=True, tie_embeddings=False)
    decay, rest = decay_groups(subject, 0.1)
    assert (decay["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)
    names = {id(parameter): name for name, parameter in subject.named_parameters()}
    decaying, resting = ({names[id(p)] for p in group["params"]} for group in (decay, rest))
    assert decaying | resting == set(names.values())
    assert not decaying & resting
    assert decaying == {"unembed.weight"} | {
        f"decoder.blocks.{i}.{part}.weight" for i in range(2) for part in ("attn.qkv", "attn.out", "mlp.up", "mlp.down")
    }


def test_a_tied_table_does_not_decay():
    decay, rest = decay_groups(subject := model(), 0.1)
    assert any(p is subject.embed.weight for p in rest["params"])
    assert not any(p is subject.embed.weight for p in decay["params"])


def test_decay_moves_only_what_decays():
    subject = model().requires_grad_(True)
    optimizer = adamw(subject, 0.1, (0.9, 0.95), 0.5)
    before = {name: p.detach().clone() for name, p in subject.named_parameters()}
    for parameter in subject.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for name, parameter in subject.named_parameters():
        factor = 0.95 if parameter.ndim == 2 and "embed" not in name else 1.0
        torch.testing.assert_close(parameter.detach(), before[name] * factor)


# ---- Muon ----

BLOCKS = {"a.blocks.0.tall": (24, 8), "a.blocks.0.wide": (8, 24), "a.blocks.1.square": (16, 16)}


class _Some(nn.Module):
    """Matrices of blocks, and parameters that are none."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.a = nn.Module()
        self.a.blocks = nn.ModuleList([nn.Module(), nn.Module()])
        for name, shape in BLOCKS.items():
            _, _, i, own = name.split(".")
            setattr(self.a.blocks[int(i)], own, nn.Parameter(torch.randn(shape, generator=generator)))
        self.a.blocks[0].gain = nn.Parameter(torch.ones(8))
        self.embed = nn.Embedding(5, 8)
        self.unembed = nn.Linear(8, 5, bias=False)


def _gradients(subject, step):
    generator = torch.Generator().manual_seed(100 + step)
    return {name: torch.randn(p.shape, generator=generator) for name, p in subject.named_parameters()}


def _stepped(subject, optimizer, steps):
    for step in range(steps):
        for name, gradient in _gradients(subject, step).items():
            subject.get_parameter(name).grad = gradient
        optimizer.step()
    return {name: p.detach().clone() for name, p in subject.named_parameters()}


def _orthogonal(update):
    """Five steps of X <- a X + (b X X^T + c (X X^T)^2) X, as the singular values see them: a s + b s^3 + c s^5."""
    u, s, v = torch.linalg.svd(update.double(), full_matrices=False)
    s = s / s.square().sum().sqrt()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return u @ s.diag() @ v


def test_muon_steps_as_a_loop_over_its_formula():
    """Against singular values in float64; the optimiser's own products are in bfloat16."""
    lr, decay = 0.02, 0.1
    subject = _Some()
    expected = {name: subject.get_parameter(name).detach().double() for name in BLOCKS}
    held = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in BLOCKS.items()}
    for step in range(3):
        for name, shape in BLOCKS.items():
            gradient = _gradients(subject, step)[name].double()
            held[name] = 0.95 * held[name] + gradient
            moved = 0.2 * max(shape) ** 0.5 * _orthogonal(gradient + 0.95 * held[name])  # Nesterov's
            expected[name] = (1 - lr * decay) * expected[name] - lr * moved
    after = _stepped(subject, muon(subject, lr, (0.9, 0.95), decay), 3)
    for name in BLOCKS:
        torch.testing.assert_close(after[name].double(), expected[name], atol=2e-3, rtol=0)


def test_what_is_no_matrix_of_a_block_is_adamws():
    subject, other = _Some(), _Some()
    other.load_state_dict(subject.state_dict())
    ours, theirs = muon(subject, 0.02, (0.9, 0.95), 0.1), adamw(other, 0.02, (0.9, 0.95), 0.1)
    after, plain = _stepped(subject, ours, 3), _stepped(other, theirs, 3)
    for name in after:
        assert (name in BLOCKS) != torch.equal(after[name], plain[name]), name


def test_the_singular_values_of_a_step_come_near_one_and_its_singular_vectors_stay():
    subject = _Some()
    before = {name: p.detach().clone() for name, p in subject.named_parameters()}
    after = _stepped(subject, muon(subject, 1.0, (0.9, 0.95), 0.0), 1)
    for name, shape in BLOCKS.items():
        moved = (before[name] - after[name]) / (0.2 * max(shape) ** 0.5)
        u, _, v = torch.linalg.svd(_gradients(subject, 0)[name], full_matrices=False)
        across = u.mT @ moved @ v.mT
        values = across.diagonal()
        assert ((values > 0.65) & (values < 1.25)).all(), name
        assert (across - values.diag()).abs().max() < 0.05, name
        assert moved.square().mean().sqrt() == pytest.approx(max(shape) ** -0.5, rel=0.2)


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.1), (4, 0.5), (9, 1.0), (10, 1.0), (60, 0.55), (110, 0.1), (500, 0.1)]
)
def test_the_rate_warms_up_in_a_line_and_falls_in_half_a_cosine(step, expected):
    assert warmup_cosine(step, 110, 10, 1.0, 0.1) == pytest.approx(expected)


def test_a_quarter_of_the_way_is_the_cosine():
    assert warmup_cosine(25, 100, 0, 1.0, 0.0) == pytest.approx(0.5 + math.sqrt(0.5) / 2)


def test_a_run_shorter_than_its_warm_up_never_divides_by_nothing():
    assert [warmup_cosine(step, 3, 5, 1.0, 0.0) for step in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert warmup_cosine(0, 1, 0, 1.0, 0.0) == 1.0
