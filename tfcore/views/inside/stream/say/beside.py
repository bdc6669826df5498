"""Findings on one token in two texts, or in two models."""

from collections.abc import Sequence

from tfcore.measures.lenses import stage_names
from tfcore.measures.token_text import visible
from tfcore.views.finding import Statement, state
from tfcore.views.inside.stream.measure.lens import TokenPath


def led_from(paths: tuple[TokenPath, TokenPath], piece: str, names: tuple[str, str]) -> Statement:
    """From which stage on the first token of each path is the top prediction to the end, and its probability there."""
    return state(
        "led from",
        "'{token}' is, for {first}, {here}; for {second}, {there}.",
        token=visible(piece),
        first=names[0],
        here=_led(paths[0]),
        second=names[1],
        there=_led(paths[1]),
    )


def _led(path: TokenPath) -> str:
    behind = [place for place, rank in enumerate(path.rank[:, 0].tolist()) if rank]  # where another token leads
    begin, end = (behind[-1] + 1 if behind else 0), f"{path.probability[-1, 0]:.0%} at the end"
    if begin == len(path.stages):
        return f"not first, with {end}"
    return f"first from {stage_names(path.stages)[begin]} on, with {end}"


def largest_difference(
    rows: Sequence[tuple[str, float, float]], piece: str, names: tuple[str, str], logits: tuple[float, float]
) -> Statement:
    """Both logits, and the part whose shares differ most."""
    name, first, second = max(rows, key=lambda row: abs(row[1] - row[2]))
    return state(
        "largest difference",
        "Logit of '{token}': {here:+.2f} for {first}, {there:+.2f} for {second}. Of these parts {part} differs most: "
        "{share:+.2f} and {other:+.2f}.",
        token=visible(piece),
        here=logits[0],
        first=names[0],
        there=logits[1],
        second=names[1],
        part=name,
        share=first,
        other=second,
    )
