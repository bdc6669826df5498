"""The tasks of the lab: rows to train on, rows held out, and rows of one shape to write the answers to.

In every row some tokens are given, and the others are to be predicted. Only what can be known counts in the loss:

    induction   e k b ... | e k b ...     after the first token of the second copy, every next one
    copy        e k b > e k b             what comes after ">"
    reverse     e k b > b k e
    sort        e k b > b e k
    addition    3 + 9 = 1 (mod 11)        the sum (arXiv:2201.02177)
    characters  the next character of a text
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.tokenizers.vocabulary import joined
from tfcore.training.data import IGNORE, Batch, shift
from tfcore.training.lab.spec import ALPHABET, LabSpec

ARROW = ">"
HELD_OUT = 7  # of rows of symbols, those whose sum is a multiple of this are held out
HELD_SEED = 1_000_003
ARRANGE: dict[str, Callable[[Tensor], Tensor]] = {
    "copy": lambda rows: rows,
    "reverse": lambda rows: rows.flip(1),
    "sort": lambda rows: rows.sort(dim=1).values,
}


@dataclass(frozen=True, slots=True)
class Probe:
    """Rows of one shape, never trained on.

    Args:
        ids: the whole rows, answers included.
        start: how many tokens of each are given; the rest is to be predicted.
    """

    ids: Int[Tensor, "row seq"]
    start: int


@dataclass(frozen=True, slots=True)
class LabTask:
    """One task of one spec.

    Args:
        names: of the tokens, by id.
        train: (rows, generator) -> rows to train on.
        held_out: the same of rows that are never trained on.
        probe: the same, in one shape.
    """

    names: tuple[str, ...]
    train: Callable[[int, torch.Generator], Batch]
    held_out: Callable[[int, torch.Generator], Batch]
    probe: Callable[[int, torch.Generator], Probe]

    def batch(self, spec: LabSpec, step: int) -> Batch:
        """The rows of a step: a function of seed and step alone, so that a run can go on anywhere."""
        return self.train(spec.rows, torch.Generator().manual_seed(spec.seed * 1_000_000 + step))

    def checked(self, rows: int) -> Batch:
        """The held-out rows, always the same."""
        return self.held_out(rows, torch.Generator().manual_seed(HELD_SEED))

    def probed(self, rows: int) -> Probe:
        """The rows that are answered, always the same."""
        return self.probe(rows, torch.Generator().manual_seed(HELD_SEED + 1))


class TextRow(NamedTuple):
    """A row of a task as text: all of it, and what of it is given."""

    whole: str
    given: str


def examples(spec: LabSpec, count: int = 2) -> list[TextRow]:
    """Rows that the model of a spec was never trained on."""
    prepared = task(spec)
    probe, tokenizer = prepared.probed(count), NamedTokenizer(prepared.names)
    rows = [tokenizer.tokens(row) for row in probe.ids.tolist()]
    return [TextRow(joined(tokenizer, row), joined(tokenizer, row[: probe.start])) for row in rows]


def task(spec: LabSpec) -> LabTask:
    """The task of a spec."""
    if spec.task == "induction":
        return _induction(spec)
    if spec.task == "addition":
        return _addition(spec)
    if spec.task == "characters":
        return _characters(spec)
    return _arranged(spec)


# ---- random tokens, repeated ----


def _induction(spec: LabSpec) -> LabTask:
    """Each training row begins again after a period of its own, so that looking back a fixed distance does not help
    (arXiv:2209.11895). Tokens of a period are all different: each next one is then certain."""
    shortest = max(2, spec.length // 4)

    def train(rows: int, generator: torch.Generator) -> Batch:
        period = torch.randint(shortest, spec.length + 1, (rows, 1), generator=generator)
        return periodic_rows(rows, spec.seq, spec.symbols, period, generator)

    def probe(rows: int, generator: torch.Generator) -> Probe:
        half = min(spec.length, 16)  # short enough to be read in a picture
        once = shuffled_symbols(rows, spec.symbols, generator)[:, :half]
        return Probe(torch.cat((once, once), dim=1), half + 1)

    return LabTask(tuple(ALPHABET[: spec.symbols]), train, train, probe)


def shuffled_symbols(rows: int, symbols: int, generator: torch.Generator) -> Int[Tensor, "row symbol"]:
    """All symbols in a random order, a new one for each row."""
    return torch.rand(rows, symbols, generator=generator).argsort(dim=1)


def periodic_rows(rows: int, seq: int, symbols: int, period: Int[Tensor, "row 1"], generator: torch.Generator) -> Batch:
    """Rows that repeat from their period on; targets in the first period, which cannot be known, do not count."""
    place = torch.arange(seq + 1)[None, :]
    batch = shift(shuffled_symbols(rows, symbols, generator).gather(1, place % period))
    batch.targets[place[:, 1:] <= period] = IGNORE
    return batch


# ---- symbols, and the same in another order ----


def _arranged(spec: LabSpec) -> LabTask:
    n, arrow, arrange = spec.length, spec.symbols, ARRANGE[spec.task]

    def rows_of(held: bool) -> Callable[[int, torch.Generator], Int[Tensor, "row seq"]]:
        def draw(rows: int, generator: torch.Generator) -> Int[Tensor, "row seq"]:
            given = drawn(rows, n, spec.symbols, held, generator)
            return torch.cat((given, torch.full((rows, 1), arrow), arrange(given)), dim=1)

        return draw

    def train(rows: int, generator: torch.Generator) -> Batch:
        return answers_only(rows_of(False)(rows, generator), n + 1)

    def held(rows: int, generator: torch.Generator) -> Batch:
        return answers_only(rows_of(True)(rows, generator), n + 1)

    def probe(rows: int, generator: torch.Generator) -> Probe:
        return Probe(rows_of(True)(rows, generator), n + 1)

    return LabTask((*ALPHABET[: spec.symbols], ARROW), train, held, probe)


def drawn(rows: int, length: int, symbols: int, held: bool, generator: torch.Generator) -> Int[Tensor, "row length"]:
    """Rows of random symbols, from those that are held out or from the others."""
    kept = torch.empty(0, length, dtype=torch.long)
    while len(kept) < rows:
        more = torch.randint(0, symbols, (8 * rows + 64, length), generator=generator)
        kept = torch.cat((kept, more[is_held_out(more) == held]))
    return kept[:rows]


def is_held_out(rows: Int[Tensor, "row length"]) -> Bool[Tensor, " row"]:
    """A rule instead of a list: one row in seven."""
    return rows.sum(dim=1) % HELD_OUT == 0


def answers_only(rows: Int[Tensor, "row seq"], start: int) -> Batch:
    """Rows as input and next-token targets, of which those before `start` do not count."""
    batch = shift(rows)
    batch.targets[:, : start - 1] = IGNORE
    return batch


# ---- sums modulo p ----


def _addition(spec: LabSpec) -> LabTask:
    """All p * p sums, cut in two parts once and for all; the cut is the same for every seed."""
    p = spec.symbols
    sums = all_sums(p)
    order = torch.randperm(len(sums), generator=torch.Generator().manual_seed(HELD_SEED))
    cut = max(1, len(sums) * spec.share // 100)
    known, unknown = sums[order[:cut]], sums[order[cut:]]

    def of(rows_of: Tensor) -> Callable[[int, torch.Generator], Batch]:
        def draw(rows: int, generator: torch.Generator) -> Batch:
            return answers_only(rows_of[some(len(rows_of), rows, generator)], 4)

        return draw

    def probe(rows: int, generator: torch.Generator) -> Probe:
        return Probe(unknown[some(len(unknown), rows, generator)], 4)

    names = (*(str(i) for i in range(p)), "+", "=")
    return LabTask(names, of(known), of(unknown), probe)


def all_sums(p: int) -> Int[Tensor, "sum 5"]:
    """a + b = c (mod p) for all a and b, as the tokens a, +, b, =, c."""
    a, b = torch.arange(p).repeat_interleave(p), torch.arange(p).repeat(p)
    plus, equals = torch.full_like(a, p), torch.full_like(a, p + 1)
    return torch.stack((a, plus, b, equals, (a + b) % p), dim=1)


def some(there: int, rows: int, generator: torch.Generator) -> Int[Tensor, " row"]:
    """Random places among `there`, none twice; all of them where `rows` are not fewer."""
    if rows >= there:
        return torch.arange(there)
    return torch.randperm(there, generator=generator)[:rows]


# ---- characters of a text ----


def _characters(spec: LabSpec) -> LabTask:
    """Windows of the first nine tenths of a text; the last tenth is held out."""
    names = tuple(sorted(set(spec.text)))
    ids = {name: i for i, name in enumerate(names)}
    stream = torch.tensor([ids[c] for c in spec.text])
    cut = len(stream) - len(stream) // 10
    known, unknown = stream[:cut], stream[cut:]

    def windows(of: Tensor, rows: int, generator: torch.Generator) -> Int[Tensor, "row seq"]:
        start = torch.randint(0, len(of) - spec.length, (rows, 1), generator=generator)
        return of[start + torch.arange(spec.length + 1)]

    def probe(rows: int, generator: torch.Generator) -> Probe:
        return Probe(windows(unknown, rows, generator), max(1, spec.length // 2))

    return LabTask(
        names,
        lambda rows, generator: shift(windows(known, rows, generator)),
        lambda rows, generator: shift(windows(unknown, rows, generator)),
        probe,
    )
