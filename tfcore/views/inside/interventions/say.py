"""Sentences about ablated parts, patches, what each token adds, and sets of prompts."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.measures import knock_outs
from tfcore.measures.answers import Answers
from tfcore.measures.interventions import Part, part_title
from tfcore.measures.knock_outs import SMALL
from tfcore.measures.statistics import correlation, rank_correlation
from tfcore.measures.token_text import visible
from tfcore.views.finding import Statement, state
from tfcore.views.inside.interventions.measure import input_attribution
from tfcore.views.inside.interventions.measure.input_attribution import InputAttribution
from tfcore.views.inside.interventions.measure.patching import Kind, PromptPair, patched_title
from tfcore.views.inside.interventions.measure.prompt_means import LEVEL, Means, means_of
from tfcore.views.inside.interventions.measure.prompt_sets import PromptEffects

PEAKS = 5  # rows whose largest share a sentence names
NAMED = 3  # parts that a sentence names

# ---- parts that are ablated ----


def largest_effect(
    effects: Float[ndarray, "layer part"], parts: Sequence[Sequence[Part | None]], start: str, of: str, unit: str
) -> Statement:
    """The part whose ablation makes a quantity fall most, the one whose ablation makes it rise, if there is one, and
    how many hardly matter; NaN is no effect.

    Args:
        start: how the effects were found, of what, as in "Zero ablation of each part alone".
        of: what falls, as in "log-probability of “ he” at the end".
        unit: of the effects.
    """
    effects = knock_outs.without_rounding(effects)
    known = effects[~np.isnan(effects)]
    ends = (np.unravel_index(at, effects.shape) for at in (np.nanargmax(effects), np.nanargmin(effects)))
    most, least = (_title(parts, int(layer), int(column)) for layer, column in ends)
    rises = "; lowest: {lowest_part}, {lowest:+.2f}" if known.min() <= -SMALL else ""
    return state(
        "largest effect",
        f"{{start}}: fall of the {{of}}, in {{unit}}. Most: {{part}}, {{effect:+.2f}}{rises}; {{small}} of {{parts}} "
        "change it by less than {limit}.",
        start=start,
        of=of,
        unit=unit,
        part=most,
        effect=float(known.max()),
        lowest_part=least,
        lowest=float(known.min()),
        small=int((np.abs(known) < SMALL).sum()),
        parts=len(known),
        limit=SMALL,
    )


def filled_in(missing: Bool[ndarray, "layer part"]) -> Statement:
    """How many layers have exact effects, and that the others have estimates."""
    exact, layers = int((~missing.any(1)).sum()), len(missing)
    if exact == layers:
        words = "All effects are exact."
    elif exact:
        words = "Exact in {exact} of {layers} layers; pale: estimates by attribution patching (arXiv:2310.10348)."
    else:
        words = "All effects are estimates by attribution patching (arXiv:2310.10348), pale; exact ones are to come."
    return state("filled in", words, exact=exact, layers=layers)


def one_point_a_part() -> Statement:
    """Explain the points of the scatter."""
    return state("points", "One point per part.")


def estimate_against_exact(
    estimate: Float[ndarray, "layer part"],
    exact: Float[ndarray, "layer part"],
    parts: Sequence[Sequence[Part | None]],
    unit: str,
) -> Statement:
    """How near estimates come to exact effects: Pearson's correlation, over all parts and over heads alone, where there
    is one; of the parts with a tenth of the largest exact effect, how many have an estimate of its sign; and the part
    that the estimate misses by most."""
    estimate, exact = knock_outs.without_rounding(estimate), knock_outs.without_rounding(exact)
    there = ~np.isnan(exact)
    is_head = np.array([[part is not None and part.is_head for part in layer] for layer in parts])
    least = float(np.nanmax(np.abs(exact))) / 10
    large = np.abs(exact) >= max(least, knock_outs.ROUNDING)
    layer, column = (int(i) for i in np.unravel_index(np.nanargmax(np.abs(estimate - exact)), exact.shape))
    every, heads = correlation(estimate[there], exact[there]), correlation(estimate[is_head], exact[is_head])
    of_heads = "" if heads is None else ", {heads:.2f} over heads alone"
    start = (
        "" if every is None else f"Correlation of estimate and exact effect: {{every:.2f}} over all parts{of_heads}. "
    )
    return state(
        "estimate against exact",
        f"{start}Of the {{counted}} parts with an exact effect of at least {{least:.2g}} {{unit}}, {{same_sign}} have "
        "an estimate of the same sign. Farthest off: {part}, estimate {estimate:+.2f}, exact {exact:+.2f}.",
        every=every,
        heads=heads,
        counted=int(large.sum()),
        least=least,
        unit=unit,
        same_sign=int((np.sign(estimate) == np.sign(exact))[large].sum()),
        part=_title(parts, layer, column),
        estimate=float(estimate[layer, column]),
        exact=float(exact[layer, column]),
    )


def _title(parts: Sequence[Sequence[Part | None]], layer: int, column: int) -> str:
    """The title of a part that is there."""
    part = parts[layer][column]
    return "" if part is None else part_title(part)


# ---- patches ----


def patched_words(config: ModelConfig, name: str, kind: Kind, token: str, position: int) -> str:
    """A patch in words."""
    title = patched_title(config, name, kind)
    what = f"the residual stream {title}" if kind == "residual" else title
    return f"{what} patched at '{visible(token)}' ({position})"


def patched_shares(
    both: PromptPair, shares: Float[ndarray, "row seq"], rows: Sequence[str], tokens: Sequence[str], answers: Answers
) -> Statement:
    """State the quantity on both texts, and the largest share of each of PEAKS rows: the first, the last, and those
    where it is largest.

    Args:
        rows: titles of the patched activations.
        tokens: of the text, as pieces of it.
        answers: of the model, see answers_of.
    """
    other, own = answers.tokens(both.answers)
    known = np.nan_to_num(shares, nan=-np.inf)
    tops, places = known.max(1), known.argmax(1).tolist()
    ends = [0, len(tops) - 1]
    largest = [i for i in np.argsort(-tops, kind="stable").tolist() if i not in ends]
    kept = sorted({*ends, *largest[: PEAKS - len(ends)]})
    if own == other:
        scale = "0: as in this text, 1: as in the source text, by the log-probability of '{own}', which"
    else:
        scale = (
            "0: this text's own prediction ('{own}'), 1: the source text's ('{other}'), measured by their logit "
            "difference, which"
        )
    return state(
        "patched shares",
        f"{scale} goes from {{difference:.2f}} to {{source_difference:.2f}}. Largest in a row: {{peaks}}.",
        own=visible(own),
        other=visible(other),
        difference=both.difference[1],
        source_difference=both.difference[0],
        peaks="; ".join(f"{rows[i]}: {tops[i]:.2f} at '{visible(tokens[places[i]])}' ({places[i]})" for i in kept),
    )


def where_it_is(
    shares: Float[ndarray, "row seq"], kind: Kind, rows: Sequence[str], tokens: Sequence[str], is_read_last: bool = True
) -> Statement:
    """For the residual stream, the row from which on the last position carries the difference; else, the largest
    share.

    Args:
        is_read_last: whether the prediction is read at the last position.
    """
    if kind == "residual" and is_read_last:
        led = [row for row, own in zip(rows, shares, strict=True) if own.argmax() == len(own) - 1]
        brings = "brings most from the row “{row}” on" if led else "never brings most"
        start = "At the last position, where the prediction is read, it"
        return state("read at the end", f"{start} {brings}.", row=led[0] if led else None)
    row, position = (int(i) for i in np.unravel_index(shares.argmax(), shares.shape))
    return state(
        "largest share",
        "The largest share is that of {row} at '{token}' ({position}): {share:.2f}.",
        row=rows[row],
        token=visible(tokens[position]),
        position=position,
        share=float(shares[row, position]),
    )


def estimates_until(start: int | None) -> Statement:
    """A sentence that shares are estimates, but for those from a position on, if there are any."""
    exact = "" if start is None else "; exact from position {start} on"
    return state("estimates", f"Estimates from one backward pass{exact}.", start=start)


def estimated_shares(
    both: PromptPair,
    estimate: Float[ndarray, "row seq"],
    exact: Float[ndarray, "row seq"],
    rows: Sequence[str],
    tokens: Sequence[str],
) -> Statement:
    """How near shares estimated by one backward pass come to the exact ones: Pearson's correlation from the first token
    that differs on, where there is one, and the cell that the estimate misses by most.

    Args:
        rows: titles of the patched activations.
        tokens: of the target.
    """
    first, *_ = both.differing
    row, column = (int(i) for i in np.unravel_index(np.abs(estimate - exact).argmax(), exact.shape))
    r = correlation(estimate[:, first:], exact[:, first:])
    start = "" if r is None else "Correlation with the estimates: {correlation:.2f}. "
    return state(
        "estimated shares",
        f"{start}The estimate is farthest off for {{row}} at '{{token}}' ({{position}}): {{estimate:.2f}}, exactly "
        "{exact:.2f}.",
        correlation=r,
        row=rows[row],
        token=visible(tokens[column]),
        position=column,
        estimate=float(estimate[row, column]),
        exact=float(exact[row, column]),
    )


# ---- what each token adds ----


def colours(of: str) -> Statement:
    """Explain the colours of the tokens; `of` is the quantity, in words."""
    return state("colours", "What each token adds to the {of}: red adds, blue takes away.", of=of)


def completeness(attribution: InputAttribution, against: str, unit: str) -> Statement:
    """The sum of integrated gradients beside the difference that they explain.

    Args:
        against: the baseline in words.
        unit: of the quantity.
    """
    words = (
        "Integrated gradients from {against}, {steps} points: they sum to {total:+.2f} {unit}; the difference that "
        "they explain is {difference:+.2f}; gap {gap:+.2f}."
    )
    if attribution.withheld:
        words = (
            "Integrated gradients from {against} are withheld: over {steps} points they sum to {total:+.2f} {unit}, "
            "not {difference:+.2f}; another text with one word replaced would work as baseline."
        )
    return state(
        "completeness",
        words,
        against=against,
        steps=attribution.steps,
        total=float(attribution.integrated.sum()),
        unit=unit,
        difference=attribution.difference,
        gap=round(attribution.gap, 2) + 0.0,
    )


def removed(attribution: InputAttribution, position: int, tokens: Sequence[str], unit: str) -> Statement:
    """The exact effect of leaving one token out of the text, and what integrated gradients say of it."""
    given = "" if attribution.withheld else "; integrated gradients give the token {integrated:+.2f}"
    after = attribution.value - float(attribution.left_out[position])
    return state(
        "removed",
        "Exactly: without '{token}' ({position}) in the text it goes from {before:.2f} to {after:.2f} {unit}, by "
        f"{{change:+.2f}}{given}.",
        token=visible(tokens[position]),
        position=position,
        before=attribution.value,
        after=after,
        change=after - attribution.value,
        unit=unit,
        integrated=float(attribution.integrated[position]),
    )


def known_so_far(attribution: InputAttribution) -> Statement:
    """Which methods are there, while they are computed."""
    words = (
        "All three methods are there for {tokens} tokens."
        if attribution.complete
        else "Gradient × input is there, occlusion for {occluded} of {tokens} tokens; integrated gradients come last."
    )
    occluded = int((~np.isnan(attribution.left_out)).sum())
    return state("known so far", words, occluded=occluded, tokens=len(attribution.left_out))


def method_agreement(methods: Mapping[str, Float[ndarray, " token"]], tokens: Sequence[str]) -> Statement:
    """The token that each method puts first, by size, and Spearman's rank correlation of all pairs of methods over the
    tokens; of a method that gives all tokens the same there is none."""
    rounded = {name: input_attribution.without_rounding(values) for name, values in methods.items()}
    names = list(methods)
    correlations = {
        f"{one} and {other}": rank_correlation(rounded[one], rounded[other])
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    }
    pairs = (f"{pair} {'undefined' if value is None else f'{value:.2f}'}" for pair, value in correlations.items())
    first = {name: int(np.abs(values).argmax()) for name, values in methods.items()}
    named = {name: f"'{visible(tokens[at])}' ({at})" for name, at in first.items()}
    if len(set(first.values())) == 1:
        words = f"{'Both' if len(first) == 2 else f'All {len(first)}'} name {{token}} first."
    else:
        words = "They do not name the same token first: {first}."
    return state(
        "agreement",
        f"{words} Rank correlation: {{pairs}}.",
        token=next(iter(named.values())),
        first=", ".join(f"{name}: {token}" for name, token in named.items()),
        pairs=", ".join(pairs),
        correlations=correlations,
    )


# ---- sets of prompts ----


def left_out(reasons: Sequence[str]) -> Statement:
    """How many rows of a table a model cannot pair, and why not the first of them; there is at least one."""
    return state(
        "left out",
        "{rows:counted row} " + ("is" if len(reasons) == 1 else "are") + " left out. {reason}.",
        rows=len(reasons),
        reason=f"{reasons[0][:1].upper()}{reasons[0][1:]}",
    )


def set_metric(effects: Sequence[PromptEffects]) -> Statement:
    """The metric over a set of prompts: its mean on the clean and on the corrupted texts, with intervals, and on how
    many the answer leads."""
    clean = np.array([one.clean for one in effects])
    means, corrupted = means_of(clean), means_of(np.array([one.corrupted for one in effects]))
    return state(
        "metric",
        "Logit of the answer less that of the wrong one, over {prompts} prompts: {mean:+.2f} ({level:.0%} interval "
        "{low:+.2f} to {high:+.2f}, standard deviation {spread:.2f}); the answer leads on {right}. On the corrupted "
        "texts: {corrupted:+.2f} ({corrupted_low:+.2f} to {corrupted_high:+.2f}).",
        prompts=len(effects),
        level=LEVEL,
        right=int((clean > 0).sum()),
        mean=float(means.mean),
        low=float(means.low),
        high=float(means.high),
        spread=float(clean.std(ddof=1)),
        corrupted=float(corrupted.mean),
        corrupted_low=float(corrupted.low),
        corrupted_high=float(corrupted.high),
    )


def largest_means(means: Means, names: Sequence[str], how: str) -> Statement:
    """The parts with the largest mean effects by size, and how many are not told from 0.

    Args:
        means: of any shape.
        names: in the order of their raveled entries.
        how: the effects were found, as in "Zero ablation, exact".
    """
    mean, low, high = (values.ravel() for values in (means.mean, means.low, means.high))
    order = np.argsort(-np.abs(mean), kind="stable")[:NAMED]
    return state(
        "largest means",
        "{how}: mean fall of the metric with {level:.0%} interval, in logits. Largest: {named}. {unsure} of {parts} "
        "intervals include 0.",
        how=how,
        level=LEVEL,
        named="; ".join(f"{names[i]} {mean[i]:+.2f} ({low[i]:+.2f} to {high[i]:+.2f})" for i in order),
        unsure=int(means.unsure.sum()),
        parts=int((~np.isnan(mean)).sum()),
    )
