"""One text continued by several strategies at once, token by token."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from tfcore.analysis.inference.written import Written, read_again, written
from tfcore.generation.beam import beam_steps
from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.model import Transformer

Strategy = Literal["greedy", "beam", "sampling", "pure"]
BEAMS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be written.

    Args:
        ids: the text to continue.
        sampling: of the strategy "sampling"; "pure" draws from the model's own distribution.
        seed: of all draws.
        tokens: how many each strategy writes at most.
        stop_ids: each of them ends a text.
    """

    ids: tuple[int, ...]
    sampling: Sampling
    seed: int
    tokens: int
    stop_ids: tuple[int, ...] = ()


def continue_beside(model: Transformer, plan: Plan) -> Iterator[tuple[Strategy, Written] | None]:
    """Greedy, filtered and pure sampling in turn, a token each; then beam search, which cannot tell before its end.

    None says that there is nothing new, but that whoever has enough can stop here.
    """
    ways: dict[Strategy, Sampling] = {"greedy": Sampling(temperature=0), "sampling": plan.sampling, "pure": Sampling()}
    streams = {
        name: stream(model, plan.ids, max_new_tokens=plan.tokens, seed=plan.seed, stop_ids=plan.stop_ids, **asdict(way))
        for name, way in ways.items()
    }
    while streams:
        for name in list(streams):
            step = next(streams[name], None)
            if step is None:
                del streams[name]
            else:
                yield name, written(step.filters[0].probabilities, step.token, step.probability)
    yield from _beam(model, plan.ids, plan.tokens, plan.stop_ids)


def _beam(
    model: Transformer, ids: Sequence[int], tokens: int, stop_ids: Collection[int]
) -> Iterator[tuple[Strategy, Written] | None]:
    best: tuple[int, ...] = ()
    for step in beam_steps(model, ids, beams=BEAMS, max_new_tokens=tokens, stop_ids=stop_ids):
        best = step.finished[0].ids if step.finished else best
        yield None
    for one in read_again(model, ids, best):
        yield "beam", one
