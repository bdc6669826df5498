"""Latent attention: the formulas of its paper, and a cache that keeps latents alone."""

import torch

from tests.small import WIRINGS, difference, ids, model
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.norms import rms_norm
from tfcore.positions import apply_rope, rotation_of

LATENT = WIRINGS["like DeepSeek-V3"]


def test_it_is_the_formulas_of_its_paper_head_by_head():
    """arXiv:2405.04434, eq. 9 to 19, with the norms of its published code."""
    subject = model(**LATENT, positions="rope")
    names = ("blocks.0.ln1.normalized", "blocks.0.attn.z", "blocks.0.attn.latent")
    seen = subject.activations(ids(), names)
    attn, x = subject.decoder.blocks[0].attn, seen["blocks.0.ln1.normalized"]
    rotation = rotation_of(subject.config.positions, torch.arange(13), 10)
    shared, latent = (x @ attn.kv_down.weight.T).split((4, 7), -1)
    latent = rms_norm(latent, attn.latent_norm.weight, 1e-6)
    own = rms_norm(x @ attn.q_down.weight.T, attn.q_latent_norm.weight, 1e-6)
    assert difference(seen["blocks.0.attn.latent"], latent) < 1e-6
    for head in range(subject.config.attention.n_heads):
        of_keys, of_values = attn.kv_up.weight.unflatten(0, (-1, 6 + 5))[head].split((6, 5))
        q = own @ attn.q_up.weight.unflatten(0, (-1, 10))[head].T
        q = torch.cat((apply_rope(q[..., :4], *rotation), q[..., 4:]), -1)
        k = torch.cat((apply_rope(shared, *rotation), latent @ of_keys.T), -1)
        scores = (q @ k.mT / 10**0.5).masked_fill(~torch.ones(13, 13, dtype=torch.bool).tril(), -torch.inf)
        z = scores.softmax(-1) @ (latent @ of_values.T)
        assert difference(seen["blocks.0.attn.z"][:, head], z) < 1e-5


def test_the_cache_keeps_the_latent_and_the_rotated_key_alone():
    for values in (LATENT, LATENT | {"window": 4}, LATENT | {"q_latent": None, "d_value": None}):
        subject, tokens = model(**values, positions="rope"), ids()
        cache = KVCache(subject.config, 2, device=subject.device)
        parts = [subject(part, cache=cache).logits for part in tokens.split([4, 1, 6, 1, 1], dim=1)]
        assert difference(torch.cat(parts, 1), subject(tokens).logits) < 1e-5
        kept = subject.config.max_seq_len if subject.config.window is None else 3
        assert cache.bytes == subject.config.n_layers * 2 * kept * (4 + 7) * 4


def test_edited_latents_are_what_later_tokens_read():
    subject, tokens = model(**LATENT, positions="rope"), ids()
    edit = Edit.zero("blocks.0.attn.latent", positions=[2])
    cache = KVCache(subject.config, 2, device=subject.device)
    parts = [subject(part, cache=cache, edits=[edit]).logits for part in tokens.split([4, 9], dim=1)]
    edited = subject(tokens, edits=[edit]).logits
    assert difference(torch.cat(parts, 1), edited) < 1e-5
    assert difference(edited[:, 2:], subject(tokens).logits[:, 2:]) > 0.01
