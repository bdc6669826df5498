"""How the next token is chosen: the whole distribution, what each filter leaves of it, and the draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.generation.generate import Reader, Step, one_step, stream
from tfcore.generation.sampling import Sampling
from tfcore.measures.information import weighted_logs
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
        """The entropy of each distribution, in bits."""
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
        self._rest = stream(model, ids, sampling, max_new_tokens=most, seed=seed)
        self._written: list[NextToken] = []
        self._lock = Lock()

    def token(self, number: int) -> NextToken:
        """The token of this number; 0 is the first.

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
    """The logits after a text, from which its next token is drawn; no sampling changes it.

    Raises:
        ValueError: as tfcore.generate.
    """
    reader = Reader(model, ids, max_new_tokens=1)
    (logits,) = reader.read(torch.tensor([reader.prompt]))
    return logits[-1].clone()  # of the last token alone


def first_token(
    tokenizer: Tokenizer, ids: Sequence[int], logits: Float[Tensor, " vocab"], sampling: Sampling, seed: int
) -> NextToken:
    """The first token of the continuation that `next_token` reads, from `logits_after` the text: without another pass
    of the model."""
    previous = torch.tensor(ids) if sampling.repetition_penalty != 1 else None
    return _told(tokenizer, sampling, (), one_step(logits, previous, sampling, torch.Generator().manual_seed(seed)))


def _told(tokenizer: Tokenizer, sampling: Sampling, before: Sequence[int], last: Step) -> NextToken:
    """One step, after these ids were drawn."""
    after = {stage.name: stage.probabilities.numpy() for stage in last.filters}
    rows = [after["softmax"]]
    for name in FILTERS[1:]:
        rows.append(after.get(name, rows[-1]))
    order = np.argsort(-rows[1], kind="stable")
    probabilities = np.stack(rows)[:, order]
    place = int((order == last.token).argmax())
    places = sorted({*range(min(NAMED, len(order))), place, _unfiltered(probabilities[0], last.u)})
    return NextToken(
        sampling=sampling,
        before=tuple(before),
        order=order,
        probabilities=probabilities,
        is_on=tuple(name in after for name in FILTERS),
        place=place,
        u=last.u,
        names=dict(zip(places, tokenizer.tokens(order[places].tolist()), strict=True)),
    )
