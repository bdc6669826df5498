"""Does a Transformer notice the order of its tokens? Shuffle them and look."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig, Positions
from tfcore.masks import bidirectional, causal
from tfcore.model import Transformer

SCHEMES: tuple[Positions, ...] = ("sinusoidal", "learned", "rope", "alibi", "none")
LONGEST = 64  # words of a text


@dataclass(frozen=True, slots=True)
class Ordering:
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


def shuffle_experiment(words: tuple[str, ...], shuffle: int, is_causal: bool = False, seed: int = 0) -> Ordering:
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
    if len(words) > LONGEST:
        raise ValueError(f"{len(words)} words are more than {LONGEST}; give fewer")
    known = {word: i for i, word in enumerate(dict.fromkeys(words))}
    ids = torch.tensor([known[word] for word in words], dtype=torch.int64)
    permutation = shuffled_places(len(words), shuffle)
    both = torch.stack((ids, ids[permutation]))  # (2, seq)
    see = causal(len(words)) if is_causal else bidirectional(len(words))
    outputs, shuffled = torch.stack([_outputs(_model(scheme, seed), both, see) for scheme in SCHEMES], dim=1)
    back = shuffled[:, permutation.argsort()]  # each token's vector at its place in the text
    differences = (back - outputs).abs().amax(-1)  # (scheme, seq)
    return Ordering(permutation.numpy(), outputs.numpy(), shuffled.numpy(), differences.numpy())


def shuffled_places(n: int, shuffle: int) -> Int[Tensor, " seq"]:
    """Shuffle number `shuffle` of n places; never the identity when n is at least 2."""
    places = torch.randperm(n, generator=torch.Generator().manual_seed(shuffle))
    return places.roll(1) if torch.equal(places, torch.arange(n)) else places


@lru_cache(maxsize=8)
def _model(scheme: Positions, seed: int) -> Transformer:
    """Xavier initialisation, because it makes scores large enough for attention to prefer some tokens to others."""
    config = ModelConfig(
        vocab_size=LONGEST,
        d_model=64,
        n_layers=2,
        n_heads=4,
        max_seq_len=LONGEST,
        positions=scheme,
        init="xavier",
        init_std=0.1,
    )
    return Transformer(config, seed).eval().requires_grad_(False)


def _outputs(
    model: Transformer, ids: Int[Tensor, "batch seq"], see: Bool[Tensor, "query key"]
) -> Float[Tensor, "batch seq d_model"]:
    """What leaves the final norm, one vector a token."""
    if ids.shape[1] == 0:
        return torch.zeros(*ids.shape, model.config.d_model)
    name = "ln_final.normalized"
    return model(ids, mask=see, capture=(name,)).activations[name]
