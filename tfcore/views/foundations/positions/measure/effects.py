"""Effects of position schemes on a model: on a head's scores, to shuffled words, and beyond the trained length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, softcapped
from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.masks import bidirectional, causal
from tfcore.measures.head_vectors import learned_sinks
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, Positions, PositionsConfig
from tfcore.positions import alibi_bias, alibi_slopes, apply_rope, rotation_of, sinusoidal

SCHEMES: tuple[Positions, ...] = ("sinusoidal", "learned", "rope", "alibi", "none")
MOST_WORDS = 64  # words of a text that is shuffled


@dataclass(frozen=True, slots=True)
class SchemeEffect:
    """One scheme on one head.

    Args:
        added: what it changes the scores by, against none at all.
        weights: attention weights with it, under the causal mask.
        previous: mean weight on the token before.
        distance: mean distance from query to key, weighted, in tokens.
    """

    added: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    previous: float
    distance: float

    @property
    def largest(self) -> float:
        """The largest change of a score that the causal mask leaves, of either sign."""
        return float(np.abs(np.tril(self.added)).max())


@torch.no_grad()
def position_effects(model: Transformer, ids: Sequence[int], head: int) -> dict[Positions, SchemeEffect]:
    """Take a head of the first layer of a decoder trained with RoPE or learned positions; give it each scheme in turn.

    Queries and keys before a rotation carry no position, nor do those from embeddings to which no vector was added.
    Sinusoidal vectors are added to the embeddings, scaled to their mean square; learned ones, which only a model
    trained with them has, as they are; for RoPE queries and keys are rotated; for ALiBi the head's bias is added to
    the scores.
    """
    n, config = len(ids), model.config
    places = torch.arange(n)
    tokens = one_text(model, ids)
    waves = sinusoidal(places, config.d_model)
    learned = config.positions.kind == "learned"  # then the model itself adds vectors
    own = model.decoder.pos_embed.weight[:n].detach().float().cpu() if learned else torch.zeros_like(waves)
    q, k, without = _first_layer(model, tokens, head, -own)
    size = (without + own).square().mean().sqrt()
    vectors: dict[Positions, Tensor] = {"sinusoidal": waves * (size / waves.square().mean().sqrt())}
    if learned:
        vectors["learned"] = own
    scale = config.scale_of(0)
    plain = attention_scores(q, k, scale)
    slope = alibi_slopes(config.attention.n_heads)[head : head + 1]
    scores: dict[Positions, Tensor] = {"none": plain}
    for name, added in vectors.items():
        moved_q, moved_k, _ = _first_layer(model, tokens, head, added - own)
        scores[name] = attention_scores(moved_q, moved_k, scale)
    rotation = rotation_of(replace(config.positions, kind="rope"), places, config.head_size)
    assert rotation is not None  # of rope there is one
    cos, sin = rotation
    scores["rope"] = attention_scores(apply_rope(q, cos, sin), apply_rope(k, cos, sin), scale)
    (bias,) = alibi_bias(slope, places, places)
    scores["alibi"] = plain + bias
    capped = {name: softcapped(value, config.attention.softcap) for name, value in scores.items()}
    sinks = learned_sinks(model, [0])
    sink = None if sinks is None else sinks[0, head]
    return {name: _effect(value, capped["none"], sink) for name, value in capped.items()}


def _first_layer(model: Transformer, tokens: Tensor, head: int, added: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With vectors added to the embeddings: queries and keys of a head, (seq, d_head), before any rotation, and the
    embeddings, (seq, d_model)."""
    names = ("blocks.0.attn.q", "blocks.0.attn.k", "embed")
    edits = [Edit.add("embed", added.to(tokens.device))]
    activations = model.activations(tokens, names, edits=edits)
    group = model.config.attention.n_heads // model.config.attention.kv_heads
    (q,), (k,), (embedded,) = (activations[name].float().cpu() for name in names)
    return q[head], k[head // group], embedded


def _effect(scores: Tensor, plain: Tensor, sink: Tensor | None) -> SchemeEffect:
    n = len(scores)
    weights = attention_weights(scores, causal(n), sink).numpy()
    back = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    previous = float(np.diagonal(weights, -1).mean()) if n > 1 else 0.0
    far = (weights * back)[1:].sum(1) / (1 if sink is None else weights[1:].sum(1))  # of what falls on tokens
    distance = float(far.mean()) if n > 1 else 0.0
    return SchemeEffect((scores - plain).numpy(), weights, previous, distance)


@dataclass(frozen=True, slots=True)
class ShuffleResult:
    """A text and its shuffle through one model per position scheme, all with the same seed.

    Args:
        permutation: the token now at place i was at place permutation[i].
        outputs: final vectors of the text, in the order of the text, per scheme.
        shuffled: final vectors of the shuffled text, in the shuffled order.
        differences: largest |difference| between a token's two vectors, in the order of the text.
    """

    permutation: Int[ndarray, " seq"]
    outputs: Float[ndarray, "scheme seq d_model"]
    shuffled: Float[ndarray, "scheme seq d_model"]
    differences: Float[ndarray, "scheme seq"]

    @property
    def largest(self) -> dict[Positions, float]:
        """Largest difference of any token, per scheme; 0 when there is no token."""
        return {s: float(row.max(initial=0.0)) for s, row in zip(SCHEMES, self.differences, strict=True)}


def shuffle_experiment(words: tuple[str, ...], shuffle: int, is_causal: bool = False, seed: int = 0) -> ShuffleResult:
    """Send a text and its shuffle through a two-layer Transformer with random weights, once per position scheme.

    Without positions a bidirectional Transformer f is permutation equivariant, f(P x) = P f(x): every operation works
    on each token by itself or, in attention, sums over tokens in any order. A causal mask alone breaks this: it lets
    a token count how many came before it (arXiv:2203.16634).

    Args:
        words: the tokens, at most 64; equal words have equal ids.
        shuffle: which of the possible shuffles.
        is_causal: each token sees only itself and what came before it.
        seed: of the weights.

    Raises:
        ValueError: more than 64 words.
    """
    if len(words) > MOST_WORDS:
        raise ValueError(f"{len(words)} words are more than {MOST_WORDS}; give fewer")
    known = {word: i for i, word in enumerate(dict.fromkeys(words))}
    ids = torch.tensor([known[word] for word in words], dtype=torch.int64)
    permutation = shuffled_places(len(words), shuffle)
    both = torch.stack((ids, ids[permutation]))  # (2, seq)
    see = causal(len(words)) if is_causal else bidirectional(len(words))
    outputs, shuffled = torch.stack([_outputs(_model(scheme, seed), both, see) for scheme in SCHEMES], dim=1)
    back = shuffled[:, permutation.argsort()]  # each token's vector at its place in the text
    differences = (back - outputs).abs().amax(-1)  # (scheme, seq)
    return ShuffleResult(permutation.numpy(), outputs.numpy(), shuffled.numpy(), differences.numpy())


def shuffled_places(n: int, shuffle: int) -> Int[Tensor, " seq"]:
    """Shuffle number `shuffle` of n places; never the identity when n is at least 2."""
    places = torch.randperm(n, generator=torch.Generator().manual_seed(shuffle))
    return places.roll(1) if torch.equal(places, torch.arange(n)) else places


@lru_cache(maxsize=8)
def _model(scheme: Positions, seed: int) -> Transformer:
    """Xavier initialisation, because it makes scores large enough for attention to prefer some tokens to others."""
    config = ModelConfig(
        vocab_size=MOST_WORDS,
        d_model=64,
        n_layers=2,
        attention=AttentionConfig(n_heads=4),
        max_seq_len=MOST_WORDS,
        positions=PositionsConfig(kind=scheme),
        init="xavier",
        init_std=0.1,
    )
    return Transformer(config, seed).eval().requires_grad_(False)


def _outputs(
    model: Transformer, ids: Int[Tensor, "batch seq"], see: Bool[Tensor, "query key"]
) -> Float[Tensor, "batch seq d_model"]:
    """Outputs of the final norm, one vector a token."""
    if ids.shape[1] == 0:
        return torch.zeros(*ids.shape, model.config.d_model, device=model.device)
    name = "ln_final.normalized"
    return model.activations(ids, name, mask=see)[name]


COLUMN = "loss_"  # and the last position of a bucket


@dataclass(frozen=True, slots=True)
class LengthLosses:
    """Losses by position of models trained alike, each with its own position scheme (the experiment of
    arXiv:2108.12409, section 3).

    Args:
        trained: tokens per sequence in training.
        ends: the last position of each bucket; its losses are averaged over the bucket.
        loss: scheme -> nats per token in every bucket, one row per seed.
    """

    trained: int
    ends: Int[ndarray, " bucket"]
    loss: dict[str, Float[ndarray, "seed bucket"]]

    @property
    def within(self) -> int:
        """The index of the last bucket within the trained length."""
        return int(np.flatnonzero(self.ends <= self.trained)[-1])

    def mean(self, scheme: str) -> Float[ndarray, " bucket"]:
        """The mean loss over the seeds."""
        return self.loss[scheme].mean(0)

    def rise(self, scheme: str) -> float:
        """The rise of the loss from the last bucket within the trained length to the last of all, in nats per token."""
        mean = self.mean(scheme)
        return float(mean[-1] - mean[self.within])


def length_losses(rows: Sequence[Mapping[str, Any]]) -> LengthLosses | None:
    """The table of recipe `ladder-positions`; None while it has no row."""
    if not rows:
        return None
    ends = [int(name.removeprefix(COLUMN)) for name in rows[0] if name.startswith(COLUMN)]
    losses: dict[str, list[list[float]]] = {}
    for row in rows:
        losses.setdefault(row["scheme"], []).append([row[f"{COLUMN}{end}"] for end in ends])
    (seq,) = {row["seq"] for row in rows}
    return LengthLosses(seq, np.array(ends), {scheme: np.array(each) for scheme, each in losses.items()})
