"""Models broken on purpose, each by one change to a healthy one. Nothing of this belongs into the library itself."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from tfcore.attention import AttentionMask
from tfcore.block import Block
from tfcore.initialise import initialise
from tfcore.inspection.capture import ActivationRecorder
from tfcore.model import Transformer
from tfcore.norms import NoNorm, Norm

SMALLEST = 2.0**-24  # of the positive numbers of float16; half of it and less becomes 0


class AcrossBatch(Norm):
    """RMSNorm over the wrong axis: each feature is divided by its root mean square over the texts of the batch."""

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        recorder: ActivationRecorder | None = None,  # noqa: ARG002
        name: str = "",  # noqa: ARG002
    ) -> Float[Tensor, "batch seq d_model"]:
        mean_square = x.pow(2).mean(0, keepdim=True)  # right: mean(-1, keepdim=True), over the features of one token
        return x / (mean_square + self.eps).sqrt() * self.weight


class WithoutSkip(Block):
    """A block whose sublayers replace the stream instead of adding to it."""

    def forward(self, x: Tensor, attn_mask: AttentionMask, recorder: ActivationRecorder, **_: Any) -> Tensor:
        x = recorder("resid_pre", x)
        x = self.attn(self.ln1(x), attn_mask, recorder.under("attn."))  # right: x + ...
        x = self.mlp(self.ln2(recorder("resid_mid", x)), recorder)  # right: x + ...
        return recorder("resid_post", x)


def across_batch(model: Transformer) -> None:
    """Let every norm work over the texts of the batch instead of the features."""
    for block in model.decoder.blocks:
        block.ln1, block.ln2 = AcrossBatch(model.config), AcrossBatch(model.config)
    model.decoder.ln_final = AcrossBatch(model.config)


def without_skip(model: Transformer, seed: int) -> None:
    """Take the residual connections away; the weights start as those of the healthy model do."""
    config = model.config
    model.decoder.blocks = nn.ModuleList(WithoutSkip(config, i) for i in range(config.n_layers))
    initialise(model, config, seed)


def without_final_norm(model: Transformer) -> None:
    """Leave out the norm before the unembedding."""
    model.decoder.ln_final = NoNorm()  # type: ignore[assignment]


class HalfGradients:
    """What float16 does to gradients: each that goes back through a layer's output is rounded to float16.

    The weights and the forward pass stay in float32, so that nothing else is to blame. float16 knows nothing positive
    below 6e-8: half of that and less becomes 0, and no step afterwards can bring it back (arXiv:1710.03740, sec. 3.2).

    Args:
        model: its linear layers, embeddings and norms get hooks.

    Attributes:
        lost, seen: gradients that were not 0 and became 0, and all that were not 0, since the last reset.
    """

    def __init__(self, model: nn.Module) -> None:
        self.lost = self.seen = 0
        for layer in model.modules():
            if isinstance(layer, nn.Linear | nn.Embedding | Norm):
                layer.register_forward_hook(self._watch)

    def _watch(self, layer: nn.Module, inputs: object, output: Tensor) -> None:  # noqa: ARG002
        if output.requires_grad:
            output.register_hook(self.round)

    def round(self, gradient: Tensor) -> Tensor:
        """The gradient in float16, seen as float32 again."""
        rounded = gradient.half().float()
        self.lost += int(((rounded == 0) & (gradient != 0)).sum())
        self.seen += int((gradient != 0).sum())
        return rounded

    def reset(self) -> float:
        """The share that was lost since the last time."""
        share = self.lost / max(1, self.seen)
        self.lost = self.seen = 0
        return share
