"""One short vector of each token, from which the keys and values of all heads of a layer are made: that of a model with
latent attention, or one fitted to a model that was trained without."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.latent_attention import LatentAttention
from tfcore.measures.highlights.usual import PARAGRAPHS
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import surprisal
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

READ = 12  # paragraphs of Wikipedia that latents are fitted to: 2 s with smollm2, and twice as many do no better
UNREAD = "its vocabulary has no token of the paragraphs of Wikipedia that latents are fitted to."
SHARES = (5, 10, 15, 25, 35, 50, 75, 100)  # of the numbers of keys and values, %


def has_latents(config: ModelConfig) -> bool:
    """Whether a model was trained with latents."""
    return config.attention.kv_latent is not None


def why_no_latents(config: ModelConfig) -> str | None:
    """Why such a model has no latents and none are fitted to it, or None."""
    if config.architecture != "decoder" or any(mixer != "attention" for mixer in map(config.mixer_of, _layers(config))):
        return "latents stand in for the keys and values of a decoder with attention in every layer."
    if config.attention.qk_norm is not None or config.attention.clip is not None:
        return "its keys are normalised or cut off behind their matrix, and a latent is fitted to what a matrix makes."
    return None


def why_none_fitted(model: Transformer, tokenizer: Tokenizer) -> str | None:
    """Why no latents are fitted to a model that has none, or None: whoever never met the paragraphs' characters reads
    nothing in them."""
    return None if _paragraphs(model, tokenizer) else UNREAD


def _paragraphs(model: Transformer, tokenizer: Tokenizer) -> list[list[int]]:
    """The ids of the paragraphs that latents are fitted to, of those that have any."""
    texts = PARAGRAPHS.read_text("utf-8").splitlines()[:READ]
    return [ids for text in texts if (ids := tokenizer.encode(text)[: model.config.max_seq_len])]


def full_size(config: ModelConfig) -> int:
    """Numbers of the keys and values of one token in one layer."""
    return config.attention.kv_heads * (config.head_size + config.value_size)


def rank_of(config: ModelConfig, share: int) -> int:
    """Numbers of a latent that is so many per cent of keys and values."""
    return max(1, round(full_size(config) * share / 100))


@dataclass(frozen=True, slots=True)
class LatentFit:
    """Where the keys and values of each layer lie, in the mean over some texts.

    Args:
        directions: orthonormal, of keys and values beside each other (the latter times `balance`), a column each, that
            with the most squared length first; of both signs the one whose largest number is positive.
        balance: of each layer, the root mean square of keys over that of values.
        tokens: that were read.
    """

    directions: Float[ndarray, "layer kv direction"]
    balance: Float[ndarray, " layer"]
    tokens: int


@torch.no_grad()
def fit(model: Transformer, tokenizer: Tokenizer) -> LatentFit:
    """Directions of keys before their rotation and of values, over READ paragraphs of Wikipedia: the principal
    components of both together, not centred, so that a latent is a matrix times what the layer reads (TransMLA,
    arXiv:2502.07864, there with the rotation apart).

    Raises:
        ValueError: a model that latents are not fitted to, or whose vocabulary has no token of these paragraphs.
    """
    read = _paragraphs(model, tokenizer)
    if (why := why_no_latents(model.config) or (None if read else UNREAD)) is not None:
        raise ValueError(f"no latents are fitted to this model: {why}")
    if has_latents(model.config):
        raise ValueError("this model was trained with latents of its own; none are fitted to it")
    layers, products, tokens = _layers(model.config), list[Tensor](), 0
    for ids in read:
        joined = keys_and_values(model, ids, layers)
        products.append(joined.mT @ joined)
        tokens += len(ids)
    moments = torch.stack(products).sum(0) / tokens
    n_keys = model.config.attention.kv_heads * model.config.head_size
    squares = moments.diagonal(dim1=1, dim2=2)
    balance = (squares[:, :n_keys].mean(1) / squares[:, n_keys:].mean(1).clamp(min=1e-12)).sqrt()
    scale = _scale(balance, n_keys, squares.shape[1])
    directions = torch.linalg.eigh(moments * scale[:, :, None] * scale[:, None])[1].flip(-1)
    largest = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    return LatentFit((directions * largest.sign()).numpy(), balance.numpy(), tokens)


def keys_and_values(model: Transformer, ids: Sequence[int], layers: Sequence[int]) -> Float[Tensor, "layer token kv"]:
    """Keys before their rotation, then values, of all heads of some layers beside each other, on the CPU."""
    names = [f"blocks.{layer}.attn.{part}" for layer in layers for part in ("k", "v")]
    record = model.activations(one_text(model, ids), names)
    made = [record[name] for name in names]
    return torch.stack([_beside(*pair) for pair in zip(made[::2], made[1::2], strict=True)])


@torch.no_grad()
def with_latents(model: Transformer, fitted: LatentFit, rank: int) -> Transformer:
    """The model with latents of `rank` numbers in every layer: W_K and W_V are W_UK W_DKV and W_UV W_DKV. All other
    weights are shared with it, and it stays as it is."""
    shared: dict[int, object] = {id(one): one for one in (*model.parameters(), *model.buffers())}
    changed = copy.deepcopy(model, shared)
    for layer, block in enumerate(changed.stack.blocks):
        attention = cast("Block", block).attn
        down, up = (one.to(model.device) for one in matrices_of(fitted, layer, rank, _n_keys(model.config)))
        n_queries = model.config.attention.n_heads * model.config.head_size
        for name, weight in list(attention.qkv.named_parameters()):
            new = weight.detach().clone()
            new[n_queries:] = (up @ (down @ new[n_queries:].float())).to(new.dtype)
            setattr(attention.qkv, name, nn.Parameter(new, requires_grad=False))
    return changed


def matrices_of(
    fitted: LatentFit, layer: int, rank: int, n_keys: int
) -> tuple[Float[Tensor, "latent kv"], Float[Tensor, "kv latent"]]:
    """(down, up): keys and values to a latent, and back. W_DKV is `down` times W_K above W_V; `up` is W_UK above W_UV
    (arXiv:2405.04434, equations 9 to 11)."""
    directions = torch.tensor(fitted.directions[layer])[:, :rank]
    scale = _scale(torch.tensor(fitted.balance[layer : layer + 1]), n_keys, len(directions))[0]
    return (directions * scale[:, None]).T, directions / scale[:, None]


@dataclass(frozen=True, slots=True)
class CachedVectors:
    """The vectors of a text in one layer, as float32.

    Args:
        latent: of each token.
        rotated: the key of each token that all heads share, cached beside the latent; of no width where latents are
            fitted.
        made: keys, then values, of all heads beside each other, as the model makes them; the keys are rotated where it
            was trained with latents, and not yet where they are fitted.
        rebuilt: the same, made of what is cached alone.
        n_keys: numbers of the keys.
    """

    latent: Float[ndarray, "token latent"]
    rotated: Float[ndarray, "token rotated"]
    made: Float[ndarray, "token kv"]
    rebuilt: Float[ndarray, "token kv"]
    n_keys: int

    @property
    def bytes(self) -> tuple[int, int]:
        """Memory of what is cached, and of the keys and values in its place."""
        return self.latent.nbytes + self.rotated.nbytes, self.made.nbytes

    @property
    def errors(self) -> tuple[float, float]:
        """Squared length of the error over that of the vectors: of the keys, and of the values."""
        apart, n = (self.rebuilt - self.made) ** 2, self.n_keys
        squares = self.made**2
        keys, values = (float(apart[:, part].sum() / squares[:, part].sum()) for part in (slice(n), slice(n, None)))
        return keys, values

    @property
    def largest_error(self) -> float:
        """The largest absolute difference of a number."""
        return float(abs(self.rebuilt - self.made).max())


@torch.no_grad()
def own_vectors(model: Transformer, ids: Sequence[int], layer: int) -> CachedVectors:
    """What a model that was trained with latents caches of a text in one layer, and the keys and values made of that
    alone (arXiv:2405.04434, equations 10, 11, 14 and 17)."""
    attention = cast("LatentAttention", cast("Block", model.stack.blocks[layer]).attn)
    names = [f"blocks.{layer}.attn.{part}" for part in ("latent", "rot_k", "v")]
    record = model.activations(one_text(model, ids), names)
    latent, keys, values = (record[name] for name in names)
    rotated = keys[:, 0, :, : attention.rotated]  # the same in every head
    rebuilt = attention.keys_and_values(rotated, latent)
    return CachedVectors(
        latent=latent[0].float().cpu().numpy(),
        rotated=rotated[0].float().cpu().numpy(),
        made=_beside(keys, values).numpy(),
        rebuilt=_beside(*rebuilt).numpy(),
        n_keys=_n_keys(model.config),
    )


@torch.no_grad()
def fitted_vectors(model: Transformer, fitted: LatentFit, ids: Sequence[int], layer: int, rank: int) -> CachedVectors:
    """The latents of a text in one layer of a model that was trained without, and its keys and values rebuilt from
    them."""
    n_keys = _n_keys(model.config)
    down, up = matrices_of(fitted, layer, rank, n_keys)
    (made,) = keys_and_values(model, ids, [layer])
    latent = made @ down.T
    return CachedVectors(latent.numpy(), latent[:, :0].numpy(), made.numpy(), (latent @ up.T).numpy(), n_keys)


@torch.no_grad()
def loss(model: Transformer, ids: Sequence[int]) -> float:
    """Mean loss of a text, nats per token after the first."""
    return float(surprisal(model, ids).mean())


def moved(before: Float[ndarray, "query key"], after: Float[ndarray, "query key"]) -> float:
    """The share of a query's weight that is on other tokens, in the mean over the queries."""
    return float(abs(after - before).sum(-1).mean() / 2)


def _beside(
    keys: Float[Tensor, "1 head token d_key"], values: Float[Tensor, "1 head token d_value"]
) -> Float[Tensor, "token kv"]:
    """Keys, then values, of all heads beside each other, on the CPU."""
    return torch.cat([one[0].float().cpu().transpose(0, 1).flatten(1) for one in (keys, values)], dim=1)


def _layers(config: ModelConfig) -> range:
    return range(config.n_layers)


def _n_keys(config: ModelConfig) -> int:
    return config.attention.kv_heads * config.head_size


def _scale(balance: Float[Tensor, " layer"], n_keys: int, full: int) -> Float[Tensor, "layer kv"]:
    """1 for each number of the keys, the balance for each of the values."""
    scale = torch.ones(len(balance), full)
    scale[:, n_keys:] = balance[:, None]
    return scale
