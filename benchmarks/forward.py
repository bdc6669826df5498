"""How long a forward pass takes: with all patterns captured, against `transformers`, and against bare products."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import torch

from benchmarks.gpt2_shape import ours, peer, products
from benchmarks.timing import interleaved, milliseconds, ratio

ROUNDS = {32: 21, 128: 15, 512: 7}  # tokens -> rounds
PATTERNS = ("blocks.*.attn.pattern",)


@dataclass(frozen=True, slots=True)
class Forward:
    """One line of the table.

    Args:
        tokens: length of the text.
        milliseconds: median time of every way: patterns, peer, products, nothing (captured), everything.
        to_peer, to_products: the pass with all patterns over the peer's, and over the matrix products alone;
            medians of the ratios in the same round.
        nothing, everything: a pass that captures nothing, and one that captures every activation, over the pass with
            all patterns.
    """

    tokens: int
    milliseconds: dict[str, float]
    to_peer: float
    to_products: float
    nothing: float
    everything: float

    def to_dict(self) -> dict[str, object]:
        """The fields as JSON-ready values."""
        return asdict(self)


@torch.no_grad()
def measure(rounds: dict[int, int] | None = None) -> list[Forward]:
    """Time GPT-2's shape with the same random weights here and in `transformers`, both on explicit attention."""
    model = ours()
    other = peer(model)
    results = []
    for tokens, n in (rounds or ROUNDS).items():
        ids = torch.randint(0, model.config.vocab_size, (1, tokens), generator=torch.Generator().manual_seed(tokens))
        calls: dict[str, Callable[[], object]] = {
            "patterns": partial(model, ids, capture=PATTERNS),
            "peer": partial(other, ids, output_attentions=True),
            "products": products(model, tokens),
            "nothing": partial(model, ids),
            "everything": partial(model, ids, capture="*"),
        }
        seconds = interleaved(calls, n)
        results.append(
            Forward(
                tokens,
                {name: round(milliseconds(seconds, name), 1) for name in calls},
                round(ratio(seconds, "patterns", "peer"), 3),
                round(ratio(seconds, "patterns", "products"), 3),
                round(ratio(seconds, "nothing", "patterns"), 3),
                round(ratio(seconds, "everything", "patterns"), 3),
            )
        )
    return results
