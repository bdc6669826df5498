"""A hypothesis strategy for every valid config that is small."""

from typing import get_args

import torch
from hypothesis import assume
from hypothesis import strategies as st

from tfcore import config as options
from tfcore import part_configs
from tfcore.config import ModelConfig
from tfcore.model import Output, Transformer
from tfcore.part_configs import (
    AttentionConfig,
    ExpertsConfig,
    FeedForwardConfig,
    LayerConfig,
    NormConfig,
    PositionsConfig,
    RopeScaling,
    WritingConfig,
)

SOMETIMES = st.integers(0, 3).map(lambda n: n == 0)
POSITIVE = st.floats(0.1, 4.0)


@st.composite
def experts(draw):
    n, routing = draw(st.integers(1, 5)), draw(st.sampled_from(get_args(part_configs.Routing)))
    groups = draw(st.integers(1, 3)) if routing == "tokens" else 1
    top_groups = draw(st.none() | st.integers(1, groups))
    scores = draw(st.sampled_from(get_args(part_configs.RouterScores)))
    return ExpertsConfig(
        n_experts=n * groups,
        n_groups=groups,
        top_groups=top_groups,
        group_best=draw(st.integers(1, n)),
        top_k=draw(st.integers(1, n * (top_groups or groups))),
        scores=scores,
        d_expert=draw(st.none() | st.integers(1, 9)),
        n_shared=draw(st.integers(0, 2)),
        bias=draw(SOMETIMES),
        routing=routing,
        softmax="before" if scores == "sigmoid" else draw(st.sampled_from(get_args(part_configs.SoftmaxPlace))),
        renormalize=draw(st.booleans()),
        capacity_factor=None if routing == "experts" else draw(st.none() | POSITIVE),
        bias_rate=draw(st.sampled_from([0.0, 0.01])),
    )


SCALINGS = st.builds(
    RopeScaling,
    kind=st.sampled_from(["linear", "llama3", "yarn"]),
    factor=st.floats(1, 8),
    original_len=st.integers(1, 9_000),
    whole_pairs=st.booleans(),
)


@st.composite
def layers(draw, positions):
    own = st.none() | st.builds(PositionsConfig, kind=st.sampled_from(["rope", "none"]), base=st.floats(2, 1e6))
    return LayerConfig(
        window=draw(st.none() | st.integers(1, 12)),
        positions=draw(own) if positions == "rope" else None,
        dense=draw(st.booleans()),
    )


def places():
    """Settings of disentangled positions."""
    flags = dict.fromkeys(("linear", "shared", "normed"), st.booleans())
    return st.fixed_dictionaries(flags | {"products": st.sampled_from(get_args(part_configs.Products))})


@st.composite
def feed_forwards(draw, d_ff):
    activation = draw(st.sampled_from(get_args(part_configs.Activation)))
    gated = activation in part_configs.GATED
    return FeedForwardConfig(
        d_ff=d_ff,
        activation=activation,
        gain=draw(POSITIVE) if activation in ("silu", "swiglu") and draw(SOMETIMES) else 1.0,
        limit=draw(POSITIVE) if gated and draw(SOMETIMES) else None,
        shift=draw(st.floats(-1, 1)) if gated and draw(SOMETIMES) else 0.0,
    )


@st.composite
def configs(draw):
    """A config that is small and valid, every field tried."""
    kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_heads, size, free_head = kv_heads * group, draw(st.integers(1, 3)) * 2, draw(st.booleans())
    architecture = draw(st.sampled_from(get_args(options.Architecture)))
    disentangled = architecture == "encoder" and group == 1
    kinds = [one for one in get_args(part_configs.Positions) if one != "disentangled" or disentangled]
    positions = draw(st.sampled_from(kinds))
    placement = draw(st.sampled_from(get_args(part_configs.NormPlacement)))
    encoder, both = architecture == "encoder", architecture == "encoder-decoder"
    latent = positions == "rope" and group == 1 and size > 2 and not both and draw(SOMETIMES)
    d_ff, mixture = draw(st.none() | st.integers(0, 12)), draw(st.none() | experts())
    assume(not (d_ff == 0 and mixture is not None and mixture.d_expert is None))
    n_layers, of_layers = draw(st.integers(1, 3)), "none" if latent else positions
    norm = NormConfig(
        kind=draw(st.sampled_from(get_args(part_configs.Norm))),
        placement=placement,
        of_embeddings=draw(SOMETIMES),
        first=placement not in ("pre", "sandwich") or not draw(SOMETIMES),
        bias=draw(st.none() | st.booleans()),
    )
    heads = ["lm", "none", "mlm"] if encoder else ["lm", "none"]
    head = draw(st.sampled_from(heads))
    plain = [name for name in get_args(part_configs.Activation) if name not in part_configs.GATED]
    vocab = draw(st.integers(1, 50))
    ids = st.none() | st.integers(0, vocab - 1)
    return ModelConfig(
        vocab_size=vocab,
        writing=WritingConfig(first=draw(ids), last=draw(ids)) if both else WritingConfig(),
        architecture=architecture,
        d_model=2 * draw(st.integers(1, 9)) if free_head else n_heads * size,
        d_embed=2 * draw(st.integers(1, 9)) if encoder and head != "lm" and draw(SOMETIMES) else None,
        n_layers=n_layers,
        n_encoder_layers=draw(st.none() | st.integers(1, 3)) if both else None,
        attention=AttentionConfig(
            n_heads=n_heads,
            n_kv_heads=draw(st.sampled_from([kv_heads] if group > 1 else [None, kv_heads])),
            d_head=size if free_head else None,
            qk_norm=None
            if latent or positions == "disentangled"
            else draw(st.sampled_from([None, None, "head", "width"])),
            kv_latent=draw(st.integers(1, 9)) if latent else None,
            q_latent=draw(st.none() | st.integers(1, 9)) if latent else None,
            d_value=draw(st.none() | st.integers(1, 9)) if latent else None,
            softcap=draw(st.none() | st.floats(0.5, 50)),
            sinks=draw(SOMETIMES),
            gate=not latent and positions != "disentangled" and not both and draw(SOMETIMES),
            scale=draw(st.none() | POSITIVE),
            scale_by_layer=draw(st.booleans()),
            qkv_bias=draw(st.none() | st.booleans()),
            out_bias=draw(st.none() | st.booleans()),
        ),
        feed_forward=draw(feed_forwards(d_ff)),
        experts=mixture,
        max_seq_len=draw(st.integers(1, 9)),
        positions=PositionsConfig(
            kind=positions,
            scaling=draw(st.none() | SCALINGS) if positions == "rope" else None,
            rotated=2 if latent else draw(st.none() | st.just(2)) if positions == "rope" else None,
            halves=positions == "sinusoidal" and draw(st.booleans()),
            first=draw(st.integers(0, 3)) if positions == "sinusoidal" else 0,
            by_layer=positions == "relative" and draw(st.booleans()),
            absolute=positions in ("relative", "disentangled") and draw(st.booleans()),
            buckets=draw(st.sampled_from([4, 10, 32] if positions == "disentangled" else [4, 7, 10, 32])),
            **draw(places()) if positions == "disentangled" else {},
        ),
        norm=norm,
        parallel=(parallel := placement == "pre" and norm.first and not both and d_ff != 0 and draw(SOMETIMES)),
        shared_norm=not parallel or draw(st.booleans()),
        layers=tuple(draw(layers(of_layers)) for _ in range(n_layers)) if draw(st.booleans()) else (),
        bias=draw(st.booleans()),
        head=head,
        mlm_activation=draw(st.none() | st.sampled_from(plain)),
        mlm_bias=draw(st.booleans()),
        logit_bias=draw(st.sampled_from([None, False, True])),
        tie_embeddings=draw(st.booleans()),
        embed_scale=draw(st.sampled_from([1.0, 3.0])),
        logit_scale=draw(POSITIVE),
        logit_softcap=draw(st.none() | st.floats(0.5, 50)),
        n_segments=draw(st.integers(0, 3)) if encoder else 0,
        pooler=encoder and draw(st.booleans()),
        init=draw(st.sampled_from(get_args(options.Init))),
    )


def run(model: Transformer, seed: int = 0, **given: object) -> Output:
    """A pass over random ids as long as the config allows."""
    config, generator = model.config, torch.Generator().manual_seed(seed)
    ids = torch.randint(0, config.vocab_size, (2, config.max_seq_len), generator=generator)
    if config.architecture == "encoder-decoder":
        given["decoder_ids"] = ids[:, : max(1, config.max_seq_len - 2)].flip(1)
    return model(ids, **given)
