"""Zero ablation, mean ablation and scaling of heads and feed-forward layers, and what they do to predictions.

Edits belong to one forward pass. The model is never changed, so whoever else uses it at the same time sees nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.capture import block_of, of_mixer
from tfcore.inspection.edits import Edit
from tfcore.measures.information import divergence
from tfcore.measures.one_text import one_text
from tfcore.measures.shared_layers import BATCH, PlainRun, in_rows, plain_run, rows_at_once
from tfcore.measures.text_loss import LN2, next_losses
from tfcore.model import NO_LOGITS, Transformer
from tfcore.part_configs import Part as StackName


@dataclass(frozen=True, slots=True)
class Effect:
    """A model's prediction after one position, before and after edits, and its loss on the whole text.

    Args:
        before, after: probability of every token, or of every class.
        losses_before, losses_after: nats, of every next token of the text.
    """

    before: Float[ndarray, " vocab"]
    after: Float[ndarray, " vocab"]
    losses_before: Float[ndarray, " next"]
    losses_after: Float[ndarray, " next"]

    @property
    def bits(self) -> float:
        """KL(before || after) in bits."""
        nats = float(divergence(torch.tensor(self.before).log(), torch.tensor(self.after).log()))
        return max(0.0, nats) / LN2  # of two that are the same but for rounding it may come out below 0


@torch.no_grad()
def effect(model: Transformer, ids: Sequence[int], edits: Sequence[Edit], position: int | None = None) -> Effect:
    """The prediction after `position` (None: the answer to the text), and the losses of a text, without and with
    edits."""
    run = plain_run(model, ids)
    return effect_between(model, run_edited(model, run, ()), run_edited(model, run, edits), position)


@dataclass(frozen=True, slots=True)
class EditedRun:
    """One pass over a text under edits, small enough to be kept: from it the prediction after each position follows.

    Args:
        hidden: the states that the unembedding reads.
        losses: nats, of every next token of the text; of none where the model does not say what comes next.
    """

    hidden: Float[Tensor, "seq d_model"]
    losses: Float[ndarray, " next"]


@torch.no_grad()
def run_edited(model: Transformer, run: PlainRun, edits: Sequence[Edit]) -> EditedRun:
    """A text run under edits, from the lowest layer that they change on; below it the plain run is taken."""
    if not edits:
        hidden = run.hidden
    elif all(IN_A_BLOCK.match(edit.name) for edit in edits):
        layer = min(block_of(edit.name, model.config) for edit in edits)
        hidden = model.resume(run.streams[layer], layer, edits=edits, other=run.other(layer))
    else:
        hidden = model(one_text(model, run.ids), edits=edits, logits_to_keep=NO_LOGITS).hidden
    if not model.config.scores_tokens:
        return EditedRun(hidden.squeeze(0), np.zeros(0, np.float32))
    logits = cast("Tensor", model.to_logits(hidden)).float()
    return EditedRun(hidden.squeeze(0), next_losses(logits, run.ids).squeeze(0).cpu().numpy())


@torch.no_grad()
def effect_between(model: Transformer, before: EditedRun, after: EditedRun, position: int | None = None) -> Effect:
    """The prediction after `position` (None: the answer to the text), and the losses of a text, in two runs that are
    there already."""
    both = torch.stack([before.hidden, after.hidden])
    states = model.answer_state(both) if position is None else both[:, position]
    logits = cast("Tensor", model.to_logits(states)).float()
    first, second = logits.softmax(1).cpu().numpy()
    return Effect(first, second, before.losses, after.losses)


def run_each(
    model: Transformer, ids: Sequence[int], sets: Sequence[Sequence[Edit]]
) -> Iterator[Float[Tensor, "row seq vocab"]]:
    """The logits of a text under each set of edits; BATCH sets share a pass, each in a row of its own.

    Where experts have a limited capacity, rows of a batch would compete for it, so the sets run one by one.
    """
    step = rows_at_once(model.config, BATCH)
    with torch.no_grad():
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            yield model(one_text(model, ids).expand(len(part), -1), edits=in_rows(part)).logits.float()


Action = Literal["zero", "mean", "scale"]
IN_A_BLOCK = re.compile(r"((en|de)coder\.)?blocks\.[0-9]+\.")  # how names of activations of one block begin


ABLATIONS: dict[Action, str] = {"zero": "zero ablation", "mean": "mean ablation"}


Whole = Literal["mix", "ff"]  # a part of a layer that is no head


class Part(NamedTuple):
    """One head of a layer, or all of its feed-forward layer ("ff"), or all of its convolution, or of its state beside
    attention ("mix").

    Args:
        stack: of an encoder-decoder, the stack that the layer is in, or "cross" for a head of the decoder that attends
            to the encoder's tokens; None in a model of one stack.
    """

    layer: int
    head: int | Whole
    stack: StackName | None = None

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}" if self.stack is None else f"{self.stack}.{self.layer}.{self.head}"

    @property
    def is_head(self) -> bool:
        """Whether it is a head, of attention or of a state in its place."""
        return isinstance(self.head, int)

    @property
    def kind(self) -> Literal["head", "mixer", "feed-forward"]:
        """What it is."""
        return "head" if self.is_head else "mixer" if self.head == "mix" else "feed-forward"

    @property
    def place(self) -> tuple[bool, int, bool, bool, int]:
        """Its place among all parts, in the order of `parts_of`."""
        row = self.stack in ("decoder", "cross"), self.layer, self.stack == "cross"
        if isinstance(self.head, int):
            return *row, False, self.head
        return *row, True, int(self.head == "ff")

    @property
    def heads(self) -> dict[str, list[int]]:
        """Which heads of its activation, for an edit."""
        return {"heads": [self.head]} if isinstance(self.head, int) else {}

    def name(self, config: ModelConfig) -> str:
        """The activation that carries what the part writes."""
        stack = {None: "", "encoder": "encoder."}.get(self.stack, "decoder.")
        if self.is_head:
            return f"{stack}blocks.{self.layer}.{'cross_attn' if self.stack == 'cross' else 'attn'}.z"
        return f"{stack}blocks.{self.layer}.{'mlp_out' if self.head == 'ff' else of_mixer(config, self.layer)}"

    def block(self, config: ModelConfig) -> int:
        """The block that it is in, counted through both stacks."""
        return block_of(self.name(config), config)


def rows_of(config: ModelConfig) -> list[tuple[int, StackName | None]]:
    """The layers whose parts are a row of `parts_of` each: those of one stack; of an encoder-decoder those of the
    encoder, then each of the decoder and its attention to the encoder's tokens."""
    if config.architecture != "encoder-decoder":
        return [(layer, None) for layer in range(config.n_layers)]
    above: tuple[StackName, ...] = "decoder", "cross"
    encoder: list[tuple[int, StackName | None]] = [(layer, "encoder") for layer in range(config.encoder_layers)]
    return encoder + [(layer, stack) for layer in range(config.decoder_layers) for stack in above]


def parts_of(config: ModelConfig) -> list[list[Part | None]]:
    """All parts of a model, a row a layer: its heads, then, of models that have such, its convolution or its state
    beside attention, and its feed-forward layer; None where a layer lacks what others have. Of an encoder-decoder see
    rows_of; the feed-forward layer of a block of the decoder is in the row of its attention to its own tokens."""
    rows = rows_of(config)
    heads = [_heads_of(config, layer) for layer, _ in rows]
    mixes = [config.carried_by(i) == "conv" or config.mixer_of(i) == "attention+ssm" for i, _ in rows]
    feeds = [(config.is_plain(i) or config.is_routed(i)) and stack != "cross" for i, stack in rows]
    wholes: list[tuple[Whole, list[bool]]] = [("mix", mixes), ("ff", feeds)]
    return [
        [
            *(Part(layer, head, stack) if head < heads[row] else None for head in range(max(heads))),
            *(Part(layer, whole, stack) if there[row] else None for whole, there in wholes if any(there)),
        ]
        for row, (layer, stack) in enumerate(rows)
    ]


def rows_named(config: ModelConfig) -> list[str]:
    """Names of the rows of `parts_of` where they are not the layers of one stack, as in "encoder 0" or "cross 2"."""
    return [f"{stack} {layer}" for layer, stack in rows_of(config) if stack is not None]


def columns_of(parts: Sequence[Sequence[Part | None]]) -> list[str]:
    """Short names of the columns of `parts_of`."""
    named = [next(str(part.head) for part in column if part is not None) for column in zip(*parts, strict=True)]
    return ["FF" if name == "ff" else name for name in named]


def titles_of(parts: Sequence[Sequence[Part | None]]) -> list[list[str]]:
    """The titles of all parts, empty where there is none."""
    return [["" if part is None else part_title(part) for part in layer] for layer in parts]


def flat_parts(parts: Sequence[Sequence[Part | None]]) -> list[Part]:
    """All parts there are, layer by layer."""
    return [part for layer in parts for part in layer if part is not None]


def _heads_of(config: ModelConfig, layer: int) -> int:
    """How many heads write `attn.z` in a layer."""
    if config.attends(layer):
        return config.attention.n_heads
    return 0 if config.mixer is None or config.carried_by(layer) in (None, "conv") else config.mixer.n_heads


def read_parts(text: str, config: ModelConfig) -> tuple[Part, ...]:
    """The parts named in a text such as "2.5 3.ff": layer.head, layer.ff for a feed-forward layer, or layer.mix for a
    convolution or a state beside attention; of an encoder-decoder as in "encoder.2.5 decoder.3.ff cross.0.1".

    Raises:
        ValueError: a word that names no part of this model, and what would.
    """
    known = {str(part): part for part in flat_parts(parts_of(config))}
    words = list(dict.fromkeys(re.split(r"[\s,;]+", text.lower().strip()))) if text.strip() else []
    for word in words:
        if word not in known:
            names = list(known)
            raise ValueError(f"{word!r} is no part of this model; possible: {names[0]}, {names[1]} ... {names[-1]}")
    return tuple(part for name, part in known.items() if name in words)


@torch.no_grad()
def edits_for(
    model: Transformer,
    ids: Sequence[int],
    parts: Sequence[Part],
    action: Action,
    factor: float = 0.0,
    positions: Sequence[int] | None = None,
) -> list[Edit]:
    """Edits that ablate or scale parts of a model, at `positions` or (None) at every token.

    "zero": the part writes nothing. "mean": at every position it writes its mean over the tokens of this text, as they
    are in the whole model; the mean is taken here, once, so that it stays the same while the text is continued.
    "scale": what it writes, times the factor. A head is edited before W_O, which is linear, so all three are exact.
    """
    where = {} if positions is None else {"positions": list(positions)}
    if action == "zero":
        return [Edit.zero(part.name(model.config), **part.heads, **where) for part in parts]
    if action == "scale":
        return [Edit.scale(part.name(model.config), factor, **part.heads, **where) for part in parts]
    names = {part: part.name(model.config) for part in parts}
    kept = model.activations(one_text(model, ids), sorted(set(names.values())))
    means = {name: ablated(value, action) for name, value in kept.items()}
    return [
        Edit.replace(name, means[name][:, part.heads["heads"]] if part.is_head else means[name], **part.heads, **where)
        for part, name in names.items()
    ]


def ablated(value: Float[Tensor, "*batch seq d"], action: Action) -> Float[Tensor, "*batch #seq d"]:
    """The value in the place of an activation that is ablated: zero, or its mean over the tokens."""
    return value.mean(-2, keepdim=True) if action == "mean" else torch.zeros_like(value[..., :1, :])


def continue_text(model: Transformer, ids: Sequence[int], edits: Sequence[Edit], new_tokens: int) -> list[int]:
    """The greedy continuation of a text under these edits, in every pass."""
    return generate(model, ids, Sampling(temperature=0), max_new_tokens=new_tokens, edits=edits)


def changed(before: Sequence[int], after: Sequence[int]) -> list[bool]:
    """Which tokens of the second sequence are not in the first, in a longest common alignment."""
    new = [True] * len(after)
    for block in SequenceMatcher(None, list(before), list(after), autojunk=False).get_matching_blocks():
        new[block.b : block.b + block.size] = [False] * block.size
    return new


def part_title(part: Part) -> str:
    """The title of a part, as in "head 2.5", "feed-forward 1", "mixer 0" or "cross-attention head 2.5"."""
    stack = {None: "", "cross": "cross-attention "}.get(part.stack, f"{part.stack} ")
    return f"{stack}head {part.layer}.{part.head}" if part.is_head else f"{stack}{part.kind} {part.layer}"


def written(parts: Iterable[Part]) -> str:
    """The parts as `read_parts` reads them, in the order of the layers."""
    return " ".join(map(str, sorted(parts, key=lambda part: part.place)))


def compared_tokens(compared: Effect, token: int, count: int) -> list[int]:
    """A token with the `count` most probable ones before and after, those with a high probability in either first."""
    tops = [np.argsort(-probability)[:count].tolist() for probability in (compared.before, compared.after)]
    chosen = dict.fromkeys([token, *tops[0], *tops[1]])
    return sorted(chosen, key=lambda i: -max(compared.before[i], compared.after[i]))
