"""Speculative decoding, watched: what the draft guessed, what stayed and why, what it would bring, what it brought."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.generation.generate import DraftModel, Reader, generate
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import Checked, outcome, speculate, speculative
from tfcore.model import Transformer

SHOWN = 14  # tokens of each pair of distributions that are kept
TURNS = 4  # times that everything is timed
TIMED = 24  # tokens of the draft alone that are timed


@dataclass(frozen=True, slots=True)
class Guess:
    """A token that the draft proposed.

    Args:
        token: its id.
        p, q: its probability by the model, and by the draft.
        state: accepted; refused; or unread: an earlier guess of the round was refused.
        overlap: the sum over all tokens of min(p, q): how likely a guess was to stay here.
        error: the largest difference over all tokens between p and what the rule gives (outcome).
        tokens, p_all, q_all: the SHOWN tokens with the largest max(p, q), and their probabilities.
    """

    token: int
    p: float
    q: float
    state: str
    overlap: float
    error: float
    tokens: Int[ndarray, " shown"]
    p_all: Float[ndarray, " shown"]
    q_all: Float[ndarray, " shown"]

    @property
    def stays(self) -> float:
        """The probability with which this token is accepted, min(1, p / q)."""
        return min(1.0, self.p / self.q) if self.q else 0.0


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of the model: the guesses it checked, and the token it put after those that stayed."""

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
        yield seen(checked)
    for _ in range(TURNS):
        yield timed(model, draft, ids, sampling, guess, seed, tokens)


def seen(checked: Checked) -> Pass:
    """A pass, with all that explains it."""
    made, q, p = checked.round, checked.q, checked.p[:-1]
    overlap, error = torch.minimum(p, q).sum(-1), (outcome(p, q) - p).abs().amax(-1)  # (guess)
    top = torch.maximum(p, q).topk(min(SHOWN, p.shape[-1])).indices  # (guess, shown)
    states = ["accepted"] * made.accepted + ["refused"] + ["unread"] * len(made.guessed)
    guesses = [
        Guess(
            token,
            float(p[i, token]),
            float(q[i, token]),
            states[i],
            float(overlap[i]),
            float(error[i]),
            top[i].numpy(),
            p[i, top[i]].numpy(),
            q[i, top[i]].numpy(),
        )
        for i, token in enumerate(made.guessed)
    ]
    return Pass(tuple(guesses), made.token, checked.ids)


def timed(
    model: Transformer,
    draft: Transformer | DraftModel,
    ids: Sequence[int],
    sampling: Sampling,
    guess: int,
    seed: int,
    tokens: int,
) -> Timing:
    """One turn of everything, so that a busy machine is busy for all alike."""
    options = {**asdict(sampling), "seed": seed}
    small = min(TIMED, tokens)
    start = perf_counter()
    alone = generate(model, ids, max_new_tokens=tokens, **options)
    mid = perf_counter()
    both = speculative(model, draft, ids, max_new_tokens=tokens, guess=guess, **options)
    end = perf_counter()
    own = generate(draft, ids, max_new_tokens=small, **options)
    after = perf_counter()
    n = [max(1, len(text)) for text in (alone, both.ids, own)]
    one, several = (_pass(model, ids, length) for length in (1, guess + 1))
    return Timing((mid - start) / n[0], (end - mid) / n[1], (after - end) / n[2], one, several)


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


def acceptance(passes: Sequence[Pass]) -> float:
    """alpha: the expected share of guesses that stay, the mean of sum min(p, q) (arXiv:2211.17192, corollary 3.6).

    Over the guesses that the model looked at; the unread ones stand behind a text that was never written.
    """
    read = [guess.overlap for one in passes for guess in one.guesses if guess.state != "unread"]
    return sum(read) / len(read) if read else 0.0


def expected_tokens(alpha: float, guess: int) -> float:
    """Tokens a pass of the model: (1 - alpha^(guess + 1)) / (1 - alpha) (arXiv:2211.17192, eq. 1)."""
    return sum(alpha**i for i in range(guess + 1))


def expected_speed_up(alpha: float, guess: int, cost: float, check: float = 1.0) -> float:
    """Times as fast as the model alone (arXiv:2211.17192, theorem 3.8).

    Args:
        alpha: the acceptance rate.
        guess: tokens that the draft proposes for each pass.
        cost: a token of the draft, in tokens of the model.
        check: a pass over all guesses and one more, in passes over one token; the paper takes them to cost the same.
    """
    return expected_tokens(alpha, guess) / (guess * cost + check)


def best_guess(alpha: float, cost: float, most: int) -> int:
    """The number of guesses with the largest expected speed-up; 0 where each would make it slower."""
    return max(range(most + 1), key=lambda guess: expected_speed_up(alpha, guess, cost))
