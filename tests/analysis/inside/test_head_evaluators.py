"""Prefix matching and copying scores against loops that follow the definitions word by word."""

import numpy as np
import pytest
import torch

from tests import small
from tests.analysis.foundations.test_heads import wired
from tfcore.analysis.inside.induction_heads import copying_score, evaluate_heads, random_rows


def test_prefix_matching_is_the_weight_on_what_followed_earlier_copies():
    model = small.model(max_seq_len=32)  # room for 8 tokens, four times
    found = evaluate_heads(model, seed=4, examples=2)
    total = []
    for row in random_rows(61, 8, 2, 4):
        ids = row.repeat(4)
        pattern = model(ids[None], capture=("blocks.1.attn.pattern",)).activations["blocks.1.attn.pattern"][0, 2]
        total += [  # from the second copy on, all earlier copies together
            sum(float(pattern[q, k]) for k in range(1, q + 1) if ids[k - 1] == ids[q] and k - 1 < q)
            for q in range(8, 32)
        ]
    assert found.prefix[1, 2] == pytest.approx(np.mean(total), abs=1e-6)


def test_copying_raises_the_logit_of_the_token_looked_at():
    model = small.model(n_kv_heads=3, tie_embeddings=False)
    found = evaluate_heads(model, seed=1, examples=1)
    ids = random_rows(61, 8, 1, 1)
    layer, head = 1, 5
    attn, d = model.decoder.blocks[layer].attn, 4
    v = model(ids, capture=("blocks.1.attn.v",)).activations["blocks.1.attn.v"][0, head // 2]
    shares = []
    for i in range(8):
        written = attn.out.weight[:, head * d : (head + 1) * d] @ v[i] * model.decoder.ln_final.weight
        logits = model.unembed.weight @ written
        raised = (logits - logits.mean()).clamp(min=0)
        shares.append(float(raised[ids[0, i]] / raised[ids[0]].sum()))
    assert found.copying[layer, head] == pytest.approx(2 * np.mean(shares) - 1, abs=1e-5)


def test_the_ends_of_the_copying_score():
    own = torch.eye(5)[:, None].expand(5, 2, 5)
    assert copying_score(own).tolist() == pytest.approx([1, 1])
    assert copying_score(1 - own).tolist() == pytest.approx([-1, -1])
    assert copying_score(torch.ones(5, 1, 5)).tolist() == pytest.approx([2 / 5 - 1])
    assert copying_score(torch.zeros(5, 1, 5)).tolist() == [-1]


def test_a_circuit_wired_by_hand_finds_and_copies():
    found = evaluate_heads(wired(), examples=2)
    assert found.prefix[1, 0] > 0.8
    assert found.copying[1, 0] > 0.9
    assert found.prefix[0, 0] < 0.1
