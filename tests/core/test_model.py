"""The whole model: batches, precisions, seeds, and what it says to input that does not fit."""

import math
import re

import pytest
import torch

from tests.other_device import needs_the_cpu
from tests.small import ALL_PATTERNS, difference, ids, kinds, model
from tfcore.input_checks import check_inputs
from tfcore.model import Transformer


def test_batched_is_single():
    for kind in kinds():
        subject = model(**kind)
        single = torch.cat([subject(row[None]).logits for row in ids(3)])
        assert difference(subject(ids(3)).logits, single) < 1e-5, kind


def test_padding_after_a_text_changes_nothing_in_it():
    for kind in kinds():
        subject, tokens = model(**kind), ids(2)
        real = torch.arange(13).expand(2, 13) < torch.tensor([[13], [8]])
        padded = subject(tokens, padding_mask=real).logits
        assert difference(padded[1, :8], subject(tokens[1:, :8]).logits[0]) < 1e-5, kind
        assert padded.isfinite().all()


def test_logits_of_the_last_positions_alone():
    for kind in kinds():
        subject = model(**kind)
        whole = subject(ids())
        for kept in (0, 1, 4, 99):
            some = subject(ids(), logits_to_keep=kept)
            torch.testing.assert_close(some.logits, whole.logits[:, max(0, 13 - kept) :], atol=1e-5, rtol=0)
            assert torch.equal(some.hidden, whole.hidden)


@pytest.mark.parametrize("positions", ["rope", "alibi", "none"])
def test_padding_before_a_text_changes_nothing_where_positions_are_relative(positions):
    subject, tokens = model(positions=positions), ids(1)
    real = torch.arange(13)[None] >= 5
    padded = subject(tokens, padding_mask=real).logits
    assert difference(padded[0, 5:], subject(tokens[:, 5:]).logits[0]) < 1e-5


def test_single_precision_is_close_to_double():
    for kind in kinds(n_kv_heads=(6, 2), norm_placement=("pre", "post")):
        single, double = model(**kind), model(**kind).double()
        out, exact = single(ids(), capture=ALL_PATTERNS), double(ids(), capture=ALL_PATTERNS)
        assert difference(out.logits.double(), exact.logits) < 1e-4, kind
        for name, pattern in out.activations.items():
            assert difference(pattern.double(), exact.activations[name]) < 1e-5, kind


def test_the_same_seed_gives_the_same_weights_whatever_ran_before():
    before = torch.get_rng_state()
    first = model(seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), before)  # torch's global generator is left alone
    torch.manual_seed(99)
    second, other = model(seed=3).state_dict(), model(seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["embed.weight"], other["embed.weight"])


@pytest.mark.parametrize("init", ["gpt2", "normal", "xavier"])
def test_weights_start_as_their_scheme_says(init):
    subject = Transformer(model(d_model=96, n_layers=8, init=init, init_std=0.05, bias=True, norm="layernorm").config)
    for name, weight in subject.named_parameters():
        if name.endswith("bias"):
            assert weight.count_nonzero() == 0, name
        elif weight.ndim == 1:
            assert torch.equal(weight, torch.ones_like(weight)), name
        else:
            expected = 0.05
            if init == "xavier" and "embed" not in name:
                expected = math.sqrt(2 / sum(weight.shape))
            elif init == "gpt2" and name.endswith(("attn.out.weight", "mlp.down.weight")):
                expected = 0.05 / 4  # sqrt(2 * 8)
            assert float(weight.detach().std()) == pytest.approx(expected, rel=0.06), name


def test_tied_embeddings_are_one_matrix_and_scaled_ones_are_longer():
    assert "unembed.weight" not in model().state_dict()
    assert "unembed.weight" in model(tie_embeddings=False).state_dict()
    plain, scaled = (model(scale_embeddings=s)(ids(), capture="embed").activations["embed"] for s in (False, True))
    assert difference(scaled, plain * math.sqrt(24)) < 1e-5


def test_dropout_acts_in_training_only():
    subject = model(dropout=0.5)
    assert torch.equal(subject(ids()).logits, subject(ids()).logits)
    subject.train()
    assert not torch.equal(subject(ids()).logits, subject(ids()).logits)


def test_gradients_reach_every_weight():
    for kind in kinds(n_kv_heads=(3,), norm_placement=("pre", "post"), tie_embeddings=(True, False)):
        subject = model(**kind).requires_grad_(True)
        for capture in ((), ALL_PATTERNS):
            subject.zero_grad()
            subject(ids(), capture=capture).logits.square().mean().backward()
            assert all(p.grad is not None and p.grad.abs().max() > 0 for p in subject.parameters()), kind


REFUSED = {
    "there is no token to compute on; give at least one id": (torch.zeros(1, 0, dtype=torch.int64), {}),
    "33 tokens are more than max_seq_len=32; give fewer": (ids(1, 33), {}),
    "ids from 0 to 61 do not fit a vocabulary of 61": (torch.tensor([[0, 61]]), {}),
    "ids from -1 to 3 do not fit a vocabulary of 61": (torch.tensor([[3, -1]]), {}),
    "mask (12, 12) must be (query, key) = (13, 13), or one of these for each of 2 layers": (
        ids(),
        {"mask": torch.ones(12, 12, dtype=torch.bool)},
    ),
    "a row of the mask is empty: each token must see at least one, for example itself": (
        ids(),
        {"mask": torch.ones(13, 13, dtype=torch.bool).tril(-1)},
    ),
}


@pytest.mark.parametrize(
    ("message", "given"),
    [
        pytest.param(*one, marks=[needs_the_cpu] if "vocabulary" in one[0] else [], id=one[0])  # not read back there
        for one in REFUSED.items()
    ],
)
def test_input_that_does_not_fit_is_refused_in_a_sentence(message, given):
    tokens, options = given
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model()(tokens, **options)


@pytest.mark.usefixtures("unchecked")  # the shapes checked in tests would speak first
def test_padding_of_another_shape_is_refused():
    padding = torch.ones(2, 12, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"^padding_mask \(2, 12\) must have the shape of ids \(2, 13\)$"):
        check_inputs(model().config, ids(), padding_mask=padding)


def test_a_mask_and_padding_that_leave_a_token_nothing_are_refused():
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = torch.tensor([False, False, True])
    real = torch.tensor([[True, True, False]])
    with pytest.raises(ValueError, match="mask and padding_mask leave a token nothing to see"):
        model()(ids(1, 3), mask=mask, padding_mask=real)
