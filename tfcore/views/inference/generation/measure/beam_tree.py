"""Beam search as a tree: every text considered, which of them were kept, and when greedy's text was dropped."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from tfcore.generation.beam import Beam, BeamStep, beam_steps
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.measures.one_text import piece_of
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inference.generation.measure.decoding import LEAST, last_tokens, read_again


@dataclass(frozen=True, slots=True)
class Node:
    """A text that was considered, by its last token.

    Args:
        ids: all its new ids.
        token: text of the last of them.
        step: how many they are.
        rank: among the candidates of its step, 0 for the most likely.
        parent: index of the node that it continues; -1 for the given text.
        probability: of its last token, given the ones before.
        score: the sum of the log-probabilities of all its new ids.
        state: "kept", "finished" or "dropped"; see tfcore.generation.beam.
    """

    ids: tuple[int, ...]
    token: str
    step: int
    rank: int
    parent: int
    probability: float
    score: float
    state: str


@dataclass(frozen=True, slots=True)
class BeamTree:
    """A search.

    Args:
        beams: how many texts are kept at each step.
        nodes: in the order in which they were found.
        results: the finished texts, the best first.
        greedy: what greedy decoding writes instead, scored the same way.
        texts: of the results, then of greedy.
        left_at: the step at which greedy's text was dropped; 0 if it never was.
    """

    beams: int
    nodes: tuple[Node, ...]
    results: tuple[Beam, ...]
    greedy: Beam
    texts: tuple[str, ...]
    left_at: int

    @property
    def steps(self) -> int:
        """How many steps there were."""
        return self.nodes[-1].step if self.nodes else 0


class GreedyText(NamedTuple):
    """A text of greedy decoding, and the sum of its log-probabilities."""

    ids: tuple[int, ...]
    total: float


def beam_tree(
    model: Transformer,
    tokenizer: Tokenizer,
    ids: Sequence[int],
    *,
    beams: int,
    tokens: int,
    length_penalty: float,
    stop_ids: Collection[int] = (),
    greedy: GreedyText | None = None,
) -> BeamTree:
    """Every step of a beam search, with greedy's text; see tfcore.generation.beam.beam_search for the arguments.

    Args:
        greedy: what `greedy_text` gives; None computes it.

    Raises:
        ValueError: no room in the context for a token.
    """
    steps = list(
        beam_steps(model, ids, beams=beams, max_new_tokens=tokens, length_penalty=length_penalty, stop_ids=stop_ids)
    )
    if not steps:
        raise ValueError(f"there is no room for a token behind {len(ids)}; give fewer")
    nodes = tree_nodes(steps, tokenizer, 2 * beams)
    text, total = greedy or greedy_text(model, ids, tokens, stop_ids)
    alive = {node.ids for node in nodes if node.state != "dropped"}
    left_at = next((n for n in range(1, min(len(text), len(steps)) + 1) if text[:n] not in alive), 0)
    results, scored = steps[-1].finished, Beam(text, total / len(text) ** length_penalty)
    texts = tuple(tokenizer.decode(list(one.ids)) for one in (*results, scored))
    return BeamTree(beams, tuple(nodes), results, scored, texts, left_at)


def greedy_text(model: Transformer, ids: Sequence[int], tokens: int, stop_ids: Collection[int] = ()) -> GreedyText:
    """The text that greedy decoding writes behind some ids."""
    text = tuple(generate(model, ids, Sampling(temperature=0), max_new_tokens=tokens, stop_ids=stop_ids))
    return GreedyText(text, sum(log(max(one.probability, LEAST)) for one in read_again(model, ids, text)))


def tree_nodes(steps: Sequence[BeamStep], tokenizer: Tokenizer, shown: int) -> list[Node]:
    """The nodes of all steps: the first `shown` candidates of each, and whatever was kept beyond them."""
    nodes: list[Node] = []
    parents = [-1]  # indices of the texts that are continued
    for number, step in enumerate(steps, start=1):
        first = len(nodes)
        for rank, one in enumerate(step.candidates):
            if rank < shown or one.state != "dropped":
                parent = parents[one.parent]
                ids, before = ((), 0.0) if parent < 0 else (nodes[parent].ids, nodes[parent].score)
                probability = exp(min(one.score - before, 0.0))
                piece = piece_of(tokenizer, one.token)
                nodes.append(Node((*ids, one.token), piece, number, rank, parent, probability, one.score, one.state))
        parents = [i for i in range(first, len(nodes)) if nodes[i].state == "kept"]
    return nodes


def search_text(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    beams: int,
    tokens: int,
    length_penalty: float,
    stop_ids: tuple[int, ...],
    greedy: GreedyText | None = None,
) -> BeamTree:
    """The search that continues the last tokens of a text."""
    ids = last_tokens(model, tokenizer, text, limit).ids
    return beam_tree(
        model,
        tokenizer,
        ids,
        beams=beams,
        tokens=tokens,
        length_penalty=length_penalty,
        stop_ids=stop_ids,
        greedy=greedy,
    )


def greedy_behind(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, tokens: int, stop_ids: tuple[int, ...]
) -> GreedyText:
    """The text of greedy decoding behind the last tokens of a text."""
    return greedy_text(model, last_tokens(model, tokenizer, text, limit).ids, tokens, stop_ids)


def sentence_ends(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Ids of the tokens that end a sentence: a full stop, a question mark, an exclamation mark, perhaps a quote."""
    ends = {mark + quote for mark in (b".", b"?", b"!") for quote in (b"", b'"')}
    return tuple(i for i in range(tokenizer.vocab_size) if tokenizer.token_bytes(i).strip() in ends)
