"""Views of effects over a set of prompts, as means with their intervals."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tfcore.charts.boards import board, board_height
from tfcore.measures import attribution_patching, statistics
from tfcore.measures.interventions import columns_of, part_title, parts_of
from tfcore.measures.token_text import label
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.draw import dots_height, interval_dots
from tfcore.views.inside.interventions.measure import prompt_means, prompt_sets
from tfcore.views.inside.interventions.measure.prompt_sets import ExactEffects, Paired, PromptEffects
from tfcore.views.inside.interventions.measure.prompt_tables import read_prompts
from tfcore.views.inside.scale_end import scale_end
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view

PromptResults = Sequence[PromptEffects | ExactEffects]


def _paired(source: Source, table: str, bos: bool | None) -> Paired:
    """The prompts of a CSV table that a model can pair."""
    model, tokenizer = opened(source)
    return prompt_sets.pair_prompts(model, tokenizer, read_prompts(table), bos)


def measuring(
    model: Source, table: str, patched: bool, bos: bool | None
) -> Iterator[PromptEffects | ExactEffects | None]:
    """Metric and estimates of every prompt, then the exact effects of the largest parts and, if asked for, patches."""
    network, prompts = opened(model)[0], paired(model, table, bos).encoded
    return prompt_sets.measure_set(
        network, prompts, patches=prompt_sets.exact_patches(network, prompts) if patched else 0
    )


def _measured(source: Source, table: str, patched: bool, bos: bool | None) -> list[PromptEffects | ExactEffects]:
    return [one for one in measuring(source, table, patched, bos) if one is not None]


pairable = kept(prompt_sets.pairable_templates, entries=32)
paired = kept(_paired, entries=32)
measured = kept(_measured, entries=16)


@view
def prompt_effects(
    model: Source, table: str, patched: bool, bos: bool | None = None, *, so_far: PromptResults | None = None
) -> View:
    """The largest parts over a set of prompts: mean effects of zero ablation with their intervals, exact ones as soon
    as two prompts have theirs.

    Args:
        model: a decoder.
        table: the prompts, CSV.
        patched: whether outputs are patched, too, for prompt_board.
        bos: whether the token that says that a text begins stands before each; None for as its tokenizer does.
        so_far: what is measured until now, of two prompts at least; None measures all.
    """
    network, prompts = opened(model)[0], paired(model, table, bos).prompts
    effects = measured(model, table, patched, bos) if so_far is None else so_far
    largest = prompt_means.part_values(network, effects)
    parts, values, exact = largest
    how = f"Zero ablation, {'exact' if exact else 'estimated'}"
    how += "" if len(values) == len(prompts) else f", {len(values)} of {len(prompts)} prompts"
    means, names = largest.means, [part_title(part) for part in parts]
    return View(
        key="means",
        title="The largest parts",
        result=largest,
        chart=interval_dots(
            means,
            values,
            names,
            [part.kind for part in parts],
            [f"{label(one.clean, 60)} → {label(one.answer)}" for one in prompts[: len(values)]],
            "mean fall of the metric, 95% interval (logits)",
            height=dots_height(len(parts)),
        ),
        min_width=340,
        findings=(
            say.largest_means(means, names, how),
            say.set_metric([one for one in effects if isinstance(one, PromptEffects)]),
        ),
        note="Open dots: the interval includes 0.",
        table=lambda: pd.DataFrame(
            {"part": names, **means.columns, **{f"prompt {i}": row for i, row in enumerate(values, 1)}}
        ),
        formula=(
            r"\begin{gathered}d = \mathrm{logit}_{\text{answer}} - \mathrm{logit}_{\text{wrong}}, \qquad "
            r"e_i = d_i(\text{clean}) - d_i(\text{clean, edited}) \\ "
            r"\bar e \pm t_{n-1,\,0.975} \cdot \frac{s}{\sqrt n}, \qquad "
            r"s^2 = \frac{1}{n-1} \sum_i (e_i - \bar e)^2\end{gathered}"
        ),
        papers=(
            "The names, and the difference of two logits: arXiv:2211.00593, section 2; corrupted texts of equally many "
            "tokens: arXiv:2309.16042, section 2; estimates of all parts: arXiv:2310.10348, section 2. The interval "
            "is Student's; it takes the prompts for a random sample."
        ),
        terms=("activation patching", "confidence interval"),
        code=(prompt_sets.measure_set, attribution_patching.part_effects, prompt_means.means_of, statistics.t_quantile),
    )


@view
def prompt_board(
    model: Source, table: str, patched: bool, bos: bool | None = None, *, so_far: PromptResults | None = None
) -> View:
    """Mean effects over a set of prompts, of every part: zero ablation, estimated, or the output of each layer's
    attention and feed-forward layer replaced by that of the corrupted text, exact as soon as that is known. See
    prompt_effects."""
    network = opened(model)[0]
    effects = measured(model, table, patched, bos) if so_far is None else so_far
    columns, axis = columns_of(parts_of(network.config)), ""
    both, rows = prompt_means.board_means(effects, patched), prompt_means.board_names(network, patched)
    means, exact = both
    how = f"Zero ablation of each part, {both.how}"
    if patched:
        mixes = "attention" if network.config.mixer is None else "attention or mixer"
        columns, axis = [mixes, "feed-forward"], "output patched from the corrupted text"
        how = f"Patching from the corrupted text, {both.how}"
    end = scale_end(means.mean, rows, least=0.5)
    names = [name for row in rows for name in row]
    return View(
        key="set-board",
        title="The board",
        result=both,
        chart=board(
            means.mean,
            columns,
            "%{text}",
            limit=end.end,
            crossed=means.unsure,
            estimated=~exact if exact.any() else None,
            words=[
                [f"{name}: {mean:+.2f} ({low:+.2f} to {high:+.2f})" for name, mean, low, high in zip(*row, strict=True)]
                for row in zip(rows, means.mean, means.low, means.high, strict=True)
            ],
            across=axis,
            height=board_height(len(rows), 18 if len(rows) > 12 else 40),
        ),
        min_width=340,
        findings=(say.largest_means(means, names, how), *([end] if end.beyond else [])),
        note="A cross: the interval includes 0.",
        table=lambda: pd.DataFrame({"part": names, **means.columns, "exact": exact.ravel()}).dropna(),
    )
