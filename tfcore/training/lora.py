"""LoRA: a low-rank update beside frozen matrices (arXiv:2106.09685).

W' x = W x + (alpha / r) B A x    with A (r, d_in) and B (d_out, r); W is frozen, A and B are trained (equation 3)

B begins at zero, so the model begins as it was; A is drawn at random. The paper adapts the query and value matrices of
attention; we adapt every matrix of the blocks, as later practice does (arXiv:2305.14314).
"""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn

from tfcore.linear import Linear, low_rank_update
from tfcore.loading.adapters import BEFORE, LINEAR, WEIGHTS
from tfcore.loading.hub import ADAPTER
from tfcore.model import Transformer


class LoRALinear(nn.Module):
    """A frozen linear layer with a trained update of rank r beside it.

    Args:
        base: the layer; its weights are frozen and never changed.
        rank: r.
        alpha: the update is multiplied by alpha / r.
        generator: draws A.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float, generator: torch.Generator) -> None:
        super().__init__()
        if not 1 <= rank <= min(base.weight.shape):
            raise ValueError(
                f"rank={rank} must be between 1 and {min(base.weight.shape)}, the smaller side of a matrix of "
                f"{tuple(base.weight.shape)}"
            )
        d_out, d_in = base.weight.shape
        self.base = base.requires_grad_(False)
        self.scale = alpha / rank
        bound = 1 / math.sqrt(d_in)
        drawn = torch.empty(rank, d_in).uniform_(-bound, bound, generator=generator)
        self.a = nn.Parameter(drawn.to(base.weight.device))
        self.b = nn.Parameter(torch.zeros(d_out, rank, device=base.weight.device))

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """W x + (alpha / r) B A x; the (d_out, d_in) product B A is never written out."""
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)

    @torch.no_grad()
    def merged(self) -> Linear:
        """One linear layer of weight W + (alpha / r) B A: as fast as before the training."""
        d_out, d_in = self.base.weight.shape
        layer = Linear(d_in, d_out, bias=self.base.bias is not None).to(self.a.device)
        layer.weight.copy_(self.base.weight + low_rank_update(self.a, self.b, self.scale))
        if self.base.bias is not None:
            layer.bias.copy_(self.base.bias)
        return layer


def add_lora_(model: Transformer, rank: int, alpha: float, seed: int = 0) -> None:
    """Freeze a decoder and put an update of rank r beside every matrix of its blocks, in place.

    Raises:
        ValueError: the rank is larger than a matrix allows.
    """
    model.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for parent, name, layer in _linear_layers(model):
        setattr(parent, name, LoRALinear(layer, rank, alpha, generator))


def merge_lora_(model: Transformer) -> None:
    """Replace every LoRALinear by the one layer it equals, in place."""
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, LoRALinear):
                setattr(parent, name, layer.merged())


def save_adapter(model: Transformer, folder: Path, base: str) -> None:
    """Write the updates of a model with LoRALinear layers as `peft` does, in float16, for `tfcore.load`.

    Args:
        base: name of the model that is changed; its folder lies beside this one.
    """
    layers = {name: one for name, one in model.named_modules() if isinstance(one, LoRALinear)}
    one = next(iter(layers.values()))
    rank = len(one.a)
    tensors = {}
    for name, layer in layers.items():
        for end, value in zip(LINEAR, (layer.a, layer.b), strict=True):
            tensors[f"{BEFORE}{name}{end}"] = value.detach().to("cpu", torch.float16).contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / WEIGHTS)
    said = {"peft_type": "LORA", "base_model_name_or_path": base, "r": rank, "lora_alpha": one.scale * rank}
    (folder / ADAPTER).write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def _linear_layers(model: Transformer) -> list[tuple[nn.Module, str, nn.Linear]]:
    return [
        (parent, name, layer)
        for parent in model.stack.blocks.modules()
        for name, layer in parent.named_children()
        if isinstance(layer, nn.Linear)
    ]
