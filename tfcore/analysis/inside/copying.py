"""A text that repeats itself, through a model with any of its heads switched off: stripes, scores, losses."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.foundations.heads import mean_weight, targets
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

Place = tuple[int, int]  # layer, head
MEASURED = ("induction", "previous token", "duplicate")
STRONG = 1 / 3  # a head is counted among its kind from this mean weight on
ROWS = 8  # rows of random tokens that a measure is averaged over


@dataclass(frozen=True, slots=True)
class Copying:
    """A model on rows of tokens that repeat.

    Args:
        ids: the first row.
        patterns: attention weights on the first row.
        scores: kind -> mean weight over the rows, see tfcore.analysis.foundations.heads.HeadScores.
        losses: nats, of the token after each position, mean over the rows.
        new, repeated: which of these tokens come for the first time, and which could be known from what was before.
            Where a text is said twice, the step from one copy to the next is neither.
    """

    ids: Int[ndarray, " seq"]
    patterns: Float[ndarray, "layer head query key"]
    scores: dict[str, Float[ndarray, "layer head"]]
    losses: Float[ndarray, " token"]
    new: Bool[ndarray, " token"]
    repeated: Bool[ndarray, " token"]

    @property
    def first_loss(self) -> float:
        """Mean loss of what is new: on the first copy."""
        return float(self.losses[self.new].mean()) if self.new.any() else 0.0

    @property
    def second_loss(self) -> float:
        """Mean loss of what is repeated: on the second copy."""
        return float(self.losses[self.repeated].mean()) if self.repeated.any() else 0.0

    def strong(self, kind: str) -> list[Place]:
        """The heads of a kind, the strongest first."""
        scores = self.scores[kind]
        return [place for place in ranked(scores) if scores[place] >= STRONG]


def ranked(scores: Float[ndarray, "layer head"]) -> list[Place]:
    """All heads, the highest score first."""
    places = [(int(layer), int(head)) for layer, head in np.ndindex(scores.shape)]
    return sorted(places, key=lambda place: -scores[place])


def random_rows(vocab_size: int, length: int, rows: int, seed: int) -> Int[Tensor, "rows seq"]:
    """Random tokens, none of them twice in a row, so that nothing but the repetition to come can be known."""
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(vocab_size, generator=generator)[:length] for _ in range(rows)])


def twice(once: Int[Tensor, "rows seq"]) -> Int[Tensor, "rows twice"]:
    """Each row, and again."""
    return torch.cat((once, once), dim=1)


def foreseeable(ids: Int[ndarray, " seq"]) -> Bool[ndarray, " token"]:
    """Which next tokens a perfect induction head would have among its guesses: A was there before, and B followed
    it then as it does now. Entry i is about token i + 1."""
    pairs = list(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True))
    first = {pair: i for i, pair in reversed(list(enumerate(pairs)))}
    return np.array([first[pair] < i for i, pair in enumerate(pairs)], dtype=bool)


def switched_off(heads: Iterable[Place]) -> list[Edit]:
    """Edits that keep these heads from writing: what each brings from the tokens it looks at becomes 0."""
    return [Edit.zero(f"blocks.{layer}.attn.z", heads=[head]) for layer, head in heads]


@torch.no_grad()
def copying(
    model: Transformer,
    ids: Int[Tensor, "rows seq"],
    length: int | None = None,
    off: Collection[Place] = (),
    edits: Collection[Edit] = (),
) -> Copying:
    """Run rows through a model without some heads: where heads look, and the loss of every token.

    Args:
        ids: the rows.
        length: of one copy, where each row is said twice; None for a text as it is, one row.
        off: (layer, head) of heads that write nothing.
        edits: other changes to activations.

    Raises:
        ValueError: fewer than two tokens, or a model that does not predict the next one.
    """
    config, seq = model.config, ids.shape[1]
    if config.architecture != "decoder" or seq < 2:
        raise ValueError(f"copying needs a decoder and two tokens; got a {config.architecture} and {seq}")
    ids = ids.to(model.embed.weight.device)
    names = [f"blocks.{i}.attn.pattern" for i in range(config.n_layers)]
    output = model(ids, capture=names, edits=[*switched_off(off), *edits])
    losses = F.cross_entropy(output.logits[:, :-1].float().mT, ids[:, 1:], reduction="none").mean(0)
    patterns = torch.stack([output.activations[name] for name in names], dim=1).float().cpu().numpy()
    rows = [scores_of(pattern, row) for pattern, row in zip(patterns, ids.cpu().numpy(), strict=True)]
    place = np.arange(seq - 1)
    new = place < length - 1 if length else ~foreseeable(ids[0].cpu().numpy())
    repeated = place >= length if length else ~new
    scores = {kind: np.mean([row[kind] for row in rows], axis=0) for kind in MEASURED}
    return Copying(ids[0].cpu().numpy(), patterns[0], scores, losses.cpu().numpy(), new, repeated)


def scores_of(
    patterns: Float[ndarray, "layer head query key"], ids: Int[ndarray, " key"]
) -> dict[str, Float[ndarray, "layer head"]]:
    """Mean weight on the tokens that came after earlier occurrences of the present one, on the token before, and on
    the earlier occurrences themselves, over the queries that have such tokens."""
    where = targets(ids)
    return {kind: mean_weight(patterns, where[kind]) for kind in MEASURED}


def without_each(model: Transformer, ids: Int[Tensor, "rows seq"], length: int | None) -> Float[ndarray, "layer head"]:
    """The loss of repeated tokens when each head alone is off."""
    shape = (model.config.n_layers, model.config.n_heads)
    losses = [copying(model, ids, length, [(layer, head)]).second_loss for layer, head in np.ndindex(shape)]
    return np.array(losses).reshape(shape)
