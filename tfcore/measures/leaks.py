"""Whether anything of a later token reaches the outputs at earlier ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.mask_patterns import MaskConfig, of_layers
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class Leak:
    """The outputs of one text and of the same text with one token changed.

    Args:
        position: of the changed token.
        difference: per position, the largest absolute difference of a logit.
        before: the largest of those at positions before the changed token; 0.0 when there is none.
        equal: all logits before the changed token agree to the last bit.
        reached: how many positions before it are not equal.
    """

    position: int
    difference: Float[ndarray, " seq"]
    before: float
    equal: bool
    reached: int

    @property
    def before_text(self) -> str:
        """The largest difference before the changed token."""
        return f"{self.before:.3g}" if self.before else "0.0"

    @property
    def verdict(self) -> str:
        """The result of the test in words: how many positions before the changed token differ."""
        if self.equal:
            return "equal to the last bit"
        return f"{self.reached} of {self.position} earlier positions changed"


@torch.no_grad()
def masked_outputs(model: Transformer, ids: Sequence[int], config: MaskConfig) -> Float[Tensor, "seq output"]:
    """All logits of a model under a mask; of a model without a head, all hidden states."""
    output = model(one_text(model, ids), mask=of_layers(config, len(ids), model.config.n_layers))
    (outputs,) = output.logits if hasattr(output, "logits") else output.hidden
    return outputs.float().cpu()


def leak_test(
    model: Transformer,
    ids: Sequence[int],
    config: MaskConfig,
    position: int,
    replacement: int,
    unchanged: Float[Tensor, "seq output"] | None = None,
) -> Leak:
    """Run the whole model twice, the second time with another token at `position`, and compare all logits (of a model
    without a head: all hidden states).

    Two passes of the same shape, not one batch: a token's arithmetic then has the same order in both, so that where
    nothing leaks the outputs are the same numbers, not just close ones.

    Args:
        ids: the text, at least two tokens.
        position: of the token to change, from 1 on.
        replacement: the id to put there.
        unchanged: masked_outputs of the text as it is, where they are known.

    Raises:
        ValueError: a position outside the text or without a token before it, or a replacement that changes nothing.
    """
    if not 1 <= position < len(ids):
        raise ValueError(f"position={position} must be between 1 and {len(ids) - 1}, with a token before it")
    if ids[position] == replacement:
        raise ValueError(f"replacement={replacement} is the token that stands at {position} already")
    changed = [*ids[:position], replacement, *ids[position + 1 :]]
    first = masked_outputs(model, ids, config) if unchanged is None else unchanged
    second = masked_outputs(model, changed, config)
    difference = (first - second).abs().amax(1)  # (seq,)
    same = (first.view(torch.int32) == second.view(torch.int32)).all(1)[:position]  # bit by bit
    before = float(difference[:position].max())
    return Leak(position, difference.numpy(), before, bool(same.all()), int((~same).sum()))


_WORDS = (" dragon", " red", " she", ".", "a", "b")


def replacement_for(encode: Callable[[str], list[int]], token_id: int) -> int:
    """A token to put in the place of another: the same one each time, readable, and never the same as it."""
    around = set(encode(""))  # what some tokenizers put around every text
    inside = [[i for i in encode(word) if i not in around] for word in _WORDS]
    whole = [i for ids in inside if len(ids) == 1 for i in ids]
    candidates = [*whole, *(i for ids in inside for i in ids), 0, 1]
    return next(candidate for candidate in candidates if candidate != token_id)
