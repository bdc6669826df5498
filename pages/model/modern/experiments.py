"""The experiment of the page on modern blocks."""

from tfcore.analysis.model.modernising import race, versions
from tfcore.config import ModelConfig
from tfcore.figures.model.modernising import Panel, effects_figure
from tfcore.figures.theme import Figure


def switches(first: ModelConfig, step: int, seed: int) -> Figure:
    """From the Transformer of 2017 to today's, one switch at a time: parameters, cache, speed."""
    found = versions(first)
    for version in found:
        # Keys and values of one token, two bytes each.
        print(f"{version.name}: {version.parameters:,} parameters, {2 * version.cached:,} bytes of KV cache per token")
    # Timed on small models, again and again; the last of each is its quickest.
    quickest = {speed.step: speed for speed in race(seed)}
    for i, version in enumerate(found):
        print(f"{version.name}: {1e3 * quickest[i].read:.1f} ms prefill, {1e3 * quickest[i].written:.1f} ms per token")
    panels = [
        Panel("parameters", [v.parameters for v in found], [f"{v.parameters:,}" for v in found]),
        Panel("KV cache, bytes per token", [2 * v.cached for v in found], [f"{2 * v.cached:,}" for v in found]),
    ]

    return effects_figure([version.name for version in found], panels, step, height=400)
