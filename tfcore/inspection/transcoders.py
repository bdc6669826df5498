"""Sparse dictionaries: transcoders of feed-forward layers, sparse autoencoders of the residual stream.

features = TopK(ReLU(W_enc x + b_enc))          (arXiv:2406.04093, section 2.3)
output   = features W_dec + b_dec               (arXiv:2406.11944, section 3.1)
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.checks import check_whole
from tfcore.inspection.edits import Edit
from tfcore.onednn import linear


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscoderConfig:
    """The shape of a dictionary and the two activations it stands between.

    Args:
        d_model: width of both activations.
        n_features: rows of the dictionary.
        top_k: how many features of a token may be above 0; the largest ones.
        reads: name of the activation it is given, such as "blocks.2.ln2.normalized".
        writes: name of the activation it predicts, such as "blocks.2.mlp_out"; the same as `reads` in an autoencoder.
        first: the first position it was trained on. At the very first tokens of a text some models write vectors a
            hundred times as long as elsewhere (arXiv:2402.17762), which belong to the place and not to the token.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    d_model: int
    n_features: int
    top_k: int
    reads: str
    writes: str
    first: int = 0

    def __post_init__(self) -> None:
        check_whole(self, d_model=(1, 65_536), n_features=(1, 1_048_576), top_k=(1, 1_048_576), first=(0, 64))
        for name in ("reads", "writes"):
            if not isinstance(value := getattr(self, name), str) or not value:
                raise ValueError(f"{name}={value!r} must be the name of an activation, such as 'blocks.0.mlp_out'")
        if self.top_k > self.n_features:
            raise ValueError(f"top_k={self.top_k} is more than n_features={self.n_features}; possible: 1 to n_features")

    @classmethod
    def of_mlp(cls, layer: int, **shape: int) -> "TranscoderConfig":
        """A transcoder: from what the feed-forward layer of a block reads, after its norm, to what it writes."""
        return cls(reads=f"blocks.{layer}.ln2.normalized", writes=f"blocks.{layer}.mlp_out", **shape)

    @classmethod
    def of_stream(cls, layer: int, **shape: int) -> "TranscoderConfig":
        """A sparse autoencoder of the residual stream after a block."""
        return cls(reads=f"blocks.{layer}.resid_post", writes=f"blocks.{layer}.resid_post", **shape)

    @property
    def is_autoencoder(self) -> bool:
        """Whether it predicts the very activation it reads."""
        return self.reads == self.writes

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the weights."""
        rows = (self.n_features, self.d_model)
        return {"W_enc": rows, "b_enc": rows[:1], "W_dec": rows, "b_dec": rows[1:]}

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values, for config.json."""
        return asdict(self)


class Transcoder(nn.Module):
    """A wide, sparse stand-in for a layer (arXiv:2406.11944), with at most top_k features a token (arXiv:2406.04093).

    Each row of W_dec has length 1, so that an activation is the length of what its feature writes. Differs from the
    papers in that nothing is taken away from x before W_enc: what training takes away is folded into b_enc.

    Args:
        seed: of the initial weights: random directions, the same for reading and for writing; biases 0.
    """

    def __init__(self, config: TranscoderConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        shape = (config.n_features, config.d_model)
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        directions = drawn / drawn.norm(dim=-1, keepdim=True)
        self.W_enc = nn.Parameter(directions.clone())
        self.b_enc = nn.Parameter(torch.zeros(config.n_features))
        self.W_dec = nn.Parameter(directions)
        self.b_dec = nn.Parameter(torch.zeros(config.d_model))

    def before_top_k(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch feature"]:
        """W_enc x + b_enc: the activations of all features before ReLU and TopK."""
        return linear(x, self.W_enc, self.b_enc)

    def top_features(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> tuple[Float[Tensor, "*batch choice"], Int[Tensor, "*batch choice"]]:
        """The top_k largest activations of each vector, the largest first, and which features they are of; those that
        ReLU makes 0 are among them where fewer are above 0."""
        values, indices = self.before_top_k(x).topk(self.config.top_k, dim=-1)
        return values.relu(), indices

    def encode(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch feature"]:
        """Activations of all features, 0 for all but the top_k largest of each vector."""
        values, indices = self.top_features(x)
        return values.new_zeros(*x.shape[:-1], self.config.n_features).scatter(-1, indices, values)

    def decode(self, features: Float[Tensor, "*batch feature"]) -> Float[Tensor, "*batch d_model"]:
        """The sum of what the features write: their rows of W_dec, each times its activation, and b_dec."""
        return features @ self.W_dec + self.b_dec

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """The prediction of `writes` from `reads`."""
        return self.decode(self.encode(x))


class SparseAutoencoder(Transcoder):
    """A dictionary that predicts what it reads (arXiv:2309.08600, arXiv:2406.04093).

    Raises:
        ValueError: a config that writes another activation than it reads.
    """

    def __init__(self, config: TranscoderConfig, seed: int = 0) -> None:
        if not config.is_autoencoder:
            raise ValueError(
                f"an autoencoder predicts what it reads, {config.reads!r}, and not {config.writes!r}; use Transcoder"
            )
        super().__init__(config, seed)


def module_of(config: TranscoderConfig, seed: int = 0) -> Transcoder:
    """A SparseAutoencoder or a Transcoder, as the config says."""
    return (SparseAutoencoder if config.is_autoencoder else Transcoder)(config, seed)


def substitute(transcoders: Iterable[Transcoder]) -> list[Edit]:
    """Edits that put the predictions of dictionaries in the place of what they predict, for one forward pass; positions
    before the first that a dictionary was trained on stay as they are.

    A transcoder reads what its layer is given in the very pass, so that the errors of lower layers reach it.
    """
    return [edit for transcoder in transcoders for edit in _substitute(transcoder)]


def _substitute(transcoder: Transcoder) -> list[Edit]:
    config = transcoder.config
    read: list[Tensor] = []  # what the layer is given, between the two edits

    def keep(x: Tensor) -> Tensor:
        read.append(x)
        return x

    def predict(y: Tensor) -> Tensor:
        x = y if config.is_autoencoder else read.pop()
        return torch.cat((y[:, : config.first], transcoder(x[:, config.first :])), dim=1)

    edits = [Edit(config.writes, predict)]
    return edits if config.is_autoencoder else [Edit(config.reads, keep), *edits]
