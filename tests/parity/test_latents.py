"""What latent attention caches, and keys and values made of it, against those of `transformers`."""

import pytest
import torch
from transformers import DynamicCache

from tests.parity.checkpoints import DECODERS, written
from tests.small import difference
from tfcore import load
from tfcore.views.model.latents.measure import own_vectors

IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 58, 9]


@pytest.mark.parametrize("name", ["deepseek v3", "deepseek v3, biases, sharper, not to 1"])
def test_latent_and_rotated_key_are_theirs_and_rebuild_their_keys_and_values(tmp_path, name):
    theirs = written(*DECODERS[name], tmp_path)
    cache = DynamicCache(config=theirs.config)
    with torch.no_grad():
        theirs(torch.tensor([IDS]), past_key_values=cache)
    model, _ = load(tmp_path, device="cpu")
    for layer, block in enumerate(theirs.model.layers):
        found = own_vectors(model, IDS, layer)
        latent, rotated = cache.layers[layer].keys, cache.layers[layer].values
        assert difference(torch.from_numpy(found.latent), latent[0, 0]) < 1e-5
        assert difference(torch.from_numpy(found.rotated), rotated[0, 0]) < 1e-5
        keys, values = block.self_attn.expand_kv(latent, rotated)
        keys = torch.cat((keys[..., -rotated.shape[-1] :], keys[..., : -rotated.shape[-1]]), -1)  # ours come first
        rebuilt = torch.from_numpy(found.rebuilt).split((found.n_keys, found.rebuilt.shape[1] - found.n_keys), 1)
        for ours, expected in zip(rebuilt, (keys, values), strict=True):
            assert difference(ours, expected[0].transpose(0, 1).flatten(1)) < 1e-5
        assert found.bytes[0] == latent.nbytes + rotated.nbytes
