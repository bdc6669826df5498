"""From the Transformer of 2017 to today's, one switch at a time."""

from collections.abc import Sequence

import pandas as pd

from tfcore.config import ModelConfig
from tfcore.views.kept import kept
from tfcore.views.model.modern import measure, say
from tfcore.views.model.modern.draw import effects_figure, panels
from tfcore.views.model.modern.measure import READ, Speed
from tfcore.views.model.parts import change as change
from tfcore.views.view import View, view

versions_of = kept(measure.versions, entries=8)


@view
def switches(first: ModelConfig, size: str, step: int, seed: int, *, so_far: Sequence[Speed] | None = None) -> View:
    """From the Transformer of 2017 to today's, one switch at a time: parameters, cache, speed.

    Args:
        first: the model of 2017 that is counted.
        size: of it, in words.
        step: switches that are made.
        seed: of the weights of the models that are timed.
        so_far: the times until now; None times all models.
    """
    versions, speeds = versions_of(first), measure.timed(seed) if so_far is None else so_far
    trained = measure.trained()
    means = {name: sum(seeds) / len(seeds) for name, seeds in trained.losses.items()} if trained else {}
    by_step = {speed.step: speed for speed in speeds}
    effect = say.switch_effect(versions, step, size)
    return View(
        key="effects",
        title="The effects of the switches",
        result=(versions, speeds, trained),
        chart=effects_figure(
            [version.name for version in versions], panels(versions, speeds, trained), step, height=400
        ),
        findings=(effect,),
        table=lambda: pd.DataFrame(
            [
                {
                    "switch": version.name,
                    "parameters": version.parameters,
                    "KV cache, values per token": version.cached,
                    f"prefill of {READ} tokens (s)": by_step[i].read if i in by_step else None,
                    "decode (s per token)": by_step[i].written if i in by_step else None,
                    **({"held-out loss, mean": means[version.name]} if means else {}),
                }
                for i, version in enumerate(versions)
            ]
        ),
        min_width=640,
        formula=(
            r"\begin{aligned}\text{2017: }& x \leftarrow \mathrm{norm}(x + F(x)) \\"
            r"\text{today: }& x \leftarrow x + F(\mathrm{norm}(x))\end{aligned}"
        ),
        papers=f"{say.timed_models()} {say.trained_models(trained) if trained else ''}".strip(),
        terms=("pre-LN", "grouped-query attention (GQA)", "SwiGLU", "weight tying"),
        code=(measure.versions, measure.race),
    )
