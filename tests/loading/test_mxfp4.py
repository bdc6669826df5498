"""Weights in MXFP4: the numbers that transformers makes of them, the same model, and what is refused."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from tests.parity.checkpoints import DECODERS, written
from tests.small import assert_load_refuses, difference, ids
from tfcore import load
from tfcore.loading.mxfp4 import dequantised

GPT_OSS, SETTINGS = DECODERS["gpt-oss"]
WIDE = SETTINGS | {"hidden_size": 64, "intermediate_size": 96}  # whole blocks of 32
WEIGHTS = ("gate_up_proj", "down_proj")


def packed(*shape, seed=0):
    """Random blocks, and scales of 1/16 to 1/2."""
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(0, 256, (*shape, 16), dtype=torch.uint8, generator=generator)
    return blocks, torch.randint(123, 127, shape, dtype=torch.uint8, generator=generator)


def pack(folder):
    """The experts of a checkpoint replaced by random ones in MXFP4; what transformers reads in them."""
    weights, dense = load_file(folder / "model.safetensors"), {}
    for name in [name for name in weights if name.endswith(WEIGHTS)]:
        experts, width, out = weights[name].shape
        blocks, scales = packed(experts, out, width // 32, seed=len(dense))
        dense[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32).contiguous()
        weights |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
        del weights[name]
    save_file(weights, folder / "model.safetensors")
    settings = json.loads((folder / "config.json").read_text())
    settings["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    (folder / "config.json").write_text(json.dumps(settings))
    return dense


def test_the_numbers_are_those_of_transformers():
    blocks, scales = packed(3, 10, 4)
    scales.flatten()[:5] = torch.tensor([0, 1, 60, 200, 252], dtype=torch.uint8)
    theirs = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)  # (expert, in, out)
    assert torch.equal(dequantised(blocks, scales).float(), theirs.mT)
    assert dequantised(blocks, torch.full_like(scales, 255)).isnan().all()


def test_a_model_in_it_is_the_model_of_these_numbers(tmp_path):
    theirs = written(GPT_OSS, WIDE, tmp_path)
    dense = pack(tmp_path)
    theirs.load_state_dict(dense, strict=False)
    ours, _ = load(tmp_path, device="cpu")
    logits = theirs(ids(2, 13)).logits
    assert difference(ours(ids(2, 13)).logits, logits) < 1e-4 * float(logits.abs().max())
    experts = ours.decoder.blocks[1].mlp.up  # gates, then what they gate
    gate_up = dense["model.layers.1.mlp.experts.gate_up_proj"].mT
    assert torch.equal(experts, torch.cat((gate_up[:, ::2], gate_up[:, 1::2]), 1))


DAMAGES = {
    "no scales": (lambda w, n: w.pop(f"{n}_scales"), "lacks layers.0.mlp.experts.gate_up_proj"),
    "scales of another shape": (
        lambda w, n: w.update({f"{n}_scales": w[f"{n}_scales"][:, 1:].clone()}),
        "lacks layers.0.mlp.experts.gate_up_proj",
    ),
    "a scale that is no number": (
        lambda w, n: w[f"{n}_scales"].flatten()[:1].fill_(255),
        "numbers that are not finite",
    ),
    "a scale that is too large": (lambda w, n: w[f"{n}_scales"].fill_(254), "numbers that are not finite"),
    "the weight besides": (
        lambda w, n: w.update({n: torch.zeros(5, 64, 192)}),
        "holds layers.0.mlp.experts.gate_up_proj_blocks, which a model of its config does not have",
    ),
}


@pytest.mark.parametrize(("change", "message"), DAMAGES.values(), ids=list(DAMAGES))
def test_what_is_damaged_is_refused(tmp_path, change, message):
    written(GPT_OSS, WIDE, tmp_path)
    pack(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    change(weights, "model.layers.0.mlp.experts.gate_up_proj")
    save_file(weights, tmp_path / "model.safetensors")
    assert_load_refuses(tmp_path, message)


@pytest.mark.parametrize("method", ["mxfp4", "gptq", None])
def test_another_way_of_storing_them_is_refused_and_so_is_this_in_other_families(tmp_path, method):
    written(*DECODERS["llama" if method == "mxfp4" else "gpt-oss"], tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"quantization_config": {"quant_method": method}}))
    assert_load_refuses(tmp_path, "quantization_config=")
