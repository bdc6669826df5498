"""The scan of `stories-moe`: which tokens each expert prefers. Trains nothing, reads the held-out stories."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tfcore.measures.expert_scan import routing_accuracy, save_scan, scan
from tfcore.training import data
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes.neurons import LICENCE, with_tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsRecipe:
    """How to scan.

    Args:
        model: the shipped model.
        kept: excerpts of each expert.
        least: occurrences below which a token is left out.
    """

    model: str = "stories-moe"
    kept: int = 6
    least: int = 25


EXPERTS = ExpertsRecipe()


def experts(
    corpus: Path,
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - there are no steps to report
    recipe: ExpertsRecipe = EXPERTS,
) -> dict[str, float]:
    """Scan the held-out stories and write the result to `out`; returns how much there was.

    Raises:
        CorpusError: when a text below `corpus` is missing.
        CheckpointError: when the model is not there.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    model, tokenizer = with_tokenizer(recipe.model)
    scanned = scan(model, [tokenizer.encode(story) for story in data.held_out(corpus)], recipe.kept, recipe.least)
    save_scan(out, scanned, LICENCE)
    known = routing_accuracy(scanned)
    return {
        "tokens read": scanned.tokens,
        "tokens kept": len(scanned.ids),
        **{f"experts named right by the token, layer {i}": float(right) for i, right in enumerate(known.by_token)},
    }
