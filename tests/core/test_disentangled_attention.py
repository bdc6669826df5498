"""Disentangled attention: the formulas of its paper, and the numbers of relative positions."""

import math

import pytest
import torch

from tests.parity.comparing import padding
from tests.small import ALL_PATTERNS, DEBERTA, difference, ids, model
from tfcore.positions import disentangled_bucket

KINDS = {
    "both": {},
    "shared": {"relative_shared": True},
    "content to position": {"relative_products": "c2p", "relative_linear": True},
    "position to content": {"relative_products": "p2c", "relative_absolute": True, "relative_normed": False},
}


def place(behind, n_buckets, distance, linear):
    """The number of one relative position: arXiv:2006.03654, eq. 3, or the logarithmic scale of v2's code."""
    half, far = n_buckets // 2, abs(behind)
    if not linear and far > half // 2:
        exact = half // 2
        steps = math.log(far / exact) / math.log((distance - 1) / exact) * (exact - 1)
        behind = math.copysign(exact + math.ceil(round(steps, 5)), behind)
    return int(min(max(half + behind, 0), n_buckets - 1))


@pytest.mark.parametrize(("n_buckets", "distance"), [(12, 9), (10, 30), (4, 3), (32, 128)])
@pytest.mark.parametrize("linear", [True, False])
def test_numbers_of_relative_positions_one_by_one(n_buckets, distance, linear):
    query, key = torch.arange(3, 40), torch.arange(45)
    found = disentangled_bucket(query, key, n_buckets, distance, linear)
    assert found.tolist() == [[place(i - j, n_buckets, distance, linear) for j in range(45)] for i in range(3, 40)]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_formula_of_its_paper_pair_by_pair(kind):
    """arXiv:2006.03654, eq. 4: each score is a sum of up to three products."""
    subject = model(**(DEBERTA | KINDS[kind]))
    seen = subject.activations(ids(1), ("blocks.0.attn.q", "blocks.0.attn.k", "blocks.0.attn.scores"))
    (q,), (k,), (scores,) = seen.values()
    positions, stack = subject.config.positions, subject.encoder
    attn, vectors = stack.blocks[0].attn, stack.relative_norm(stack.relative_embed.weight)
    if positions.shared:
        place_q, place_k, _ = attn.qkv(vectors).split(24, -1)
    else:
        place_q = attn.place_q(vectors) if positions.has_p2c else None
        place_k = attn.place_k(vectors) if positions.has_c2p else None
    products = 1 + (positions.products == "both") + 1
    for head in range(6):
        own = slice(4 * head, 4 * head + 4)
        for i in range(13):
            for j in range(13):
                r = place(i - j, 12, 9, positions.linear)
                score = q[head, i] @ k[head, j]
                score += q[head, i] @ place_k[r, own] if positions.has_c2p else 0
                score += k[head, j] @ place_q[r, own] if positions.has_p2c else 0
                assert abs(score / math.sqrt(4 * products) - scores[head, i, j]) < 1e-4


@pytest.mark.parametrize("pad", [0, 4, -3], ids=["none", "right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_fused_kernel_and_the_steps_in_sight_agree(kind, pad):
    subject, real = model(**(DEBERTA | KINDS[kind])), padding(pad)
    fused = subject(ids(), padding_mask=real)
    explicit = subject(ids(), padding_mask=real, capture=ALL_PATTERNS)
    assert difference(fused.logits, explicit.logits) < 1e-5


def test_padding_before_a_text_changes_nothing():
    subject, tokens = model(**DEBERTA), ids(1)
    padded = subject(tokens, padding_mask=torch.arange(13)[None] >= 5).logits
    assert difference(padded[0, 5:], subject(tokens[:, 5:]).logits[0]) < 1e-5


def test_gradients_reach_the_vectors_of_relative_positions():
    subject = model(**DEBERTA).requires_grad_(True)
    subject(ids()).logits.sum().backward()
    slopes = [subject.encoder.relative_embed.weight.grad, subject.encoder.blocks[1].attn.place_q.weight.grad]
    assert all(slope.abs().sum() > 0 for slope in slopes)
