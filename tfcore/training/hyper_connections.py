"""Hyper-connections: several residual streams, which every layer reads, writes and mixes by learned weights."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.attention import AttentionContext
from tfcore.block import Block, Stream
from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.model import Transformer

STREAMS = 4  # arXiv:2409.19606, section 4.1: more gain little


def read_from(
    streams: Float[Tensor, "batch seq stream d_model"], read: Float[Tensor, " stream"]
) -> Float[Tensor, "batch seq d_model"]:
    """What a layer reads: the streams, weighted (arXiv:2409.19606, equation 3)."""
    return torch.einsum("bsmd,m->bsd", streams, read)


def write_to(
    streams: Float[Tensor, "batch seq stream d_model"],
    output: Float[Tensor, "batch seq d_model"],
    write: Float[Tensor, " stream"],
    mix: Float[Tensor, "stream stream"],
) -> Float[Tensor, "batch seq stream d_model"]:
    """The streams after a layer: each a mixture of all, plus its weight times the layer's output (arXiv:2409.19606,
    equation 5).

    Args:
        mix: how much of a stream (row) goes into another (column).
    """
    return torch.einsum("bsmd,mn->bsnd", streams, mix) + output[..., None, :] * write[:, None]


class HyperConnection(nn.Module):
    """The weights around one layer in their static form. At first it reads one stream, leaves all as they are and
    writes to each what it would write to the only one (arXiv:2409.19606, equation 14).

    Args:
        place: of the layer among all, attention and feed-forward layers counted alike; which stream it reads at first.
    """

    def __init__(self, place: int) -> None:
        super().__init__()
        self.read = nn.Parameter(torch.eye(STREAMS)[place % STREAMS].clone())
        self.write = nn.Parameter(torch.ones(STREAMS))
        self.mix = nn.Parameter(torch.eye(STREAMS))

    @torch.no_grad()
    def matrix(self) -> Float[Tensor, "stream+1 stream+1"]:
        """All weights in one: rows are the layer's output and the streams before it, columns its input and the streams
        after it (arXiv:2409.19606, equation 2)."""
        above = torch.cat((torch.zeros(1, device=self.write.device), self.write))
        return torch.cat((above[None], torch.cat((self.read[:, None], self.mix), dim=1)))


class HyperBlock(Block):
    """A pre-norm block between several streams. The first spreads the embeddings over all of them and the last takes
    their mean; the paper takes their sum, which is the same to the norm that follows.

    Raises:
        ValueError: another wiring than pre-norm.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__(config, layer)
        if config.norm.placement != "pre" or config.parallel:
            raise ValueError(
                f"hyper-connections stand around pre-norm layers one after the other, not placement="
                f"{config.norm.placement!r} with parallel={config.parallel}"
            )
        self.is_last = layer == config.n_layers - 1
        self.connections = nn.ModuleDict({f"ln{1 + place}": HyperConnection(2 * layer + place) for place in (0, 1)})

    def forward(self, x: Tensor, context: AttentionContext, recorder: ActivationRecorder, **options: Any) -> Tensor:
        """As Block.forward; between blocks x is (batch, seq, stream, d_model), and so are the records of the stream."""
        if self.layer == 0:
            x = x[:, :, None].expand(-1, -1, STREAMS, -1)
        x = super().forward(x, context, recorder, **options)
        return x.mean(2) if self.is_last else x

    def _add(
        self, x: Tensor, layer: Callable[[Stream], Stream], norm: str, name: str, recorder: ActivationRecorder
    ) -> Tensor:
        around = cast("HyperConnection", self.connections[norm])
        y = recorder(name, layer(getattr(self, norm)(read_from(x, around.read), recorder, norm)))
        return write_to(x, self.dropout(y), around.write, around.mix)


class HyperTransformer(Transformer):
    """A decoder whose blocks have hyper-connections; its weights begin as those of a decoder of the same seed, and its
    logits too."""

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__(config, seed)
        for layer, block in enumerate(self.decoder.blocks):
            wider = HyperBlock(config, layer).to(self.device)
            wider.load_state_dict(block.state_dict() | wider.connections.state_dict(prefix="connections."))
            self.decoder.blocks[layer] = wider


def connections_of(model: nn.Module) -> Iterator[Float[Tensor, "stream+1 stream+1"]]:
    """The weights around each layer, as HyperConnection.matrix has them, in the order of the layers."""
    for part in model.modules():
        if isinstance(part, HyperConnection):
            yield part.matrix()
