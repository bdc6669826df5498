"""Speculative decoding as it runs: every draft token with what decided about it, the acceptance rate, and the speed-up.

Both are compared with the formulas of arXiv:2211.17192.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.generation.draft_models import SingleTokenTable, early_exit
from tfcore.generation.generate import DraftModel, Reader, generate
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import CheckedRound, outcome, speculate, speculative
from tfcore.measures.statistics import ratio
from tfcore.model import Transformer

State = Literal["accepted", "rejected", "discarded"]
SHOWN = 14  # tokens of each pair of distributions that are kept
TURNS = 4  # times that everything is timed
TIMED = 24  # tokens of the draft alone that are timed
LONGEST = 8  # tokens of the longest draft that the formulas are evaluated for


@dataclass(frozen=True, slots=True)
class Guess:
    """A token that the draft proposed.

    Args:
        token: its id.
        p, q: its probability by the model, and by the draft.
        state: discarded: an earlier guess of the round was rejected.
        overlap: the sum over all tokens of min(p, q): the probability that a guess is accepted here.
        error: the largest difference over all tokens between p and what the rule gives (outcome).
        tokens, p_all, q_all: the SHOWN tokens with the largest max(p, q), and their probabilities.
    """

    token: int
    p: float
    q: float
    state: State
    overlap: float
    error: float
    tokens: Int[ndarray, " shown"]
    p_all: Float[ndarray, " shown"]
    q_all: Float[ndarray, " shown"]

    @property
    def accepted_with(self) -> float:
        """The probability with which this token is accepted, min(1, p / q)."""
        return min(1.0, self.p / self.q) if self.q else 0.0

    @property
    def note(self) -> str:
        """The probability in two digits; a dash where nothing was decided."""
        sign = {"accepted": "✓", "rejected": "✗", "discarded": "–"}[self.state]
        return sign if self.state == "discarded" else f"{sign} {self.accepted_with:.2f}"

    @property
    def title(self) -> str:
        """The numbers of the token in one line."""
        return f"q = {self.q:.3f}, p = {self.p:.3f}, accepted with probability {self.accepted_with:.2f}: {self.state}"


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of the model.

    Args:
        guesses: that it checked.
        token: that it put after those that were accepted.
        ids: what the pass added to the text.
    """

    guesses: tuple[Guess, ...]
    token: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, all measured in one turn.

    Args:
        alone: a token of the model alone.
        together: a token of the same number, with the draft.
        draft: a token of the draft alone.
        one, several: a pass of the model over one token, and over all guesses and one more.
    """

    alone: float
    together: float
    draft: float
    one: float
    several: float


def watch(
    model: Transformer,
    draft: Transformer | DraftModel,
    ids: Sequence[int],
    sampling: Sampling,
    guess: int,
    seed: int,
    tokens: int,
) -> Iterator[Pass | Timing]:
    """Every pass of one text, as soon as it is made; then TURNS timings."""
    for checked in speculate(model, draft, ids, sampling, max_new_tokens=tokens, guess=guess, seed=seed):
        yield checked_pass(checked)
    for _ in range(TURNS):
        yield time_once(model, draft, ids, sampling, guess, seed, tokens)


def checked_pass(checked: CheckedRound) -> Pass:
    """A pass with the two distributions of each guess, cut to the SHOWN most likely tokens."""
    made, q, p = checked.round, checked.q, checked.p[:-1]
    overlap, error = torch.minimum(p, q).sum(1), (outcome(p, q) - p).abs().amax(1)  # (guess)
    top = torch.maximum(p, q).topk(min(SHOWN, p.shape[1])).indices  # (guess, shown)
    guesses = [
        Guess(
            token,
            float(p[i, token]),
            float(q[i, token]),
            _state(i, made.accepted),
            float(overlap[i]),
            float(error[i]),
            top[i].numpy(),
            p[i, top[i]].numpy(),
            q[i, top[i]].numpy(),
        )
        for i, token in enumerate(made.guessed)
    ]
    return Pass(tuple(guesses), made.token, checked.ids)


def _state(number: int, accepted: int) -> State:
    """The state of a guess, from 0, in a pass that accepted so many."""
    return "accepted" if number < accepted else "rejected" if number == accepted else "discarded"


def time_once(
    model: Transformer,
    draft: Transformer | DraftModel,
    ids: Sequence[int],
    sampling: Sampling,
    guess: int,
    seed: int,
    tokens: int,
) -> Timing:
    """One turn of everything, so that a busy machine is busy for all alike."""
    small = min(TIMED, tokens)
    start = perf_counter()
    alone = generate(model, ids, sampling, max_new_tokens=tokens, seed=seed)
    mid = perf_counter()
    both = speculative(model, draft, ids, sampling, max_new_tokens=tokens, guess=guess, seed=seed)
    end = perf_counter()
    own = generate(draft, ids, sampling, max_new_tokens=small, seed=seed)
    after = perf_counter()
    one, several = (_pass(model, ids, length) for length in (1, guess + 1))
    return Timing(
        ratio(mid - start, len(alone)), ratio(end - mid, len(both.ids)), ratio(after - end, len(own)), one, several
    )


def _pass(model: Transformer, ids: Sequence[int], new: int) -> float:
    """Seconds for reading so many more tokens at once, the fastest of three."""
    room = min(new, model.config.max_seq_len - len(ids))
    reader = Reader(model, ids, max_new_tokens=room, rollback=new)
    reader.read(torch.tensor([reader.prompt]))
    tokens, seconds = torch.tensor([list(ids[:1]) * room]), []
    for _ in range(3):
        start = perf_counter()
        reader.read(tokens)
        seconds.append(perf_counter() - start)
        reader.cache.truncate(len(reader.prompt))
    return min(seconds)


def verified(passes: Sequence[Pass]) -> list[Guess]:
    """The guesses that were accepted or rejected; the discarded ones stand behind a text that was never written."""
    return [guess for one in passes for guess in one.guesses if guess.state != "discarded"]


def acceptance(passes: Sequence[Pass]) -> float:
    """alpha: the expected share of guesses that are accepted, the mean of sum min(p, q) over the verified ones
    (arXiv:2211.17192, corollary 3.6)."""
    overlaps = [guess.overlap for guess in verified(passes)]
    return sum(overlaps) / len(overlaps) if overlaps else 0.0


def tokens_per_pass(passes: Sequence[Pass]) -> float:
    """Tokens written, for each pass of the model."""
    return sum(len(one.ids) for one in passes) / len(passes)


def expected_tokens(alpha: float, guess: int) -> float:
    """Tokens a pass of the model: (1 - alpha^(guess + 1)) / (1 - alpha) (arXiv:2211.17192, eq. 1)."""
    return sum(alpha**i for i in range(guess + 1))


def expected_speed_up(alpha: float, guess: int, cost: float) -> float:
    """Times as fast as the model alone (arXiv:2211.17192, theorem 3.8), where a pass over all guesses and one more
    costs no more than one over a single token.

    Args:
        alpha: the acceptance rate.
        guess: tokens that the draft proposes for each pass.
        cost: a token of the draft, in tokens of the model.
    """
    return expected_tokens(alpha, guess) / (guess * cost + 1)


def best_guess(alpha: float, cost: float, most: int) -> int:
    """The number of guesses with the largest expected speed-up; 0 where each would make it slower."""
    return max(range(most + 1), key=lambda guess: expected_speed_up(alpha, guess, cost))


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """The speed-up by the draft, measured and by the formula.

    Args:
        alpha: the acceptance rate.
        per_pass: tokens written for each pass of the model.
        guess: draft tokens a pass.
        runs: timings; 0 where nothing was timed yet, and the rest says nothing.
        ratio: times as fast as the model alone.
        expected: the same by the formula.
        cost: a token of the draft, in tokens of the model.
        check: a pass over all guesses and one more, in passes over one token; the formula takes it as 1.
        best: the draft length with the largest expected speed-up; 0 where each makes it slower.
    """

    alpha: float
    per_pass: float
    guess: int
    runs: int = 0
    ratio: float = 1.0
    expected: float = 1.0
    cost: float = 0.0
    check: float = 1.0
    best: int = 0

    @property
    def curves(self) -> dict[str, list[float]]:
        """Curves by the formulas, for drafts of 0 to LONGEST tokens: "tokens" per pass, and "speed" where it was
        timed."""
        lengths = range(LONGEST + 1)
        curves = {"tokens": [expected_tokens(self.alpha, n) for n in lengths]}
        if self.runs:
            curves["speed"] = [expected_speed_up(self.alpha, n, self.cost) for n in lengths]
        return curves


def speed_up(passes: Sequence[Pass], timings: Sequence[Timing], guess: int) -> SpeedUp:
    """Compare the quickest of all timings of each kind."""
    alpha, per_pass = acceptance(passes), tokens_per_pass(passes)
    if not timings:
        return SpeedUp(alpha, per_pass, guess)
    alone, together, draft = (min(getattr(one, name) for one in timings) for name in ("alone", "together", "draft"))
    check = max(1.0, min(one.several for one in timings) / min(one.one for one in timings))
    cost = draft / alone
    return SpeedUp(
        alpha,
        per_pass,
        guess,
        runs=len(timings),
        ratio=alone / together,
        expected=expected_speed_up(alpha, guess, cost),
        cost=cost,
        check=check,
        best=best_guess(alpha, cost, LONGEST),
    )


def draft_of(model: Transformer, blocks: int | None) -> Transformer | DraftModel:
    """A draft made of the model: its first blocks, or where these are None a table of its distribution after each
    single token."""
    return SingleTokenTable(model) if blocks is None else early_exit(model, blocks)
