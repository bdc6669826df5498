"""Merges of byte-pair encoding."""

from itertools import pairwise

import torch

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake
from tfcore.exercises.shown import shipped_model
from tfcore.views.finding import state
from tfcore.views.foundations.tokens.draw.merges import merges_figure
from tfcore.views.foundations.tokens.measure.bpe import MergeStep, learn, replay, word_merges
from tfcore.views.foundations.tokens.measure.text_pieces import piece_label

WORD = " understanding"
Merges = list[tuple[str, str]]


def merge(pieces: list[str], merges: list[tuple[str, str]]) -> list[str]:
    """The tokens of a word by byte-pair encoding.

    Of all pairs of neighbours that are in the list, the one that stands first in the list is joined, wherever it occurs
    in the word, from left to right. Then it begins again, until no pair of neighbours is in the list.

    Args:
        pieces: of the word; single letters.
        merges: pairs in the order in which they were learned.

    Returns:
        tokens: a list of strings, which joined are the word.
    """
    pieces = list(pieces)
    ranks = {pair: i for i, pair in enumerate(merges)}
    while known := [pair for pair in pairwise(pieces) if pair in ranks]:
        first = min(known, key=ranks.__getitem__)
        joined: list[str] = []
        for piece in pieces:
            if joined and (joined[-1], piece) == first:
                joined[-1] += piece
            else:
                joined.append(piece)
        pieces = joined
    return pieces


def by_tfcore(pieces: list[str], merges: Merges) -> list[str]:
    ranks = {(a.encode(), b.encode()): i for i, (a, b) in enumerate(merges)}
    return [piece.decode() for piece in replay(["".join(pieces).encode()], ranks)[-1].pieces]


def _joined(pieces: list[str], i: int) -> list[str]:
    return [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]]


def first_from_left(pieces: list[str], merges: Merges) -> list[str]:
    while places := [i for i in range(len(pieces) - 1) if (pieces[i], pieces[i + 1]) in merges]:
        pieces = _joined(pieces, places[0])
    return pieces


def last_learned_first(pieces: list[str], merges: Merges) -> list[str]:
    return by_tfcore(pieces, merges[::-1])


def one_merge(pieces: list[str], merges: Merges) -> list[str]:
    known = [pair for pair in pairwise(pieces) if pair in merges]
    return by_tfcore(pieces, [min(known, key=merges.index)]) if known else list(pieces)


def longest_from_left(pieces: list[str], merges: Merges) -> list[str]:
    tokens, rest = list[str](), "".join(pieces)
    vocabulary = {*pieces, *(a + b for a, b in merges)}
    while rest:
        tokens.append(max((one for one in vocabulary if rest.startswith(one)), key=len))
        rest = rest[len(tokens[-1]) :]
    return tokens


def from_the_right(pieces: list[str], merges: Merges) -> list[str]:
    mirrored = by_tfcore(list("".join(pieces)[::-1]), [(b[::-1], a[::-1]) for a, b in merges])
    return [piece[::-1] for piece in reversed(mirrored)]


def letters_twice(pieces: list[str], merges: Merges) -> list[str]:
    while known := [pair for pair in pairwise(pieces) if pair in merges]:
        first = min(known, key=merges.index)
        after = list[str]()
        for i, piece in enumerate(pieces):
            if tuple(pieces[i : i + 2]) == first:
                after.append(piece + pieces[i + 1])
            elif i == 0 or tuple(pieces[i - 1 : i + 1]) != first:
                after.append(piece)
        pieces = after
    return list(pieces)


def cases(generator: torch.Generator) -> list[Inputs]:
    def word(length: int) -> str:
        return "".join("aabc"[int(i)] for i in torch.randint(4, (length,), generator=generator))

    made: list[Inputs] = [(list("aaaaa"), [("a", "a")]), (list("bcab"), [])]
    made.append((list("abc"), [("b", "c"), ("a", "b"), ("a", "bc")]))
    for size in (4, 8, 12):
        learned = learn([word(6).encode() for _ in range(30)], size)
        merges = [(a.decode(), b.decode()) for a, b in (one.pair for one in learned)]
        made += [(list(word(length)), merges) for length in (1, 9, 16)]
    return made


def word_stays(call: Function, pieces: list[str], merges: Merges) -> bool:
    return "".join(call(pieces, merges)) == "".join(pieces)


def tokens_are_known(call: Function, pieces: list[str], merges: Merges) -> bool:
    return {*call(pieces, merges)} <= {*pieces, *(a + b for a, b in merges)}


def nothing_is_left(call: Function, pieces: list[str], merges: Merges) -> bool:
    return not {*pairwise(call(pieces, merges))} & {*merges}


def first_learned_goes_first(call: Function, pieces: list[str], merges: Merges) -> bool:
    return call(list("abc"), [("b", "c"), ("a", "b")]) == ["a", "bc"]


def draw(call: Function) -> Picture:
    replayed = word_merges(shipped_model("stories")[1], WORD)  # type: ignore[arg-type]
    letters, used = list(WORD), list[tuple[str, str]]()
    steps = [MergeStep(None, None, (tuple(letter.encode() for letter in letters),))]
    for step in replayed.steps[1:]:
        assert step.pair is not None
        used.append((step.pair[0].decode(), step.pair[1].decode()))
        tokens = call(letters, used)
        steps.append(MergeStep(step.rank, step.pair, (tuple(token.encode() for token in tokens),)))
    words = (
        "What the function makes of '{word}' with more and more merges of stories: {tokens:counted token} at the end."
    )
    found = state("merges", words, word=WORD.strip(), tokens=len(steps[-1].pieces))
    return Picture(merges_figure(steps, len(steps) - 1, piece_label, height=430), found)


MERGES = Exercise(
    solution=merge,
    title="Byte-pair encoding",
    asks="The tokens of a word from its letters and a list of merges.",
    papers="Neural Machine Translation of Rare Words with Subword Units, section 3.2, arXiv:1508.07909",
    formula=r"(a, b) \leftarrow \arg\min_{\text{neighbours}} \mathrm{rank}(a, b), \qquad a\;b \to ab",
    returns=("tokens",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("The tokens joined are the word.", "the tokens joined are not the word", word_stays),
        ExerciseProperty("Each token is a letter or a merge.", "a token is no merge of the list", tokens_are_known),
        ExerciseProperty(
            "No pair of neighbours is left that is in the list.",
            "a pair of neighbours is left that is in the list",
            nothing_is_left,
        ),
        ExerciseProperty(
            "The pair learned first is joined first.",
            "a pair learned later is joined before one learned first",
            first_learned_goes_first,
        ),
    ),
    mistakes=(
        UsualMistake(first_from_left, "is the first known pair from the left joined, whenever it was learned?"),
        UsualMistake(last_learned_first, "does the pair learned last go first?"),
        UsualMistake(one_merge, "does it end after one merge?"),
        UsualMistake(longest_from_left, "is the longest token taken from the left, as WordPiece does?"),
        UsualMistake(from_the_right, "does it join from right to left? Of a a a the first two are joined"),
        UsualMistake(letters_twice, "is a letter used in two pairs, as in a a a?"),
    ),
    hints=(
        "A dictionary from pair to its place in the list answers which pair of all neighbours stands first.",
        "`itertools.pairwise(pieces)` gives the pairs of neighbours, `min(known, key=ranks.get)` the first one.",
        "To join a pair everywhere, build a new list: where the last piece of it and the next one are the pair, "
        "lengthen the last piece.",
    ),
    page="tokens?part=merges",
    draw=draw,
)
