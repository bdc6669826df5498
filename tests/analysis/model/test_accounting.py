"""What accounting computes from a config is what the built model has, does and keeps."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from tests.small import config, ids
from tests.valid import configs
from tfcore.analysis.model.accounting import flops, memory, parameters
from tfcore.analysis.model.flop_count import visible_pairs
from tfcore.analysis.model.parameter_count import layers
from tfcore.generation.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig
from tfcore.presets import gpt2_small, llama_7b

EXPERTS = ExpertsConfig(n_experts=5, top_k=2, d_expert=8, n_shared=3)
CLASSIC = {"norm": "layernorm", "activation": "gelu", "bias": True, "positions": "learned", "max_seq_len": 128}
BERT = {"architecture": "encoder", "head": "mlm", "n_segments": 2, "pooler": True}
TWO = {"architecture": "encoder-decoder", "n_encoder_layers": 3}

EXPLICIT = ("*attn.pattern",)  # captured, so that attention is not fused: torch does not count the CPU's fused kernel

PLACES = {  # part of a parameter's name -> component; the first that fits
    "mlm.": "mlm head",
    "pooler.": "pooler",
    "unembed.": "unembedding",
    "segment_embed.": "segments",
    "pos_embed.": "positions",
    "relative_bias.": "positions",
    "_norm.": "norms",
    "ln": "norms",
    "cross_attn.": "cross-attention",
    "attn.": "attention",
    "mlp.router": "router",
    "mlp.shared": "shared experts",
    "embed.": "token embedding",
}


def component(name, config):
    for part, found in PLACES.items():
        if part in name:
            return found
    index = int(name.split("blocks.")[1].split(".")[0])
    return "experts" if config.experts is not None and index >= config.experts.dense_layers else "feed-forward"


@given(configs())
def test_the_built_model_has_as_many_parameters_in_the_same_places(chosen):
    with torch.device("meta"):
        model = Transformer(chosen)
    built, blocks = Counter(), Counter()
    for name, parameter in model.named_parameters():
        built[component(name, chosen)] += parameter.numel()
        if "blocks." in name:
            stack, _, index, *_ = name.split(".")
            prefix = f"{stack}." if chosen.architecture == "encoder-decoder" else ""
            blocks[f"{prefix}blocks.{index}"] += parameter.numel()
    count = parameters(chosen)
    assert count.by_component == dict(built)
    assert count.total == sum(parameter.numel() for parameter in model.parameters())
    assert {name: sum(parts.values()) for name, parts in count.by_layer.items()} == dict(blocks)


def test_experts_that_were_not_chosen_are_not_active():
    count = parameters(config(n_layers=3, experts=EXPERTS))
    one = 3 * 24 * 8  # gate, up and down of one expert
    assert count.by_component["experts"] == 3 * 5 * one
    assert count.total - count.active == 3 * 3 * one
    assert parameters(config()).active == parameters(config()).total


KINDS = {
    "decoder": {},
    "grouped": {"n_kv_heads": 2, "d_head": 6, "activation": "gelu"},
    "parallel": {"parallel": True, "tie_embeddings": False},
    "attention alone": {"d_ff": 0, "head": "none"},
    "encoder": BERT | {"norm_placement": "post"},
    "two stacks": TWO | {"positions": "relative", "n_kv_heads": 3},
    "experts": {"n_layers": 3, "experts": EXPERTS},
    "late experts": {"n_layers": 3, "experts": ExpertsConfig(n_experts=4, top_k=1, dense_layers=1)},
}


@pytest.mark.parametrize("values", KINDS.values(), ids=list(KINDS))
def test_torch_counts_the_same_operations(values):
    chosen = config(**values)
    model, tokens = Transformer(chosen), ids(batch=1, seq=13)
    written = ids(batch=1, seq=7) if chosen.architecture == "encoder-decoder" else None
    counted = flops(chosen, 13, decoder_seq=None if written is None else 7)
    with FlopCounterMode(display=False) as forward:
        output = model(tokens, decoder_ids=written, capture=EXPLICIT)
    assert forward.get_total_flops() == counted.sequence
    result = output.logits.sum() if hasattr(output, "logits") else output.hidden.sum()
    result = result if output.pooled is None else result + output.pooled.sum()
    with FlopCounterMode(display=False) as backward:
        result.backward()
    assert backward.get_total_flops() == counted.backward * counted.tokens == 2 * counted.sequence
    assert counted.tokens == 13 + (7 if written is not None else 0)


@given(st.integers(1, 30), st.none() | st.integers(1, 40), st.integers(0, 2), st.booleans())
def test_visible_pairs_are_those_of_the_mask(seq, window, window_from, encoder):
    chosen = config(
        architecture="encoder" if encoder else "decoder", window=window, window_from=window_from, n_layers=2
    )
    back = np.arange(seq)[:, None] - np.arange(seq)
    for layer in layers(chosen):
        reach = window if window is not None and layer.index >= window_from else seq
        mask = np.abs(back) < reach if encoder else (back >= 0) & (back < reach)
        assert visible_pairs(chosen, layer, seq) == mask.sum()


def test_what_is_not_seen_costs_nothing_when_only_visible_pairs_count():
    every, seen = (flops(config(), 32, pairs=pairs).by_component for pairs in ("all", "visible"))
    for name, count in every.items():
        share = 33 / 64 if name in ("attention scores", "attention values") else 1
        assert seen[name] == count * share


def test_the_rule_of_six_holds_where_the_paper_says():
    short, long = flops(llama_7b(), 1), flops(llama_7b(), 2048)
    assert short.training - 6 * 4096 * 32_000 == pytest.approx(short.six_n, rel=1e-3)  # less the unembedding
    assert long.training > 1.1 * long.six_n
    n = 12 * 12 * 768**2  # arXiv:2001.08361, table 1: 2 d_model n_layer (2 d_attn + d_ff)
    assert flops(gpt2_small(), 8).six_n == pytest.approx(6 * n, rel=0.002)


STATES = {
    "adamw": torch.optim.AdamW,
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "sgd": torch.optim.SGD,
}


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_gradients_and_optimiser_take_the_bytes_they_take(name, dtype):
    chosen = config(**CLASSIC)
    model = Transformer(chosen).to(getattr(torch, dtype))
    model(ids()).logits.sum().backward()
    use = memory(chosen, batch=2, seq=13, dtype=dtype, optimizer=name)
    assert use.weights == sum(parameter.nbytes for parameter in model.parameters())
    assert use.gradients == sum(parameter.grad.nbytes for parameter in model.parameters())
    masters = [parameter.detach().float().requires_grad_() for parameter in model.parameters()]
    for master, parameter in zip(masters, model.parameters(), strict=True):
        master.grad = parameter.grad.float()
    optimizer = STATES[name](masters)
    optimizer.step()
    state = sum(t.nbytes for parts in optimizer.state.values() for t in parts.values() if t is not None and t.ndim)
    assert use.optimizer == state + (sum(master.nbytes for master in masters) if dtype == "bfloat16" else 0)
    assert use.training == use.weights + use.gradients + use.optimizer + sum(use.activations.values())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_parameter_takes_sixteen_bytes_in_training(dtype):
    use = memory(config(), batch=1, seq=1, dtype=dtype)
    assert use.weights + use.gradients + use.optimizer == 16 * parameters(config()).total


@pytest.mark.parametrize("window", [None, 1, 4, 30])
@pytest.mark.parametrize("values", [{}, {"n_kv_heads": 2, "window_from": 1}, TWO], ids=str)
def test_a_cache_takes_the_bytes_the_real_one_takes(values, window):
    chosen = config(**values, window=window)
    for room, dtype in ((20, "float32"), (32, "bfloat16")):
        cache = KVCache(chosen, 3, capacity=room, dtype=getattr(torch, dtype))
        tokens = {"seq": 9, "decoder_seq": room} if values is TWO else {"seq": room}
        use = memory(chosen, batch=3, dtype=dtype, **tokens)
        assert use.kv_cache == cache.bytes
        assert use.generation == use.weights + use.kv_cache + use.cross_cache


def test_the_encoder_is_remembered_once_a_decoder_layer():
    chosen = config(**TWO)
    cache = KVCache(chosen, 2, capacity=5)
    Transformer(chosen)(ids(seq=13), decoder_ids=ids(seq=5), cache=cache)
    use = memory(chosen, batch=2, seq=13, decoder_seq=5)
    assert use.cross_cache == sum(part.nbytes for pair in cache.memory for part in pair) > 0
    assert memory(config(), batch=2, seq=13).cross_cache == 0


KEPT = {
    "classic": {},
    "gated": {"activation": "swiglu"},
    "relu, post": {"activation": "relu", "norm_placement": "post", "embed_norm": True},
    "sandwich": {"norm_placement": "sandwich"},
    "parallel": {"parallel": True},
    "grouped": {"n_kv_heads": 2, "d_head": 8},
    "rope": {"positions": "rope"},
    "masked words": BERT | {"embed_norm": True, "norm_placement": "post"},
    "two stacks": TWO,
    "rmsnorm": {"norm": "rmsnorm"},
    "dropout": {"dropout": 0.1},
    "experts": {"experts": EXPERTS},
    "gated experts": {"experts": EXPERTS, "activation": "swiglu"},
}


def kept_bytes(model, run):
    """What autograd keeps, each piece of memory once, without the parameters."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage  # held, so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run()
    assert result.requires_grad
    return sum(storage.nbytes() for storage in kept.values())


def habits(chosen, tokens, kernel):
    """What torch's CPU kernels keep beyond need: RMSNorm the normalised vectors, dropout its mask in float32, fused
    attention what rotated heads find in a second layout."""
    width, block = chosen.d_model * 4, layers(chosen)[0]
    norms = block.sublayers * chosen.n_layers + 1
    masks = block.sublayers * chosen.n_layers + 1
    turned = chosen.n_layers if chosen.positions == "rope" and kernel == "fused" else 0
    extra = norms * width * (chosen.norm == "rmsnorm") + masks * 3 * chosen.d_model * (chosen.dropout > 0)
    return tokens * (extra + turned * width)


@pytest.mark.parametrize("kernel", ["fused", "explicit"])
@pytest.mark.parametrize("values", KEPT.values(), ids=list(KEPT))
def test_activations_are_what_autograd_keeps(values, kernel):
    chosen = config(**(CLASSIC | values))
    model = Transformer(chosen).train()
    tokens = ids(batch=4, seq=80)
    written = ids(batch=4, seq=70) if chosen.architecture == "encoder-decoder" else None
    goal = (tokens if written is None else written).flatten()

    def run():
        output = model(tokens, decoder_ids=written, capture=EXPLICIT if kernel == "explicit" else ())
        return torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), goal)

    use = memory(chosen, batch=4, seq=80, decoder_seq=None if written is None else 70, kernel=kernel)
    counted = sum(use.activations.values()) + habits(chosen, tokens.numel(), kernel)
    tolerance = 0.02 if chosen.experts else 0.01  # experts fill up their rows to multiples of 16
    assert counted == pytest.approx(kept_bytes(model, run), rel=tolerance)


def test_a_block_keeps_the_terms_of_the_paper():
    """arXiv:2205.05198, eq. 1 without its dropout: 32 d + 2 h seq bytes a token in 16 bits."""
    d, heads, seq = 768, 12, 512
    one, two = (
        sum(memory(chosen, batch=1, seq=seq, dtype="float16", kernel="explicit").activations.values())
        for chosen in (
            config(**CLASSIC | {"d_model": d, "n_heads": heads, "n_layers": n, "max_seq_len": seq}) for n in (1, 2)
        )
    )
    assert two - one == pytest.approx(seq * (32 * d + 2 * heads * seq), rel=0.001)


REFUSED = {
    "seq=33 must be between 1 and max_seq_len=32": {"seq": 33},
    "seq=0 must be between 1 and max_seq_len=32": {"seq": 0},
    "decoder_seq=5 goes with architecture='encoder-decoder', not 'decoder'; leave it None": {"decoder_seq": 5},
    "batch=0 must be at least 1": {"batch": 0},
    "dtype='int8' is not one of float32, bfloat16, float16": {"dtype": "int8"},
    "optimizer='lion' is not one of adamw, momentum, sgd": {"optimizer": "lion"},
    "kernel='flash' is not one of fused, explicit": {"kernel": "flash"},
}


@pytest.mark.parametrize(("message", "values"), REFUSED.items(), ids=list(REFUSED))
def test_what_does_not_fit_is_refused(message, values):
    with pytest.raises(ValueError, match=f"^{message}$"):
        memory(config(), **({"batch": 1, "seq": 8} | values))


def test_a_wrong_kind_of_pair_is_refused():
    with pytest.raises(ValueError, match=r"^pairs='half' is not one of all, visible$"):
        flops(config(), 8, pairs="half")
