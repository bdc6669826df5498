"""Beam search as a tree: every text that was considered, which were kept, and where greedy's text is among them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import exp, log

from tfcore.analysis.inference.written import read_again
from tfcore.generation.beam import Beam, BeamStep, beam_steps
from tfcore.generation.generate import generate
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Node:
    """A text that was considered, by its last token.

    Args:
        ids: all its new ids.
        step: how many they are.
        rank: among the candidates of its step, 0 for the most likely.
        parent: index of the node that it continues; -1 for the given text.
        probability: of its last token, given the ones before.
        score: the sum of the log-probabilities of all its new ids.
        state: "kept", "finished" or "dropped"; see tfcore.generation.beam.
    """

    ids: tuple[int, ...]
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
        nodes: in the order in which they were found.
        results: the finished texts, the best first.
        greedy: what greedy decoding writes instead, scored the same way.
        left_at: the step at which greedy's text was dropped; 0 if it never was.
    """

    nodes: tuple[Node, ...]
    results: tuple[Beam, ...]
    greedy: Beam
    left_at: int

    @property
    def steps(self) -> int:
        """How many there were."""
        return self.nodes[-1].step if self.nodes else 0


def beam_tree(
    model: Transformer,
    ids: Sequence[int],
    *,
    beams: int,
    tokens: int,
    length_penalty: float,
    stop_ids: Collection[int] = (),
) -> BeamTree:
    """Search, and note everything on the way; see tfcore.generation.beam.beam_search for the arguments."""
    steps = list(
        beam_steps(model, ids, beams=beams, max_new_tokens=tokens, length_penalty=length_penalty, stop_ids=stop_ids)
    )
    if not steps:
        raise ValueError(f"there is no room for a token behind {len(ids)}; give fewer")
    nodes = grown(steps, 2 * beams)
    text = tuple(generate(model, ids, max_new_tokens=tokens, temperature=0, stop_ids=stop_ids))
    total = sum(log(max(one.probability, 1e-38)) for one in read_again(model, ids, text))
    alive = {node.ids for node in nodes if node.state != "dropped"}
    left_at = next((n for n in range(1, min(len(text), len(steps)) + 1) if text[:n] not in alive), 0)
    return BeamTree(tuple(nodes), steps[-1].finished, Beam(text, total / len(text) ** length_penalty), left_at)


def grown(steps: Sequence[BeamStep], shown: int) -> list[Node]:
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
                nodes.append(Node((*ids, one.token), number, rank, parent, probability, one.score, one.state))
        parents = [i for i in range(first, len(nodes)) if nodes[i].state == "kept"]
    return nodes


def sentence_ends(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Ids of the tokens that end a sentence: a full stop, a question mark, an exclamation mark, perhaps a quote."""
    ends = {mark + quote for mark in (b".", b"?", b"!") for quote in (b"", b'"')}
    return tuple(i for i in range(tokenizer.vocab_size) if tokenizer.token_bytes(i).strip() in ends)
