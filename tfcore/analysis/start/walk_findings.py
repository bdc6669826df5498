"""What a stage of a walk did, in one sentence with its numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from tfcore.analysis.start.walk_steps import Step
from tfcore.analysis.start.walkthrough import Walk


class _Seen(NamedTuple):
    walk: Walk
    made: Step
    tokens: Sequence[str]


def finding(walk: Walk, made: Step, stage: str, tokens: Sequence[str]) -> str:
    """The sentence of a stage.

    Args:
        made: from `step`.
        tokens: of the text, as they are shown.
    """
    return _FINDINGS[stage](_Seen(walk, made, tokens))


def size(values: ndarray) -> float:
    """How large the numbers are: the root of their mean square."""
    return float(np.sqrt(np.square(values, dtype=np.float64).mean())) if values.size else 0.0


def _sizes(values: ndarray) -> str:
    rows = [size(row) for row in values]
    return f"{min(rows):.2f} to {max(rows):.2f}"


def _table(seen: _Seen) -> str:
    c = seen.walk.config
    return (
        f"{len(seen.tokens)} rows of a table of {c.vocab_size:,} were read, {c.d_model} numbers each; "
        f"their size (root mean square) is {_sizes(seen.made.after[0].values)}"
    )


def _resized(seen: _Seen) -> str:
    before, after = _sizes(seen.made.before[0].values), _sizes(seen.made.after[0].values)
    return f"Size of a token's vector (root mean square): {before} before, {after} after"


def _added(seen: _Seen) -> str:
    stream, added = (size(piece.values) for piece in seen.made.before)
    return (
        f"What is added has {added / stream:.0%} of the stream's size (root mean square {added:.2f} and {stream:.2f})"
    )


def _widths(seen: _Seen) -> str:
    before, after = (sum(piece.values.shape[1] for piece in pieces) for pieces in (seen.made.before, seen.made.after))
    return f"Each token's {before} numbers became {after}"


def _cut(seen: _Seen) -> str:
    c, (first, end) = seen.walk.config, seen.made.before[0].framed or (0, 0)
    shared = f", of which {c.kv_heads} pairs of K and V are shared" if c.kv_heads < c.n_heads else ""
    return f"{c.n_heads} heads of {c.head_size} numbers each{shared}; this one took columns {first} to {end - 1} of Q"


def _turned(seen: _Seen) -> str:
    before, after = (np.linalg.norm(pieces[0].values, axis=1) for pieces in (seen.made.before, seen.made.after))
    moved = np.abs(seen.made.after[0].values - seen.made.before[0].values).max(axis=1)
    other = np.abs(before - after).max()
    return (
        f"Position 0 moved by {moved[0]:.2f} at most, position {len(seen.tokens) - 1} by up to {moved[-1]:.2f}; "
        f"the lengths stayed, {'but for rounding' if other < 1e-4 else f'to within {other:.0e}'}"
    )


def _largest(values: ndarray, tokens: Sequence[str]) -> str:
    query, key = divmod(int(values.argmax()), values.shape[1])
    return f"'{tokens[query]}' ({query}) for '{tokens[key]}' ({key}): {values[query, key]:.2f}"


def _scored(seen: _Seen) -> str:
    values = seen.made.after[0].values
    return f"{values.size} scores, one for each pair; the largest is that of {_largest(values, seen.tokens)}"


def _spread(seen: _Seen) -> str:
    before, after = (float(pieces[0].values.std()) for pieces in (seen.made.before, seen.made.after))
    return f"Standard deviation of this head's scores: {before:.2f} before, {after:.2f} after"


def _hidden(seen: _Seen) -> str:
    blocked = seen.made.after[0].blocked
    count = 0 if blocked is None else int(blocked.sum())
    return f"{count} of {seen.made.after[0].values.size} scores became minus infinity"


def _shared_out(seen: _Seen) -> str:
    last = seen.made.after[0].values[-1]
    key = int(last.argmax())
    return (
        f"The last token, '{seen.tokens[-1]}', gives most of its attention to '{seen.tokens[key]}' ({key}): "
        f"{last[key]:.2f}; each row sums to 1"
    )


def _averaged(seen: _Seen) -> str:
    weights = seen.made.before[0].values
    return (
        f"Each row is an average of rows of V; that of '{seen.tokens[-1]}' mixes {len(seen.tokens)} of them, "
        f"'{seen.tokens[int(weights[-1].argmax())]}' with the weight {weights[-1].max():.2f}"
    )


def _joined(seen: _Seen) -> str:
    (first, end), c = seen.made.after[0].framed or (0, 0), seen.walk.config
    width = seen.made.after[0].values.shape[1]
    return f"{c.n_heads} heads of {c.head_size} numbers make {width}; this head's are {first} to {end - 1}"


@dataclass(frozen=True, slots=True)
class Activity:
    """What an activation function leaves of the hidden values of a feed-forward layer.

    Args:
        positive: share of the values before it, of the gate where there is one, that are above 0.
        near_zero: share of the values after it whose size is below a tenth of their root mean square.
        large: share of the values after it whose size is above their root mean square.
    """

    positive: float
    near_zero: float
    large: float


def activity(before: ndarray, after: ndarray) -> Activity:
    """Count the values before and after an activation function."""
    usual, sizes = size(after), np.abs(after)
    shares = (before > 0, sizes < 0.1 * usual, sizes > usual)
    return Activity(*(float(share.mean()) for share in shares))


def _passed(seen: _Seen) -> str:
    found = activity(seen.made.before[0].values, seen.made.after[0].values)
    return (
        f"{found.positive:.0%} of the values were above 0 before; afterwards {found.near_zero:.0%} are near 0 (below a "
        f"tenth of their root mean square) and {found.large:.0%} exceed the root mean square"
    )


def _routed(seen: _Seen) -> str:
    shares = seen.made.after[0].values[-1]
    return f"The last token, '{seen.tokens[-1]}', would give expert {int(shares.argmax())} the most: {shares.max():.2f}"


def _rated(seen: _Seen) -> str:
    at = seen.walk.position
    row = seen.walk.logits[at]
    return (
        f"{seen.walk.config.vocab_size:,} logits per token; shown are the {len(row)} ids that '{seen.tokens[at]}' "
        f"({at}) rates highest, from {row[0]:.1f} down to {row[-1]:.1f}"
    )


def _likely(seen: _Seen) -> str:
    at = seen.walk.position
    row = seen.walk.probabilities[at]
    return (
        f"For '{seen.tokens[at]}' ({at}) the highest score has the probability {row[0]:.2f}; the "
        f"{len(row)} ids shown have {row.sum():.2f} together"
    )


_FINDINGS: dict[str, Callable[[_Seen], str]] = {
    "embedding": _table,
    **dict.fromkeys(("scaling", "embedding-norm", "norm-1", "norm-1-after", "norm-2", "norm-2-after"), _resized),
    **dict.fromkeys(("segments", "positions", "add-1", "add-2"), _added),
    **dict.fromkeys(("qkv", "output", "up", "down", "experts", "mlm-head"), _widths),
    "final-norm": _resized,
    "heads": _cut,
    "qk-norm": _resized,
    "rotation": _turned,
    "scores": _scored,
    **dict.fromkeys(("scaled", "bias"), _spread),
    "mask": _hidden,
    "softmax": _shared_out,
    "values": _averaged,
    "concat": _joined,
    "activation": _passed,
    "router": _routed,
    "logits": _rated,
    "probabilities": _likely,
}
