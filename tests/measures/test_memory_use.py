"""Bytes counted from a config are those that tensors, optimisers, caches and autograd take."""

from dataclasses import replace

import pytest
import torch

from tests.measures.shapes import BERT, CLASSIC, EXPERTS, TWO
from tests.other_device import needs_the_cpu
from tests.small import DEBERTA, WIRINGS, config, ids
from tfcore.kv_cache import KVCache
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import layers, parameters
from tfcore.model import Transformer
from tfcore.part_configs import InputConvolutionConfig

LATENT = {"positions": "rope", "rotated": 4, "d_head": 10, "kv_latent": 7}
EXPLICIT = ("*attn.pattern",)  # captured, so that attention is not fused


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
@pytest.mark.parametrize("values", [{}, {"n_kv_heads": 2, "window_from": 1}, LATENT, TWO], ids=str)
def test_a_cache_takes_the_bytes_the_real_one_takes(values, window):
    chosen = config(**values, window=window)
    for room, dtype in ((20, "float32"), (32, "bfloat16")):
        cache = KVCache(chosen, 3, capacity=room, device="meta", dtype=getattr(torch, dtype))
        tokens = {"seq": 9, "decoder_seq": room} if values is TWO else {"seq": room}
        use = memory(chosen, batch=3, dtype=dtype, **tokens)
        assert use.kv_cache == cache.bytes
        assert use.generation == use.weights + use.kv_cache + use.cross_cache


def test_the_encoder_is_remembered_once_a_decoder_layer():
    chosen = config(**TWO)
    model = Transformer(chosen)
    cache = KVCache(chosen, 2, capacity=5, device=model.device)
    model(ids(seq=13), decoder_ids=ids(seq=5), cache=cache)
    use = memory(chosen, batch=2, seq=13, decoder_seq=5)
    assert use.cross_cache == sum(part.nbytes for pair in cache.memory for part in pair) > 0
    assert memory(config(), batch=2, seq=13).cross_cache == 0


KEPT = {
    "classic": {},
    "gated": {"activation": "swiglu"},
    "relu, post": {"activation": "relu", "norm_placement": "post", "embed_norm": True},
    "squared relu": {"activation": "relu2"},
    "xielu": {"activation": "xielu"},
    "sandwich": {"norm_placement": "sandwich"},
    "parallel": {"parallel": True},
    "grouped": {"n_kv_heads": 2, "d_head": 8},
    "rope": {"positions": "rope"},
    "masked words": BERT | {"embed_norm": True, "norm_placement": "post"},
    "no norm before the first attention": BERT | {"embed_norm": True, "first_norm": False},
    "narrow embeddings": BERT | {"embed_norm": True, "norm_placement": "post", "d_embed": 10},
    "disentangled": DEBERTA,
    "disentangled, shared": DEBERTA | {"relative_shared": True, "relative_normed": False},
    "disentangled, one product": DEBERTA | {"relative_products": "c2p"},
    "input convolution": DEBERTA | {"input_convolution": InputConvolutionConfig(width=3)},
    "input convolution, tanh": DEBERTA | {"input_convolution": InputConvolutionConfig(width=5, activation="tanh")},
    "two stacks": TWO,
    "rmsnorm": {"norm": "rmsnorm"},
    "dropout": {"dropout": 0.1},
    "normed heads": {"qk_norm": True},
    "normed heads of two stacks": TWO | {"qk_norm": True},
    "normed over all heads": {"qk_norm": "width"},
    "normed over all heads of two stacks": TWO | {"qk_norm": "width"},
    "normed each by its own": {"qk_norm": "each"},
    "normed each by its own, rotated": {"qk_norm": "each", "positions": "rope", "n_kv_heads": 2},
    "normed each by its own, of two stacks": TWO | {"qk_norm": "each"},
    "cut off": {"attn_clip": 0.5},
    "cut off, rotated": {"attn_clip": 0.5, "positions": "rope"},
    "cut off and normed": {"attn_clip": 0.5, "qk_norm": "each", "n_kv_heads": 2},
    "normed after": {"norm_placement": "after"},
    "parallel with two norms": {"parallel": True, "shared_norm": False},
    "soft caps": {"attn_softcap": 3.0, "logit_softcap": 5.0},
    "sinks": {"attn_sinks": True},
    "sinks and soft caps": {"attn_sinks": True, "attn_softcap": 3.0},
    "gates cut off": {"activation": "swiglu", "ff_limit": 1.0},
    "gates with a gain": {"activation": "swiglu", "ff_gain": 1.7},
    "gates with a shift": {"activation": "swiglu", "ff_shift": 1.0},
    "gates with a gain and a shift": {"activation": "swiglu", "ff_gain": 1.7, "ff_shift": 1.0},
    "like gpt-oss": WIRINGS["like gpt-oss"] | {"activation": "swiglu"},
    "partly rotated": {"positions": "rope", "rotated": 2},
    "latents": LATENT,
    "latents of queries, sinks": LATENT | {"q_latent": 9, "d_value": 5, "attn_sinks": True},
    "experts": {"experts": EXPERTS},
    "experts with a shared gate": {"experts": replace(EXPERTS, n_shared=2, shared_gate=True)},
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


def habits(chosen, tokens):
    """What torch's CPU kernels keep beyond need: RMSNorm the normalised vectors, dropout its mask in float32."""
    width, block = chosen.d_model * 4, layers(chosen)[0]
    norms = block.sublayers * chosen.n_layers + 1
    masks = block.sublayers * chosen.n_layers + 1
    latents = chosen.n_layers * ((chosen.attention.kv_latent or 0) + (chosen.attention.q_latent or 0)) * 4
    extra = (
        latents + norms * width * (chosen.norm.kind == "rmsnorm") + masks * 3 * chosen.d_model * (chosen.dropout > 0)
    )
    return tokens * extra


def normed_twice(chosen, read, wrote, kernel):
    """What normalised heads found is kept twice, too: queries and keys, unless each head has a scale of its own, and of
    the fused kernel the result."""
    fused, kind, heads = kernel == "fused", chosen.attention.qk_norm, chosen.attention.n_heads
    queries = {"head": heads * (2 if fused else 1), "each": heads * fused}.get(kind, 0)
    keys = chosen.attention.kv_heads if kind == "head" else 0
    of_encoder = chosen.encoder_layers * read * (queries + keys)
    of_decoder = chosen.decoder_layers * (wrote or read) * (queries + keys)
    crossed = chosen.decoder_layers * (wrote * queries + read * keys) if wrote else 0
    return (of_encoder + of_decoder + crossed) * chosen.head_size * 4


@needs_the_cpu  # whose kernels are known, and whose tensors have addresses
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
    twice = normed_twice(chosen, tokens.numel(), 0 if written is None else written.numel(), kernel)
    counted = sum(use.activations.values()) + habits(chosen, tokens.numel()) + twice
    # experts fill up their rows to multiples of 16, and the explicit kernel keeps its mask
    tolerance = 0.02 if chosen.experts else 0.01 if kernel == "explicit" or chosen.attention.sinks else 0.004
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


@pytest.mark.parametrize(("norm", "statistics"), [("rmsnorm", 1), ("layernorm", 2)])
def test_a_norm_keeps_what_it_reads_and_its_statistics(norm, statistics):
    use = memory(config(norm=norm, n_layers=1), batch=1, seq=1)
    assert set(use.activations) == {"embedding", "norms", "attention", "feed-forward", "output"}
    assert use.activations["embedding"] == 8, "an index"
    assert use.activations["norms"] == 3 * (24 + statistics + 24) * 4, "two of the block and the last, with outputs"


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
