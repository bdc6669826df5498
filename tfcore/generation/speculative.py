"""Speculative sampling: a small model guesses some tokens ahead, the large one checks them all in a single pass."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.generation.generate import DraftModel, Ids, Reader
from tfcore.generation.sampling import UNFILTERED, Sampling, draw
from tfcore.model import Transformer
from tfcore.part_configs import WritingConfig


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the large model.

    Args:
        guessed: what the draft proposed.
        accepted: how many of them stayed, counted from the first.
        token: what the large model put after these: in place of the first that was refused, or after the last.
    """

    guessed: tuple[int, ...]
    accepted: int
    token: int


@dataclass(frozen=True, slots=True)
class Speculation:
    """A text, and how it came about.

    Args:
        ids: the new ids; a stop id ends them within a round too.
        rounds: one a pass of the large model.
    """

    ids: tuple[int, ...]
    rounds: tuple[Round, ...]

    @property
    def drafted(self) -> int:
        """Tokens the draft proposed."""
        return sum(len(r.guessed) for r in self.rounds)

    @property
    def accepted(self) -> int:
        """Tokens of the draft that stayed."""
        return sum(r.accepted for r in self.rounds)


@dataclass(frozen=True, slots=True)
class CheckedRound:
    """A round, with the distributions that decided.

    Args:
        round: what came of it.
        ids: what it added to the text: the guesses that stayed and the token after them, up to a stop id.
        q: of the draft, for each guess.
        p: of the model, for each guess and for the token after the last.
    """

    round: Round
    ids: tuple[int, ...]
    q: Float[Tensor, "guess vocab"]
    p: Float[Tensor, "guess+1 vocab"]


def speculative(
    model: Transformer,
    draft: Transformer | DraftModel,
    ids: Ids,
    sampling: Sampling = UNFILTERED,
    *,
    max_new_tokens: int = 64,
    guess: int = 4,
    seed: int = 0,
    stop_ids: Collection[int] = (),
    decoder_ids: Ids | None = None,
) -> Speculation:
    """Continue `ids` as tfcore.generate would, with fewer passes of the model: texts have the same distribution.

    Not the same draws: one seed gives other texts here than there, except where temperature is 0.

    Args:
        draft: a smaller model over the same token ids; how good it is changes the speed alone.
        guess: tokens it proposes a round; 0 leaves it out.
        The rest: see tfcore.generate. The filters apply to both models.

    Raises:
        ValueError: as tfcore.generate; two models that do not go together.

    Source: arXiv:2211.17192, algorithm 1; arXiv:2302.01318, algorithm 2.
    """
    written, rounds = list[int](), list[Round]()
    for checked in speculate(
        model,
        draft,
        ids,
        sampling,
        max_new_tokens=max_new_tokens,
        guess=guess,
        seed=seed,
        stop_ids=stop_ids,
        decoder_ids=decoder_ids,
    ):
        written += checked.ids
        rounds.append(checked.round)
    return Speculation(tuple(written), tuple(rounds))


def speculate(
    model: Transformer,
    draft: Transformer | DraftModel,
    ids: Ids,
    sampling: Sampling,
    *,
    max_new_tokens: int = 64,
    guess: int = 4,
    seed: int = 0,
    stop_ids: Collection[int] = (),
    decoder_ids: Ids | None = None,
) -> Iterator[CheckedRound]:
    """The same as speculative, round by round, as soon as the model has checked what the draft guessed."""
    _check_pair(model, draft, guess)
    if model.config.writing != WritingConfig():
        raise ValueError("a draft knows nothing of tokens that a model's texts must or may not have; write without one")
    large = Reader(model, ids, max_new_tokens=max_new_tokens, decoder_ids=decoder_ids, rollback=guess)
    small = _reader_of_draft(draft, ids, large, guess) if guess else None
    text, end, stop = list(large.prompt), len(large.prompt) + large.capacity, frozenset(stop_ids)
    generator, over = torch.Generator().manual_seed(seed), False
    while len(text) < end and not over:
        n = min(guess, end - len(text) - 1)
        guessed, q = _guess(small, text, n, sampling, generator, model.config.vocab_size)
        p = _distributions(large, text + guessed, len(guessed) + 1, sampling)
        accepted, token = accept(guessed, q, p, generator)
        new = _until([*guessed[:accepted], token], stop)
        yield CheckedRound(Round(tuple(guessed), accepted, token), tuple(new), q, p)
        text, over = text + new, new[-1] in stop
        for reader in (large, small):
            if reader is not None:  # the last token is for the next round to read, whoever proposed it
                reader.cache.truncate(min(reader.cache.length, len(text) - 1))


def accept(
    guessed: list[int], q: Float[Tensor, "guess vocab"], p: Float[Tensor, "guess+1 vocab"], generator: torch.Generator
) -> tuple[int, int]:
    """How many guesses stay, and the token after them.

    A guess x stays with probability min(1, p(x) / q(x)). Where one is refused, a token is drawn from what q fell short
    of, max(0, p - q) normalised; where none is, from p. Then every token has probability p(x), whatever q is.

    Args:
        guessed: tokens, each drawn from its row of q.
        q: distributions of the draft.
        p: distributions of the model, one more: after the last guess.

    Source: arXiv:2211.17192, algorithm 1 and appendix A.1.
    """
    rows, tokens = torch.arange(len(guessed)), torch.tensor(guessed, dtype=torch.int64)
    draws = torch.rand(len(guessed), generator=generator).to(q.device)
    stays = (draws * q[rows, tokens] < p[rows, tokens]).tolist()
    if all(stays):
        return len(guessed), draw(p[-1], generator)
    i = stays.index(False)
    return i, draw(residual(p[i], q[i]), generator)


def residual(p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch vocab"]:
    """The residual distribution, by which q falls short of p: max(0, p - q) normalised (arXiv:2211.17192, section 2.3).

    Where p = q there is nothing to fall short of, and no guess is refused: p itself, for what rounding does.
    """
    rest = (p - q).clamp(min=0)
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total.clamp(min=torch.finfo(p.dtype).tiny), p)


def outcome(p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch vocab"]:
    """The distribution of the token that the rule puts down, whichever way it came about; it is p.

    A guess is x and stays: q(x) min(1, p(x) / q(x)) = min(p(x), q(x)). Or any guess is refused, which happens with
    probability 1 - sum min(p, q), and x is drawn in its place.

    Source: arXiv:2211.17192, appendix A.1.
    """
    stays = torch.minimum(p, q)  # (*batch, vocab)
    return stays + (1 - stays.sum(-1, keepdim=True)) * residual(p, q)


def _guess(
    small: Reader | None, text: list[int], n: int, sampling: Sampling, generator: torch.Generator, vocab: int
) -> tuple[list[int], Tensor]:
    """Up to n tokens after the text, fewer where the draft's context is full; and the distribution of each."""
    guessed, rows = list[int](), list[Tensor]()
    while (
        small is not None
        and len(guessed) < n
        and len(text) + len(guessed) <= small.cache.length + small.cache.remaining
    ):
        rows.append(_distributions(small, text + guessed, 1, sampling))
        guessed.append(draw(rows[-1][0], generator))
    return guessed, torch.cat(rows) if rows else torch.empty(0, vocab)


def _distributions(reader: Reader, text: list[int], last: int, sampling: Sampling) -> Float[Tensor, "last vocab"]:
    """Distributions after each of the last tokens of the text, of which those not yet in the cache are read."""
    new = torch.tensor([text[reader.cache.length :]])
    logits = reader.read(new)[0, -last:]  # (last, vocab)
    if sampling.repetition_penalty == 1:
        return sampling.distribution(logits)
    starts = range(len(text) - last + 1, len(text) + 1)
    return torch.stack(
        [sampling.distribution(row, torch.tensor(text[:n])) for row, n in zip(logits, starts, strict=True)]
    )


def _until(tokens: list[int], stop: frozenset[int]) -> list[int]:
    """The tokens, up to the first stop id."""
    ends = [i for i, token in enumerate(tokens) if token in stop]
    return tokens[: ends[0] + 1] if ends else tokens


def _reader_of_draft(draft: Transformer | DraftModel, ids: Ids, large: Reader, guess: int) -> Reader:
    """The draft, its decoder started like the model's: its own start id may be another."""
    start = None if draft.config.architecture == "decoder" else large.prompt
    return Reader(draft, ids, max_new_tokens=large.capacity, decoder_ids=start, rollback=guess)


def _check_pair(model: Transformer, draft: Transformer | DraftModel, guess: int) -> None:
    """Refuse two models that cannot work on one text."""
    for name in ("architecture", "vocab_size"):
        ours, theirs = getattr(model.config, name), getattr(draft.config, name)
        if ours != theirs:
            raise ValueError(f"the draft has {name}={theirs!r}, the model {ours!r}; they must be the same")
    if guess < 0:
        raise ValueError(f"guess={guess} must be 0 or more")
