"""Which weights decay, and the learning rate of every step."""

import math

import pytest
import torch

from tests.small import model
from tfcore.training.optim import adamw, decay_groups, warmup_cosine


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
