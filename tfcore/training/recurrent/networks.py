"""A plain RNN, an LSTM and a Transformer with as nearly the same number of parameters as whole widths allow."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.checks import check_number, check_whole
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, PositionsConfig

Kind = Literal["rnn", "lstm", "transformer"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAMES: dict[Kind, str] = {"rnn": "RNN", "lstm": "LSTM", "transformer": "Transformer"}
IN_SENTENCE: dict[Kind, str] = {"rnn": "the RNN", "lstm": "the LSTM", "transformer": "the Transformer"}
MOST_WIDTH = 1_024  # of a recurrent network


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """The three networks.

    Args:
        vocab_size: token ids.
        d_model: width of the Transformer; those of the recurrent networks follow from its number of parameters.
        n_layers, n_heads: of the Transformer; the recurrent networks have one layer.
        gain: factor of the RNN's recurrent weights at the start.
        context: tokens that the Transformer can read at most.
        forget_bias: added to the LSTM's forget gates at the start (Gers et al., 2000; 1 is usual).
        seed: of the initial weights.

    Raises:
        ValueError: naming the value and what would do.
    """

    vocab_size: int
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    context: int = 128
    gain: float = 1.0
    forget_bias: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, vocab_size=(2, 256), d_model=(8, 256), n_layers=(1, 4), n_heads=(1, 8), seed=(0, 9_999))
        check_whole(self, context=(1, 8_192))
        check_number(self, gain=(0.0, 4.0), forget_bias=(-10.0, 10.0))

    @property
    def transformer(self) -> ModelConfig:
        """Pre-norm, learned positions, feed-forward layers of 4 d_model with ReLU, as in the lab."""
        return ModelConfig(
            vocab_size=self.vocab_size,
            d_model=self.d_model,
            n_layers=self.n_layers,
            attention=AttentionConfig(n_heads=self.n_heads),
            feed_forward=FeedForwardConfig(d_ff=4 * self.d_model, activation="relu"),
            positions=PositionsConfig(kind="learned"),
            max_seq_len=self.context,
            tie_embeddings=False,
        )


class RecurrentNetwork(nn.Module):
    """Embedding, one layer of torch.nn.RNN or torch.nn.LSTM, and a linear layer to the logits.

    RNN:  h_t = tanh(W_x x_t + b_x + W_h h_{t-1} + b_h)
    LSTM: i, f, g, o = gates of W_x x_t + b_x + W_h h_{t-1} + b_h;  c_t = f c_{t-1} + i g;  h_t = o tanh(c_t)

    Args:
        kind: "rnn" or "lstm".
        width: of the state and the embedding.
        gain, forget_bias: see NetworkConfig.
    """

    def __init__(self, kind: Kind, vocab_size: int, width: int, seed: int, gain: float, forget_bias: float) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # torch's own layers draw from the global generator
            torch.manual_seed(seed)
            self.embed = nn.Embedding(vocab_size, width)
            self.layer: nn.RNNBase = (nn.LSTM if kind == "lstm" else nn.RNN)(width, width, batch_first=True)
            self.unembed = nn.Linear(width, vocab_size)
        with torch.no_grad():
            if kind == "lstm":  # torch's order of the gates is i, f, g, o
                self.layer.get_parameter("bias_hh_l0")[width : 2 * width] += forget_bias
            else:
                self.recurrent.mul_(gain)

    @property
    def recurrent(self) -> Float[Tensor, "gates_width width"]:
        """W_h: from the state before."""
        return self.layer.get_parameter("weight_hh_l0")

    @property
    def inward(self) -> Float[Tensor, "gates_width width"]:
        """W_x: from the embedding."""
        return self.layer.get_parameter("weight_ih_l0")

    @property
    def biases(self) -> Float[Tensor, " gates_width"]:
        """b_x + b_h."""
        return self.layer.get_parameter("bias_ih_l0") + self.layer.get_parameter("bias_hh_l0")

    def forward(self, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        """Logits of the next token at every position."""
        states, _ = self.layer(self.embed(ids))
        return self.unembed(states)


Network = RecurrentNetwork | Transformer


def parameter_count(network: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(parameter.numel() for parameter in network.parameters())


@cache
def sizes(config: NetworkConfig) -> dict[Kind, tuple[int, int]]:
    """(width, parameters) of each network; a recurrent one has the width that comes nearest to the Transformer's
    number of parameters."""
    with torch.device("meta"):
        wanted = parameter_count(Transformer(config.transformer))
    by_kind: dict[Kind, tuple[int, int]] = {"transformer": (config.d_model, wanted)}
    for kind in ("rnn", "lstm"):
        counts = {width: _recurrent_parameters(kind, config.vocab_size, width) for width in range(1, MOST_WIDTH)}
        width = min(counts, key=lambda width: abs(counts[width] - wanted))
        by_kind[kind] = width, counts[width]
    return by_kind


def _recurrent_parameters(kind: Kind, vocab_size: int, width: int) -> int:
    """Embedding, both matrices and both biases of each gate, and the linear layer with its bias."""
    gates = 4 if kind == "lstm" else 1
    return vocab_size * width + gates * (2 * width * width + 2 * width) + vocab_size * width + vocab_size


def network(config: NetworkConfig, kind: Kind) -> Network:
    """The network of this kind, one of three, with its initial weights."""
    if kind == "transformer":
        return Transformer(config.transformer, config.seed)
    width, _ = sizes(config)[kind]
    return RecurrentNetwork(kind, config.vocab_size, width, config.seed, config.gain, config.forget_bias)
