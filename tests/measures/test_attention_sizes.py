"""Scores, weights and the stream of a decoder, against a loop over its own vectors."""

import math

import pytest
import torch

from tests import small
from tfcore.measures.attention_sizes import attention_sizes

IDS = torch.randint(61, (3, 10), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("wiring", [{}, {"attn_sinks": True}, {"attn_softcap": 0.5}])
@pytest.mark.parametrize("registers", [0, 2])
def test_sizes_are_those_of_every_score_and_weight(wiring, registers):
    model = small.model(**wiring)
    ids = IDS.to(next(model.parameters()).device)
    record = model.activations(ids, ("blocks.*.attn.rot_[qk]", "blocks.1.resid_post"))
    largest, first, kept, count = [0.0] * len(ids), 0.0, 0.0, 0
    for layer in range(2):
        q, k = (record[f"blocks.{layer}.attn.rot_{of}"].double().cpu() for of in "qk")
        sinks = model.stack.blocks[layer].attn.sinks
        for row in range(len(ids)):
            for head in range(q.shape[1]):
                shared = head * k.shape[1] // q.shape[1]
                for query in range(10):
                    scores = q[row, head, query] @ k[row, shared, : query + 1].mT / math.sqrt(q.shape[-1])
                    if "attn_softcap" in wiring:
                        scores = 0.5 * torch.tanh(scores / 0.5)
                    largest[row] = max(largest[row], float(scores.abs().max()))
                    weights = scores.exp()
                    total = weights.sum() + (0 if sinks is None else sinks[head].detach().double().exp().cpu())
                    if query >= registers + (10 - registers) // 2:
                        first += float(weights[registers] / total)
                        kept += float(weights[registers:].sum() / total)
                        count += 1
    found = attention_sizes(model, ids, registers)
    assert found.score == pytest.approx(sum(largest) / len(ids), rel=1e-4)
    assert found.first == pytest.approx(first / count, rel=1e-4)
    assert found.sunk == pytest.approx(1 - kept / count, abs=1e-5)
    assert found.stream == pytest.approx(float(record["blocks.1.resid_post"].square().mean().sqrt()), rel=1e-5)
