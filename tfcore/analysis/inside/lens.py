"""The logit lens: what the model would say next if it stopped after each step, read with its own final norm."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.contributions import check_model, unembedding
from tfcore.analysis.one_text import one_text
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.model import Transformer

KEPT = 5  # guesses kept at each place


@dataclass(frozen=True, slots=True)
class Lens:
    """Guesses read from the stream at every stage and position of a text.

    Args:
        stages: names of the stream, in the vocabulary of tfcore.inspection.capture.
        best: the tokens with the highest logits, the highest first.
        chance: their probabilities.
        right: probability of the token that does come next in the text.
        place: how many tokens are rated above that one; 0 where it is the guess.
    """

    stages: tuple[str, ...]
    best: Int[ndarray, "stage seq guess"]
    chance: Float[ndarray, "stage seq guess"]
    right: Float[ndarray, "stage next"]
    place: Int[ndarray, "stage next"]


@dataclass(frozen=True, slots=True)
class Climb:
    """Single tokens at one position, stage by stage.

    Args:
        chance: probability of each token.
        logits: of each token, less the mean of all logits of the stage.
        place: how many tokens are rated above it.
    """

    chance: Float[ndarray, "stage token"]
    logits: Float[ndarray, "stage token"]
    place: Int[ndarray, "stage token"]


def stages(config: ModelConfig) -> tuple[str, ...]:
    """The stream before the first block, and after each sublayer."""
    ends = (".resid_mid", ".resid_post")
    return ("blocks.0.resid_pre", *(name for name in known_names(config) if name.endswith(ends)))


def lens_logits(model: Transformer, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
    """LogitLens(x) = FinalNorm(x) W_U: any state of the stream treated as if it were the last one.

    The norm is computed anew for each state, as the model would do if it stopped there. (TransformerLens can instead
    divide by the scale of the true final state: other probabilities, and with the bias of a LayerNorm, whose share in
    the logits then differs, another order of the tokens too.)

    Source: section 2 of arXiv:2303.08112, which also says where it misleads: early layers may write in other
    directions than the ones the unembedding reads.
    """
    norm = model.decoder.ln_final
    return norm(x) @ unembedding(model).T * model.config.logit_scale


@torch.no_grad()
def logit_lens(model: Transformer, ids: Sequence[int]) -> Lens:
    """Read a text's stream at every stage and position.

    Raises:
        ValueError: a model without a final norm, or no decoder.
    """
    check_model(model)
    names = stages(model.config)
    states = model(one_text(model, ids), capture=names).activations
    following = one_text(model, ids)[0, 1:, None]  # (next, 1)
    rows = []
    for name in names:  # one by one: all logits at once would be stage * seq * vocab numbers
        logits = lens_logits(model, states[name][0]).float()
        chance = logits.softmax(-1)
        top = chance.topk(min(KEPT, chance.shape[-1]), dim=-1)
        right = chance[:-1].gather(-1, following)[:, 0]
        place = (logits[:-1] > logits[:-1].gather(-1, following)).sum(-1)
        rows.append((top.indices, top.values, right, place))
    best, chances, rights, places = (torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True))
    return Lens(names, best, chances, rights, places)


@torch.no_grad()
def climb(model: Transformer, ids: Sequence[int], position: int, tokens: Sequence[int]) -> Climb:
    """Follow some tokens through the stages at one position."""
    check_model(model)
    names = stages(model.config)
    states = model(one_text(model, ids[: position + 1]), capture=names).activations
    logits = torch.stack([lens_logits(model, states[name][0, -1]).float() for name in names])  # (stage, vocab)
    chosen = logits[:, list(tokens)]
    place = (logits[:, None, :] > chosen[:, :, None]).sum(-1)
    centred = chosen - logits.mean(-1, keepdim=True)
    chance = logits.softmax(-1)[:, list(tokens)]
    return Climb(chance.cpu().numpy(), centred.cpu().numpy(), place.cpu().numpy())


def repeats(found: Lens, ids: Sequence[int]) -> float:
    """Share of the positions at which the embedding, read by the lens, predicts the very token that was read."""
    return float((found.best[0, :, 0] == torch.tensor(list(ids)).numpy()).mean())


def leads_from(path: Climb) -> int | None:
    """The first stage from which the first token of the climb is the best guess at every later stage, too."""
    behind = path.place[:, 0].nonzero()[0]
    first = int(behind[-1]) + 1 if len(behind) else 0
    return first if first < len(path.place) else None
