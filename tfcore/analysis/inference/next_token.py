"""How the next token is chosen: the whole distribution, what each filter leaves of it, and the draw."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.generation.generate import Reader, Step, one_step, stream
from tfcore.generation.sampling import Sampling
from tfcore.measures.information import weighted_logs
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

FILTERS = ("softmax", "repetition penalty", "temperature", "top-k", "top-p", "min-p")
CUTTING = FILTERS[3:]  # the filters that rule tokens out; those before them move probability only
NAMED = 400  # tokens whose text is kept, the most likely: more than the sliders of top-k and a picture can show


@dataclass(frozen=True, slots=True)
class NextToken:
    """One step of generation.

    Args:
        sampling: the filters.
        before: ids drawn before it, after the given text.
        order: all ids, the most likely first; as the scores are after the repetition penalty, because no later filter
            changes that order.
        probabilities: in this order, after each of FILTERS; one that is off leaves the row before it as it was.
        is_on: which filters are on.
        place: of the token that was drawn, in this order.
        u: the number from 0 to 1 that decided.
        names: place -> text of the token: the first NAMED, the one drawn, and the one that the same u gives unfiltered.
    """

    sampling: Sampling
    before: tuple[int, ...]
    order: Int[ndarray, " vocab"]
    probabilities: Float[ndarray, "filter vocab"]
    is_on: tuple[bool, ...]
    place: int
    u: float
    names: Mapping[int, str]

    @property
    def token(self) -> int:
        """The id that was drawn."""
        return int(self.order[self.place])

    @property
    def unfiltered(self) -> int:
        """The place of the token on which the same u falls without any filter."""
        return _unfiltered(self.probabilities[0], self.u)

    @property
    def left(self) -> Int[ndarray, " filter"]:
        """How many tokens can still be drawn after each filter."""
        return (self.probabilities > 0).sum(1)

    @property
    def entropy(self) -> Float[ndarray, " filter"]:
        """Of each distribution, in bits."""
        return 0.0 - weighted_logs(self.probabilities, self.probabilities).sum(1)  # no minus zero


def _unfiltered(probabilities: Float[ndarray, " vocab"], u: float) -> int:
    own = np.argsort(-probabilities, kind="stable")
    ends = probabilities[own].astype(float).cumsum()
    return int(own[np.searchsorted(ends[:-1], u * ends[-1], side="right")])


class Continuation:
    """The continuation of a text that tfcore.generate gives, written as far as it is asked for; safe for threads.

    Args:
        most: tokens it can have.

    Raises:
        ValueError: as tfcore.generate.
    """

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], sampling: Sampling, seed: int, most: int
    ) -> None:
        self._tokenizer, self._sampling, self._given = tokenizer, sampling, len(ids)
        self._rest = stream(model, ids, max_new_tokens=most, seed=seed, **asdict(sampling))
        self._written: list[NextToken] = []
        self._lock = Lock()

    def token(self, number: int) -> NextToken:
        """Its token of this number; 0 is the first.

        Raises:
            ValueError: no room in the context for that many tokens.
        """
        with self._lock:
            before = [one.token for one in self._written]
            while len(before) <= number:
                if (step := next(self._rest, None)) is None:
                    raise ValueError(f"token {number} does not fit behind {self._given} tokens; give fewer")
                self._written.append(_told(self._tokenizer, self._sampling, before, step))
                before.append(step.token)
            return self._written[number]


def next_token(
    model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], sampling: Sampling, seed: int, drawn: int
) -> NextToken:
    """Token number `drawn` (0 is the first) of the continuation that tfcore.generate gives with this seed.

    Raises:
        ValueError: as tfcore.generate; no room in the context for that many tokens.
    """
    return Continuation(model, tokenizer, ids, sampling, seed, drawn + 1).token(drawn)


def logits_after(model: Transformer, ids: Sequence[int]) -> Float[Tensor, " vocab"]:
    """What the model makes of a text, from which its next token is drawn; no sampling changes it.

    Raises:
        ValueError: as tfcore.generate.
    """
    reader = Reader(model, ids, max_new_tokens=1)
    (logits,) = reader.read(torch.tensor([reader.prompt]))
    return logits[-1].clone()  # of the last token alone


def first_token(
    tokenizer: Tokenizer, ids: Sequence[int], logits: Float[Tensor, " vocab"], sampling: Sampling, seed: int
) -> NextToken:
    """Token number 0 of the same continuation, from `logits_after` the text: without another pass of the model."""
    previous = torch.tensor(ids) if sampling.repetition_penalty != 1 else None
    return _told(tokenizer, sampling, (), one_step(logits, previous, sampling, torch.Generator().manual_seed(seed)))


def _told(tokenizer: Tokenizer, sampling: Sampling, before: Sequence[int], last: Step) -> NextToken:
    """One step, after these ids were drawn."""
    found = {stage.name: stage.probabilities.numpy() for stage in last.filters}
    rows = [found["softmax"]]
    for name in FILTERS[1:]:
        rows.append(found.get(name, rows[-1]))
    order = np.argsort(-rows[1], kind="stable")
    probabilities = np.stack(rows)[:, order]
    place = int((order == last.token).argmax())
    places = sorted({*range(min(NAMED, len(order))), place, _unfiltered(probabilities[0], last.u)})
    return NextToken(
        sampling=sampling,
        before=tuple(before),
        order=order,
        probabilities=probabilities,
        is_on=tuple(name in found for name in FILTERS),
        place=place,
        u=last.u,
        names=dict(zip(places, tokenizer.tokens(order[places].tolist()), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class FilterCuts(Finding):
    """What the filters leave, and what was drawn of it.

    Args:
        total: tokens of the vocabulary.
        left: filter that rules tokens out and is on -> tokens that can still be drawn after it.
        token: that was drawn.
        by_model, by_filters: its probability before and after all filters.
    """

    total: int
    left: Mapping[str, int]
    token: str
    by_model: float
    by_filters: float

    @property
    def sentence(self) -> str:
        cuts = ", ".join(f"{name} leaves {count:,}" for name, count in self.left.items()) or "none is cut away"
        return (
            f"Of {self.total:,} tokens {cuts}; drawn: '{visible(self.token)}', {self.by_model:.3f} by the model, "
            f"{self.by_filters:.3f} after all filters."
        )


def filter_cuts(found: NextToken) -> FilterCuts:
    """The counts after each filter that is on and cuts, and both probabilities of the token that was drawn."""
    left = {name: int(found.left[i]) for i, name in enumerate(FILTERS) if name in CUTTING and found.is_on[i]}
    p = found.probabilities
    drawn = float(p[0, found.place]), float(p[-1, found.place])
    return FilterCuts(p.shape[1], left, found.names[found.place], *drawn)


@dataclass(frozen=True, slots=True)
class Draw(Finding):
    """Where the random number falls.

    Args:
        u: the random number, from 0 to 1.
        token: the one on whose part of the line u falls, after all filters.
        start, length: of that part.
        unfiltered: the token on which u would fall without filters.
        is_cut: whether the filters rule that one out.
    """

    u: float
    token: str
    start: float
    length: float
    unfiltered: str
    is_cut: bool

    @property
    def sentence(self) -> str:
        cut = ", which the filters cut" if self.is_cut else ""
        return (
            f"The draw: u = {self.u:.4f} falls on '{visible(self.token)}', which covers {self.length:.4f} of the lower "
            f"line from about {self.start:.4f} on. Without filters the same u would fall on "
            f"'{visible(self.unfiltered)}'{cut}."
        )


def where_drawn(found: NextToken) -> Draw:
    """The part of the line that the drawn token covers: after all tokens that are more probable."""
    p = found.probabilities[-1]
    return Draw(
        u=found.u,
        token=found.names[found.place],
        start=float(p[p > p[found.place]].sum()),
        length=float(p[found.place]),
        unfiltered=found.names[found.unfiltered],
        is_cut=bool(p[found.unfiltered] == 0),
    )


@dataclass(frozen=True, slots=True)
class Ranks(Finding):
    """The range of the whole distribution.

    Args:
        total: tokens of the vocabulary.
        largest, smallest: probability by the model.
        left: tokens after all filters.
    """

    total: int
    largest: float
    smallest: float
    left: int

    @property
    def sentence(self) -> str:
        return (
            f"All {self.total:,} probabilities by rank, from {self.largest:.3f} to {self.smallest:.1e}; after the "
            f"filters {self.left:,} are left."
        )


def ranks(found: NextToken) -> Ranks:
    """The ends of the model's distribution."""
    own = found.probabilities[0]
    return Ranks(len(own), float(own.max()), float(own.min()), int(found.left[-1]))


@dataclass(frozen=True, slots=True)
class Entropies(Finding):
    """How much the filters narrow the distribution.

    Args:
        before, after: entropy in bits.
        kept: the model's probability of all tokens that are left.
    """

    before: float
    after: float
    kept: float

    @property
    def bits(self) -> tuple[str, str]:
        """Both entropies."""
        return f"{self.before:.2f} bits", f"{self.after:.2f} bits"

    @property
    def kept_share(self) -> str:
        return f"{self.kept:.1%}"

    @property
    def sentence(self) -> str:
        before, after = self.bits
        return (
            f"The entropy is {before} by the model and {after} after all filters; the model's probability of what is "
            f"left is {self.kept_share}."
        )


def entropies(found: NextToken) -> Entropies:
    """Entropy before and after the filters, and how much probability they keep."""
    own, last = found.probabilities[0], found.probabilities[-1]
    return Entropies(float(found.entropy[0]), float(found.entropy[-1]), float(own[last > 0].sum()))
