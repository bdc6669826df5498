"""Patching: activations of one text put into the run of another, exactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names, layer_of
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.lenses import stages
from tfcore.measures.one_text import begin_of, first_tokens, next_logits, one_text
from tfcore.measures.shared_layers import BATCH, TOGETHER, PlainRun, plain_run, prefix_cache, rows_compete, run_joined
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.stream.measure.skip import part_name

Kind = Literal["residual", "attention", "feed-forward"]
PEAKS = 5  # rows whose largest share a sentence names
ALIKE = 12  # words that are used like one of the text, by the cosine of their embeddings
TRIED = 8  # replacements, each a text of one more pass
LETTERS = 3  # that a word has at least; two that begin with so many alike may be one word in two forms


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of equally many tokens, and the two answers that tell them apart.

    Args:
        source, target: token ids; activations of the source are put into the run of the target.
        answers: two tokens, by default those whose probability at the end differs most: the source's own answer and
            the target's. Twice the same where the log-probability of one token is measured.
        difference: logit of the source's answer less that of the target's, at the end of each text; or, of one token,
            its log-probability there.
        differing: positions with different tokens.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    answers: tuple[int, int]
    difference: tuple[float, float]
    differing: tuple[int, ...]

    @property
    def quantity(self) -> Quantity:
        """What is measured at the end of both texts."""
        token, against = self.answers
        return Quantity("prediction", token) if token == against else Quantity("difference", token, against)


@torch.no_grad()
def pair(
    model: Transformer, source: Sequence[int], target: Sequence[int], answers: tuple[int, int] | None = None
) -> Pair:
    """Two texts with the answers that tell them apart.

    Args:
        answers: ids of two tokens whose logit difference is measured, or twice the id of one whose log-probability is;
            None finds two.

    Raises:
        ValueError: texts of different lengths, twice the same, or answers of which the same is measured on both.
    """
    if len(source) != len(target):
        raise ValueError(f"the texts have {len(source)} and {len(target)} tokens; patching needs equally many")
    differing = tuple(i for i, (one, other) in enumerate(zip(source, target, strict=True)) if one != other)
    if not differing:
        raise ValueError("the two texts are the same; change a word in one of them")
    logits = torch.stack([next_logits(model, ids).float() for ids in (source, target)])
    there, here = logits.softmax(1)
    lead = there - here
    mine, theirs = answers or (int(lead.argmax()), int(lead.argmin()))
    values = logits.log_softmax(1)[:, mine] if mine == theirs else logits[:, mine] - logits[:, theirs]
    one, other = values.tolist()
    if one == other:
        raise ValueError("what is measured of these tokens is the same on both texts; choose others")
    return Pair(tuple(source), tuple(target), (mine, theirs), (one, other), differing)


def patched_names(config: ModelConfig, kind: Kind) -> tuple[str, ...]:
    """The activations that are patched: the stream before every block and after the last one, or the output of every
    attention or feed-forward layer."""
    if kind == "residual":
        return tuple(f"blocks.{i}.resid_pre" for i in range(config.decoder_layers)) + stages(config)[-1:]
    end = "attn_out" if kind == "attention" else "mlp_out"
    return tuple(name for name in known_names(config) if name.endswith(end))


@torch.no_grad()
def source_values(model: Transformer, both: Pair, name: str) -> Float[Tensor, "1 seq d_model"]:
    """An activation of the source's run."""
    return model.activations(one_text(model, both.source), name)[name]


def patch(values: Float[Tensor, "1 seq d_model"], name: str, position: int) -> Edit:
    """The edit that gives the target's run the source's value of an activation at one position."""
    return Edit.replace(name, values.squeeze(0)[position], positions=[position])


class PatchedColumns(NamedTuple):
    """Shares of some neighbouring positions, the first of them `start`."""

    start: int
    shares: Float[ndarray, "row position"]


@torch.no_grad()
def patch_each(model: Transformer, both: Pair, kind: Kind) -> Iterator[PatchedColumns]:
    """The share of what is measured that each patch restores: every activation of a kind, at every position.

    share = (d_patched - d_target) / (d_source - d_target), d the difference of the two answers' logits at the end (or
    the log-probability of one): 0 is the target's own answer, 1 the source's (arXiv:2309.16042, section 2). As
    get_act_patch_* of TransformerLens, with the source as its clean run and the target as the corrupted one.

    Equal to a full run for each patch. A patch changes neither layers below it nor tokens before it, so those are run
    once; before the first token that differs there is nothing to patch, and the share is 0. The last positions come
    first.
    """
    names = patched_names(model.config, kind)
    found = model.activations(one_text(model, both.source), names)
    run = _alone if rows_compete(model.config) else _together
    source, target = both.difference
    for start, differences in run(model, both, found):
        shares = (differences - target) / (source - target)
        yield PatchedColumns(start, shares.float().cpu().numpy())
    if first := both.differing[0]:
        yield PatchedColumns(0, np.zeros((len(names), first), dtype=np.float32))


def _alone(model: Transformer, both: Pair, found: dict[str, Tensor]) -> Iterator[tuple[int, Tensor]]:
    """What is measured with each patch, (first position, (row, position)); each in a run of its own."""
    run = plain_run(model, both.target)
    for at, _ in reversed(list(_groups(both, alone=True))):
        values = []
        for name, value in found.items():
            layer = layer_of(name)
            hidden = model.resume(run.streams[layer], layer, edits=[patch(value, name, at)])
            values.append(measured(model, hidden, both.target, both.quantity))
        yield at, torch.stack(values)


def _together(model: Transformer, both: Pair, found: dict[str, Tensor]) -> Iterator[tuple[int, Tensor]]:
    """The same, of neighbouring positions and layers in one pass."""
    run = plain_run(model, both.target)
    streams = [*run.streams, model.resume(run.streams[-1], len(run.streams) - 1, until=len(run.streams))]
    patched = [_patched_stream(model, run, name, value) for name, value in found.items()]
    positions = list(_groups(both, alone=False))
    layers = BATCH // TOGETHER
    cache = prefix_cache(model, both.target, positions[-1][0], min(layers, len(patched)) * TOGETHER)
    for start, stop in reversed(positions):
        cache.truncate(start)
        hidden = []
        for first in range(0, len(patched), layers):
            starts = [
                (layer, _swapped(streams[layer], new, start, stop)) for layer, new in patched[first : first + layers]
            ]
            hidden.append(run_joined(model, starts, cache))
        values = measured(model, torch.cat(hidden), both.target, both.quantity)
        yield start, values.view(len(patched), stop - start)


def _patched_stream(
    model: Transformer, run: PlainRun, name: str, value: Float[Tensor, "1 seq d_model"]
) -> tuple[int, Float[Tensor, "1 seq d_model"]]:
    """The first layer that reads what a patch changes, and the stream before it where every position is patched.

    Within its own layer, what is added to the stream at one position changes the stream at this position alone.
    """
    layer, state = layer_of(name), name.split(".")[-1]
    if state == "resid_pre":
        return layer, value
    if state == "resid_post":
        return layer + 1, value
    return layer + 1, model.resume(run.streams[layer], layer, edits=[Edit.replace(name, value)], until=layer + 1)


def _swapped(
    stream: Float[Tensor, "1 seq d_model"], new: Float[Tensor, "1 seq d_model"], start: int, stop: int
) -> Float[Tensor, "row after d_model"]:
    """The stream from `start` on, once for each position up to `stop`, which alone is taken from `new`."""
    rows = stream[:, start:].repeat(stop - start, 1, 1)
    at = torch.arange(stop - start, device=rows.device)
    rows[at, at] = new.squeeze(0)[start:stop]
    return rows


def groups(config: ModelConfig, both: Pair) -> int:
    """How many results `patch_each` has."""
    return len(list(_groups(both, rows_compete(config)))) + (both.differing[0] > 0)


def _groups(both: Pair, alone: bool) -> Iterator[tuple[int, int]]:
    """Positions from the first that differs to the last, in groups: (first, one past the last)."""
    n, size = len(both.target), 1 if alone else TOGETHER
    for start in range(both.differing[0], n, size):
        yield start, min(start + size, n)


def all_shares(found: Sequence[PatchedColumns], seq: int) -> Float[ndarray, "row seq"]:
    """The shares of all positions; NaN at those that are not among those found."""
    first, *_ = found
    shares = np.full((len(first.shares), seq), np.nan, dtype=np.float32)
    for one in found:
        shares[:, one.start : one.start + one.shares.shape[1]] = one.shares
    return shares


def known_shares(found: Sequence[PatchedColumns], estimate: Float[ndarray, "row seq"]) -> Float[ndarray, "row seq"]:
    """The exact shares, and the estimates where there is none yet."""
    if not found:
        return estimate
    exact = all_shares(found, estimate.shape[1])
    return np.where(np.isnan(exact), estimate, exact)


def patched_title(name: str, kind: Kind) -> str:
    """blocks.2.resid_pre -> "before block 2"; blocks.2.attn_out -> "attention 2"."""
    if kind != "residual":
        return part_name(name)
    return f"{'after' if name.endswith('post') else 'before'} block {layer_of(name)}"


def patched_words(name: str, kind: Kind, token: str, position: int) -> str:
    """A patch in words."""
    title = patched_title(name, kind)
    what = f"the residual stream {title}" if kind == "residual" else title
    return f"{what} patched at '{visible(token)}' ({position})"


# ---- findings ----


@dataclass(frozen=True, slots=True)
class PatchedShares(Finding):
    """How much of a logit difference each patched activation restores, at the position where it restores most.

    Args:
        own, other: the tokens that this text and the source text predict; the same where one is measured.
        difference, source_difference: logit of `other` less that of `own`, or the log-probability of one token, on this
            text and on the source text.
        peaks: activation -> (share, token, position) of the largest share in its row; of the PEAKS rows where that is
            largest, in their order.
    """

    own: str
    other: str
    difference: float
    source_difference: float
    peaks: dict[str, tuple[float, str, int]]

    @property
    def scale(self) -> str:
        """What 0 and 1 are."""
        goes = f"goes from {self.difference:.2f} to {self.source_difference:.2f}"
        if self.own == self.other:
            measure = f"by the log-probability of '{visible(self.own)}'"
            return f"0: as in this text, 1: as in the source text, {measure}, which {goes}"
        return (
            f"0: this text's own prediction ('{visible(self.own)}'), 1: the source text's ('{visible(self.other)}'), "
            f"measured by their logit difference, which {goes}"
        )

    @property
    def sentence(self) -> str:
        peaks = "; ".join(
            f"{name}: {share:.2f} at '{visible(token)}' ({at})" for name, (share, token, at) in self.peaks.items()
        )
        return f"{self.scale}. Largest in a row: {peaks}."


def patched_shares(
    both: Pair, shares: Float[ndarray, "row seq"], rows: Sequence[str], tokenizer: Tokenizer
) -> PatchedShares:
    """The largest share of each row; `rows` are the titles of the patched activations."""
    other, own = tokenizer.tokens(both.answers)
    tokens = tokenizer.tokens(both.target)
    known = np.nan_to_num(shares, nan=-np.inf)
    tops, places = known.max(1), known.argmax(1).tolist()
    kept = sorted(np.argsort(-tops, kind="stable")[:PEAKS].tolist())
    peaks = {rows[i]: (float(tops[i]), tokens[places[i]], places[i]) for i in kept}
    return PatchedShares(own, other, both.difference[1], both.difference[0], peaks)


@dataclass(frozen=True, slots=True)
class ReadAtTheEnd(Finding):
    """The first state of the stream in which patching the last position restores more than any other; None: never."""

    row: str | None

    @property
    def sentence(self) -> str:
        if self.row is None:
            return "At the last position, where the prediction is read, it never brings most."
        return f"At the last position, where the prediction is read, it brings most from the row “{self.row}” on."


@dataclass(frozen=True, slots=True)
class LargestShare(Finding):
    """The activation and position whose patch restores most: its title, the token and position, and the share."""

    row: str
    token: str
    position: int
    share: float

    @property
    def sentence(self) -> str:
        return (
            f"The largest share is that of {self.row} at '{visible(self.token)}' ({self.position}): {self.share:.2f}."
        )


def where_it_is(
    shares: Float[ndarray, "row seq"], kind: Kind, rows: Sequence[str], tokens: Sequence[str]
) -> ReadAtTheEnd | LargestShare:
    """Of the residual stream, from where on the last position carries the difference; else, the largest share."""
    if kind == "residual":
        led = [row for row, own in zip(rows, shares, strict=True) if own.argmax() == len(own) - 1]
        return ReadAtTheEnd(led[0] if led else None)
    row, position = (int(i) for i in np.unravel_index(shares.argmax(), shares.shape))
    return LargestShare(rows[row], tokens[position], position, float(shares[row, position]))


# ---- the other text ----


@torch.no_grad()
def counterfactual(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> str | None:
    """The first tokens of a text with one word replaced by another that is used alike.

    Of the replacements that a decoder expects most in their places, and of these the half with the more probable texts,
    it is the one that changes the prediction after the last token most, by KL(p || p with the replacement). It has as
    many tokens as the text, so that activations of one can be put into the other (arXiv:2309.16042, section 2.1).

    Returns:
        None where no word has such a replacement.
    """
    read = first_tokens(model, tokenizer, text, limit)
    places = [i for i in range(1, len(read.ids)) if _is_word(read.tokens[i])]
    if not places:
        return None
    log_p = model(one_text(model, read.ids)).logits.squeeze(0).float().log_softmax(1)
    found: list[tuple[float, list[int]]] = []
    for place, others in zip(places, _used_alike(model, [read.ids[i] for i in places]).tolist(), strict=True):
        for token, piece in zip(others, tokenizer.tokens(others), strict=True):
            if _can_replace(read.tokens[place], piece):
                changed = [*read.ids[:place], token, *read.ids[place + 1 :]]
                found.append((float(log_p[place - 1, token]), changed))
    begin = begin_of(model, tokenizer)
    first = 1 if begin is not None and begin.usual else 0  # the tokenizer puts it there again
    texts = [(tokenizer.decode(ids[first:]), ids) for _, ids in sorted(found, reverse=True)[:TRIED]]
    texts = [(said, ids) for said, ids in texts if first_tokens(model, tokenizer, said, limit).ids == ids]
    if not texts:
        return None
    rows = torch.tensor([ids for _, ids in texts], device=model.device)
    theirs = model(rows).logits.float().log_softmax(2)  # (text, seq, vocab)
    likely = theirs[:, :-1].gather(2, rows[:, 1:, None]).sum((1, 2))
    far = F.kl_div(theirs[:, -1], log_p[-1].expand_as(theirs[:, -1]), reduction="none", log_target=True).sum(1)
    good = likely.topk(max(1, len(texts) // 2)).indices
    return texts[int(good[far[good].argmax()])][0]


def _used_alike(model: Transformer, ids: list[int]) -> Tensor:
    """The tokens whose embeddings have the largest cosines with each of these: (token, ALIKE)."""
    table = F.normalize(model.embed.weight.float())
    return (table[ids] @ table.T).topk(min(ALIKE + 1, len(table))).indices


def _is_word(piece: str) -> bool:
    word = piece.strip()
    return piece[:1] == " " and word.isalpha() and len(word) >= LETTERS


def _can_replace(own: str, other: str) -> bool:
    """Whether another token is another word, not a form of the same, with a capital where that has one."""
    if not _is_word(other) or own[1].isupper() != other[1].isupper():
        return False
    return own[1 : 1 + LETTERS].casefold() != other[1 : 1 + LETTERS].casefold()
