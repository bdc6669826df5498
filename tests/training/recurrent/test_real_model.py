"""The gradient in a real model: windows of a text, medians of a curve, and what ships."""

import numpy as np
import pytest
import torch

from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig
from tfcore.training.recurrent import real_model
from tfcore.training.recurrent.real_model import RealGradient
from tfcore.views.foundations.recurrence import say


def test_windows_have_the_token_that_follows(monkeypatch):
    monkeypatch.setattr(real_model, "SEQ", 4)
    monkeypatch.setattr(real_model, "STRIDE", 2)
    assert real_model.windows_of(range(8)).tolist() == [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6]]


def test_the_gradient_is_that_of_the_loss(monkeypatch):
    """Against autograd through the embedding table, whose rows are the tokens' gradients where no token repeats."""
    monkeypatch.setattr(real_model, "SEQ", 5)
    model = Transformer(
        ModelConfig(vocab_size=9, d_model=8, n_layers=1, attention=AttentionConfig(n_heads=2), tie_embeddings=False)
    )
    found = real_model.real_gradient("tiny", model, [0, 1, 2, 3, 4, 5])
    table = model.embed.weight.requires_grad_()
    logits = model(torch.tensor([[0, 1, 2, 3, 4]])).logits[0, -1]
    norm = float((logits.detach().softmax(-1) - torch.eye(9)[5]).norm())
    (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, torch.tensor(5)), table)
    assert (found.layers, found.windows) == (1, 1)
    assert found.measured.tolist() == pytest.approx((gradient[[4, 3, 2, 1, 0]].norm(dim=-1) / norm).tolist(), rel=1e-4)


def test_medians_of_both_halves():
    said = say.real_reach(RealGradient("a model", 3, 1, np.array([9.0, 1.0, 2.0, 3.0, 5.0, 5.0, 7.0])))
    assert (said.values["near"], said.values["far"]) == (2.0, 5.0)
    assert str(said) == "In a model (3 layers): 2.00 up to 3 tokens back, 5.00 beyond (medians)."


def test_the_nearer_half_is_never_the_longer_one():
    said = say.real_reach(RealGradient("a model", 3, 1, np.array([9.0, 1.0, 2.0, 8.0, 8.0, 4.0])))
    assert [said.values[name] for name in ("half", "near", "far")] == [2, 1.5, 8.0]


def test_what_ships_is_level():
    kept = real_model.kept_real_gradient()
    assert (kept.name, kept.layers, len(kept.measured)) == ("SmolLM2", 30, real_model.SEQ)
    said = say.real_reach(kept).values
    assert 0.1 < said["far"] / said["near"] < 10
