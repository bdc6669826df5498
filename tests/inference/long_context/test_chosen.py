"""Attention by chosen blocks: against loops over the formulas, and against full attention where all is read."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import surprisal
from tfcore.views.inference import long_context as views
from tfcore.views.inference.long_context.measure.chosen import (
    WAYS,
    BlockConfig,
    block_attention,
    block_means,
    chosen_blocks,
    head_blocks,
    heaviest_blocks,
    keys_of,
    nearest_blocks,
)
from tfcore.views.inference.long_context.say.chosen import block_change, block_loss, head_choice

IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8]
CONFIG = BlockConfig(size=4, count=2)


def vectors(model, layer):
    """Rotated queries and keys of every query head: (head, seq, d_head)."""
    names = [f"blocks.{layer}.attn.rot_{of}" for of in "qk"]
    record = model.activations(one_text(model, IDS), names)
    q, k = (record[name][0].double() for name in names)
    return q, k.repeat_interleave(len(q) // len(k), 0)


def chosen_by_loop(q, k, size, count):
    """Which blocks each query of a head reads, from the product with the mean key of each earlier block."""
    n = len(q)
    found = torch.zeros(n, -(-n // size), dtype=torch.bool)
    for query in range(n):
        own = query // size
        scores = {block: float(q[query] @ k[block * size : (block + 1) * size].mean(0)) for block in range(own)}
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: count - 1]
        found[query, [own, *best]] = True
    return found


@pytest.mark.parametrize(("size", "count"), [(4, 2), (5, 3), (1, 4), (32, 2), (4, 1)])
@pytest.mark.parametrize("wiring", [{}, {"n_kv_heads": 3}])
def test_blocks_are_those_whose_mean_key_fits_best(size, count, wiring):
    model = small.model(max_seq_len=32, **wiring)
    q, k = vectors(model, 1)
    scores = model.activations(one_text(model, IDS), ("blocks.1.attn.scores",)).popitem()[1][0]
    chosen = chosen_blocks(scores, BlockConfig(size=size, count=count))
    for head in range(len(q)):
        assert torch.equal(chosen[head].cpu(), chosen_by_loop(q[head], k[head], size, count)), head


def test_the_mean_of_scores_is_the_score_of_the_mean_key():
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(7, 3, generator=generator, dtype=torch.float64) for _ in "qk")
    means = torch.stack([k[0:3].mean(0), k[3:6].mean(0), k[6:].mean(0)])
    torch.testing.assert_close(block_means(q @ k.mT, 3), q @ means.mT)


def test_the_loss_is_that_of_a_model_whose_queries_see_no_other_keys():
    """Layer by layer: each query's softmax over the chosen keys alone, put in the place of what attention gives."""
    model, edits = small.model(max_seq_len=32), []
    for layer in range(2):
        names = [f"blocks.{layer}.attn.{part}" for part in ("rot_q", "rot_k", "v")]
        record = model.activations(one_text(model, IDS), names, edits=edits)
        q, k, v = (record[name][0] for name in names)
        z = torch.zeros_like(q)
        for head in range(len(q)):
            seen = chosen_by_loop(q[head], k[head], 4, 2).repeat_interleave(4, 1)
            for query in range(len(IDS)):
                keys = [key for key in range(query + 1) if seen[query, key]]
                weights = (q[head, query] @ k[head, keys].mT / math.sqrt(q.shape[-1])).softmax(-1)
                z[head, query] = weights @ v[head, keys]
        edits.append(Edit.replace(f"blocks.{layer}.attn.z", z))
    logits = model(one_text(model, IDS), edits=edits).logits[0]
    loss = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(IDS[1:], device=logits.device))
    result = block_attention(model, IDS, CONFIG)
    assert result.losses["chosen"] == pytest.approx(float(loss), rel=1e-5)
    assert result.losses["chosen"] != pytest.approx(result.full, rel=1e-4)


@pytest.mark.parametrize("positions", ["rope", "alibi", "learned", "none"])
def test_all_blocks_are_full_attention(positions):
    model = small.model(positions=positions, max_seq_len=32)
    result = block_attention(model, IDS, BlockConfig(size=4, count=8))
    assert result.is_whole
    assert result.pairs == 1
    assert result.full == pytest.approx(float(surprisal(model, IDS).mean()), rel=1e-5)
    assert result.losses == pytest.approx(dict.fromkeys(("chosen", "nearest"), result.full), rel=1e-5)
    assert all((result.kept[way] == 1).all() for way in WAYS)
    assert str(block_loss(result)).startswith("The text has 19 tokens, which 8 blocks of 4 hold")


def test_the_nearest_blocks_are_a_window_of_blocks():
    seen = keys_of(nearest_blocks(torch.zeros(10, 10), BlockConfig(size=3, count=2)), 3)
    for query in range(10):
        assert seen[query].nonzero().flatten().tolist() == list(range(max(0, (query // 3 - 1) * 3), query + 1))
    first = keys_of(nearest_blocks(torch.zeros(10, 10), BlockConfig(size=3, count=1, first=True)), 3)
    assert first[9].nonzero().flatten().tolist() == [0, 1, 2, 9]


def test_the_first_block_comes_besides():
    scores = torch.tensor([0.0, 0.0, 1.0, 1.0, 5.0, 5.0, 2.0, 2.0]).expand(8, 8)
    chosen = chosen_blocks(scores, BlockConfig(size=2, count=2))
    assert chosen[7].tolist() == [False, False, True, True]
    assert chosen_blocks(scores, BlockConfig(size=2, count=2, first=True))[7].tolist() == [True, False, True, True]
    assert chosen[0].tolist() == [True, False, False, False]


def test_the_heaviest_blocks_keep_most():
    model = small.model(max_seq_len=32)
    result = block_attention(model, IDS, CONFIG)
    assert (result.kept["heaviest"] >= result.kept["chosen"] - 1e-6).all()
    assert (result.kept["heaviest"] >= result.kept["nearest"] - 1e-6).all()
    pattern = model.activations(one_text(model, IDS), ("blocks.0.attn.pattern",)).popitem()[1][0]
    kept = pattern * keys_of(heaviest_blocks(pattern, CONFIG), 4)
    np.testing.assert_allclose(result.kept["heaviest"][0], kept[:, 8:].sum(-1).mean(-1).cpu(), atol=1e-6)


def test_what_is_said_is_what_the_head_keeps():
    model = small.model(max_seq_len=32)
    result = block_attention(model, IDS, CONFIG)
    layer, head = result.telling
    own = head_blocks(model, IDS, layer, head, CONFIG)
    near = keys_of(nearest_blocks(torch.zeros(19, 19), CONFIG), 4).numpy()
    gain = [own.weights[query, 1:] @ (own.seen[query, 1:].astype(float) - near[query, 1:]) for query in range(8, 19)]
    assert result.gain[layer, head] == result.gain.max() == pytest.approx(np.mean(gain), abs=1e-6)
    np.testing.assert_allclose(own.kept, (own.weights * own.seen).sum(-1), atol=1e-6)
    said = head_choice(result, own, layer, head)
    assert said.values["kept"] == pytest.approx(float(own.kept[8:].mean()), abs=1e-6)
    assert said.values["least"] == pytest.approx(float(own.kept.min()))
    changed = block_change(result)
    assert changed.values["chosen"] == pytest.approx(result.losses["chosen"] - result.full)
    causal = len(IDS) * (len(IDS) + 1) / 2
    read = sum(min(query + 1, query % 4 + 1 + 4) for query in range(len(IDS)))
    assert result.pairs == pytest.approx(read / causal)


def test_the_map_hides_what_is_not_read():
    text = "Once upon a time there was a dog. The dog had a ball and the ball was red. The dog was happy."
    shown = views.block_map("stories", text, CONFIG, 1, 2)
    hidden = np.isnan(np.array(shown.chart.data[1].z))
    assert (hidden == ~shown.result.seen).all()
    assert "Layer 1, head 2" in shown.caption
    assert "nats per token" in views.blocks("stories", text, CONFIG).caption


@pytest.mark.parametrize(("values", "said"), [({"size": 0}, "size=0"), ({"count": 0}, "count=0")])
def test_what_are_no_blocks_is_a_sentence(values, said):
    with pytest.raises(ValueError, match=said):
        BlockConfig(**values)


def test_what_cannot_be_read_is_a_sentence():
    with pytest.raises(ValueError, match="at least two tokens, this one has 1"):
        block_attention(small.model(), IDS[:1], CONFIG)
    with pytest.raises(ValueError, match="not with an encoder"):
        block_attention(small.model(architecture="encoder", head="mlm", positions="learned"), IDS, CONFIG)
