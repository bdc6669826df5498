"""Activation patching: put activations of one text into the run of another, and see where the difference lives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.edit_effects import run_each
from tfcore.analysis.inside.lens import stages
from tfcore.analysis.one_text import one_text
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

Kind = Literal["residual", "attention", "feed-forward"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of equally many tokens, and the two answers that tell them apart.

    Args:
        giver, taker: token ids; activations of the giver are put into the run of the taker.
        answers: the tokens whose probability at the end differs most: the giver's own answer and the taker's.
        difference: logit of the giver's answer less that of the taker's, at the end of each text.
        differing: positions with different tokens.
    """

    giver: tuple[int, ...]
    taker: tuple[int, ...]
    answers: tuple[int, int]
    difference: tuple[float, float]
    differing: tuple[int, ...]


@torch.no_grad()
def pair(model: Transformer, giver: Sequence[int], taker: Sequence[int]) -> Pair:
    """Compare two texts.

    Raises:
        ValueError: texts of different lengths, or twice the same.
    """
    if len(giver) != len(taker):
        raise ValueError(f"the texts have {len(giver)} and {len(taker)} tokens; patching needs equally many")
    differing = tuple(i for i, (one, other) in enumerate(zip(giver, taker, strict=True)) if one != other)
    if not differing:
        raise ValueError("the two texts are the same; change a word in one of them")
    logits = torch.stack([model(one_text(model, ids)).logits[0, -1].float() for ids in (giver, taker)])
    chance = logits.softmax(-1)
    lead = chance[0] - chance[1]
    mine, theirs = int(lead.argmax()), int(lead.argmin())
    one, other = (logits[:, mine] - logits[:, theirs]).tolist()
    return Pair(tuple(giver), tuple(taker), (mine, theirs), (one, other), differing)


def patched_names(config: ModelConfig, kind: Kind) -> tuple[str, ...]:
    """The activations that are patched, one row of the picture each: the stream before every block and after the
    last one, or what every attention or feed-forward layer writes."""
    if kind == "residual":
        return tuple(f"blocks.{i}.resid_pre" for i in range(config.decoder_layers)) + stages(config)[-1:]
    end = "attn_out" if kind == "attention" else "mlp_out"
    return tuple(name for name in known_names(config) if name.endswith(end))


@torch.no_grad()
def giver_values(model: Transformer, both: Pair, name: str) -> Float[Tensor, "1 seq d_model"]:
    """What the giver's run has at this place."""
    return model(one_text(model, both.giver), capture=(name,)).activations[name]


def patch(values: Float[Tensor, "1 seq d_model"], name: str, position: int) -> Edit:
    """At this place and position the taker's run gets the giver's value."""
    return Edit.replace(name, values[0, position], positions=[position])


@torch.no_grad()
def patch_row(model: Transformer, both: Pair, name: str) -> Float[ndarray, " seq"]:
    """Patch one activation at each position in turn; how much of the way to the giver's answer does each bring?

    share = (d_patched - d_taker) / (d_giver - d_taker), d the difference of the two answers' logits at the end: 0 is
    the taker's own answer, 1 the giver's (arXiv:2309.16042, section 2). As TransformerLens's patching.get_act_patch_*,
    with the giver as its clean run and the taker as the corrupted one.
    """
    values = giver_values(model, both, name)
    sets = [[patch(values, name, position)] for position in range(len(both.taker))]
    mine, theirs = both.answers
    shares = [logits[:, -1, mine] - logits[:, -1, theirs] for logits in run_each(model, both.taker, sets)]
    giver, taker = both.difference
    return ((torch.cat(shares) - taker) / (giver - taker)).cpu().numpy()


def arrived(shares: Float[ndarray, "row seq"]) -> int | None:
    """The first row in which patching the last position brings more than patching any other; None where none does."""
    rows = (shares.argmax(-1) == shares.shape[-1] - 1).nonzero()[0]
    return int(rows[0]) if len(rows) else None
