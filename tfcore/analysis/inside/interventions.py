"""Zero ablation, mean ablation and scaling of heads and feed-forward layers, as edits of single passes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.inside.edit_effects import next_losses, run_each
from tfcore.analysis.one_text import one_text
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

Action = Literal["zero", "mean", "scale"]
MOST_PARTS = 200


class Part(NamedTuple):
    """One head, or with head None the feed-forward layer, of a layer."""

    layer: int
    head: int | None

    def __str__(self) -> str:
        return f"{self.layer}.{'ff' if self.head is None else self.head}"

    @property
    def name(self) -> str:
        """The activation that carries what the part writes."""
        return f"blocks.{self.layer}.{'mlp_out' if self.head is None else 'attn.z'}"

    @property
    def heads(self) -> dict[str, list[int]]:
        """Which heads of that activation, for an edit."""
        return {} if self.head is None else {"heads": [self.head]}


def parts_of(config: ModelConfig) -> list[list[Part]]:
    """All parts of a decoder, layer by layer: its heads, then its feed-forward layer where there is one."""
    heads = range(config.n_heads)
    has_forward = config.ff_size > 0 or config.experts is not None
    return [
        [*(Part(layer, head) for head in heads), *([Part(layer, None)] if has_forward else [])]
        for layer in range(config.decoder_layers)
    ]


def read_parts(said: str, config: ModelConfig) -> tuple[Part, ...]:
    """The parts named in a text such as "2.5 3.ff": layer.head, or layer.ff for a feed-forward layer.

    Raises:
        ValueError: a word that names no part of this model, and what would.
    """
    known = {str(part): part for layer in parts_of(config) for part in layer}
    words = list(dict.fromkeys(re.split(r"[\s,;]+", said.lower().strip()))) if said.strip() else []
    for word in words:
        if word not in known:
            names = list(known)
            raise ValueError(f"{word!r} is no part of this model; possible: {names[0]}, {names[1]} ... {names[-1]}")
    return tuple(sorted((known[word] for word in words), key=lambda part: (part.layer, part.head is None, part.head)))


@torch.no_grad()
def edits_for(
    model: Transformer,
    ids: Sequence[int],
    parts: Sequence[Part],
    action: Action,
    factor: float = 0.0,
    positions: Sequence[int] | None = None,
) -> list[Edit]:
    """What is done to the parts, as edits of single passes.

    "zero": the part writes nothing. "mean": at every place it writes its mean over the tokens of this text, as they
    are in the whole model; the mean is taken here, once, so that it stays the same while the text is continued.
    "scale": what it writes, times the factor. A head is edited before W_O, which is linear, so all three are exact.
    """
    where = {} if positions is None else {"positions": list(positions)}
    if action == "zero":
        return [Edit.zero(part.name, **part.heads, **where) for part in parts]
    if action == "scale":
        return [Edit.scale(part.name, factor, **part.heads, **where) for part in parts]
    names = sorted({part.name for part in parts})
    kept = model(one_text(model, ids), capture=names).activations
    means = {name: value.mean(-2, keepdim=True) for name, value in kept.items()}  # over the tokens
    return [
        Edit.replace(part.name, means[part.name][:, part.heads.get("heads", slice(None))], **part.heads, **where)
        for part in parts
    ]


@dataclass(frozen=True, slots=True)
class Damage:
    """A text with each part of one layer ablated, one at a time.

    Args:
        loss: rise of the mean loss of the text, in nats per token.
        guess: fall of the log-probability of the whole model's best guess at the end of the text, in nats.
    """

    loss: Float[ndarray, " part"]
    guess: Float[ndarray, " part"]


@torch.no_grad()
def knock_out(model: Transformer, ids: Sequence[int], layer: int, action: Action, factor: float = 0.0) -> Damage:
    """Ablate (to zero or to the mean) or scale every part of a layer in turn: the loss increase of each."""
    sets = [edits_for(model, ids, [part], action, factor) for part in parts_of(model.config)[layer]]
    logits = torch.cat(list(run_each(model, ids, [(), *sets])))  # (1 + part, seq, vocab)
    chance = logits[:, -1].log_softmax(-1)
    best = int(chance[0].argmax())
    losses = next_losses(logits, ids).mean(-1) if len(ids) > 1 else torch.zeros(len(logits))
    damage = losses[1:] - losses[0], chance[0, best] - chance[1:, best]
    return Damage(*(value.cpu().numpy() for value in damage))


def goes_on(model: Transformer, ids: Sequence[int], edits: Sequence[Edit], new_tokens: int) -> list[int]:
    """The greedy continuation of a text under these edits, in every pass."""
    return generate(model, ids, max_new_tokens=new_tokens, temperature=0, edits=edits)


def changed(before: Sequence[int], after: Sequence[int]) -> list[bool]:
    """Which tokens of the second sequence are not carried over from the first, in a longest common alignment."""
    new = [True] * len(after)
    for block in SequenceMatcher(None, list(before), list(after), autojunk=False).get_matching_blocks():
        new[block.b : block.b + block.size] = [False] * block.size
    return new
