"""Sets of prompts: a metric and the effect of every part of a model as means with intervals, not of one sentence alone.

A prompt is a clean text, a corrupted one of as many tokens, the token that answers the clean one and a wrong answer.
The metric is the logit of the answer less that of the wrong one (arXiv:2211.00593, section 2; arXiv:2309.16042,
section 2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.attribution_patching import estimate_effects
from tfcore.analysis.inside.interventions import Part, edits_for, part_title, parts_of
from tfcore.analysis.inside.prompt_tables import LEAST_PROMPTS, TEMPLATES, Prompt
from tfcore.analysis.inside.quantities import Quantity, measured
from tfcore.analysis.inside.shared_layers import plain_run, run_above
from tfcore.analysis.one_text import encoded, one_text
from tfcore.analysis.token_text import visible
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

MOST_TOKENS = 64  # of a text
EXACT = 10  # parts whose effect is measured exactly, those with the largest estimates
LEVEL = 0.95  # of the intervals
NAMED = 3  # parts that a sentence names


class Encoded(NamedTuple):
    """A prompt as a model reads it: ids of both texts, and of the first token of each answer."""

    clean: tuple[int, ...]
    corrupted: tuple[int, ...]
    quantity: Quantity


def encode_prompts(
    model: Transformer, tokenizer: Tokenizer, prompts: Sequence[Prompt], bos: bool | None = None
) -> tuple[Encoded, ...]:
    """The prompts as a model reads them; of an answer of several tokens the first counts.

    Raises:
        ValueError: two texts of different lengths or too long, or two answers that begin with the same token; the
            message names the row.
    """
    return tuple(_encoded(model, tokenizer, place, prompt, bos) for place, prompt in enumerate(prompts, 1))


class Paired(NamedTuple):
    """Prompts that a model can pair.

    Args:
        prompts, encoded: those, as texts and as the model reads them.
        left_out: why each of the others is not among them.
    """

    prompts: tuple[Prompt, ...]
    encoded: tuple[Encoded, ...]
    left_out: tuple[str, ...]


def pair_prompts(
    model: Transformer, tokenizer: Tokenizer, prompts: Sequence[Prompt], bos: bool | None = None
) -> Paired:
    """The prompts without those that `encode_prompts` refuses.

    Raises:
        ValueError: fewer than two are left; the message says why the first of the others is not.
    """
    kept, encoded_prompts, left_out = [], [], []
    for place, prompt in enumerate(prompts, 1):
        try:
            encoded_prompts.append(_encoded(model, tokenizer, place, prompt, bos))
            kept.append(prompt)
        except ValueError as problem:
            left_out.append(str(problem))
    if len(kept) < LEAST_PROMPTS:
        reason = f"; {left_out[0]}" if left_out else ""
        raise ValueError(
            f"{len(kept)} of {len(prompts)} rows can be used, and an interval needs {LEAST_PROMPTS}{reason}"
        )
    return Paired(tuple(kept), tuple(encoded_prompts), tuple(left_out))


def pairable_templates(model: Transformer, tokenizer: Tokenizer, bos: bool | None = None) -> tuple[str, ...]:
    """Names of the templates whose two texts a model reads as equally many tokens, in every row."""
    names = []
    for name, prompts in TEMPLATES.items():
        try:
            encode_prompts(model, tokenizer, prompts, bos)
        except ValueError:
            continue
        names.append(name)
    return tuple(names)


def _encoded(model: Transformer, tokenizer: Tokenizer, place: int, prompt: Prompt, bos: bool | None) -> Encoded:
    clean, corrupted = (tuple(encoded(model, tokenizer, text, bos)) for text in (prompt.clean, prompt.corrupted))
    if len(clean) != len(corrupted):
        raise ValueError(
            f"row {place}: the clean text has {len(clean)} tokens and the corrupted one {len(corrupted)}; patching "
            "needs equally many"
        )
    most = min(MOST_TOKENS, model.config.max_seq_len)
    if len(clean) > most:
        raise ValueError(f"row {place} has {len(clean)} tokens; {most} are possible")
    answer, wrong = (tokenizer.encode(word)[:1] for word in (prompt.answer, prompt.wrong))
    if not answer or answer == wrong:
        raise ValueError(f"row {place}: both answers begin with the same token, so nothing tells them apart")
    return Encoded(clean, corrupted, Quantity("difference", answer[0], wrong[0]))


# ---- measurements ----


class PromptEffects(NamedTuple):
    """What is measured of one prompt.

    Args:
        clean, corrupted: the metric on both texts, in logits.
        estimate: of the fall when each part alone is zero-ablated; see `estimate_effects`.
        patched: the fall when the output of attention and of the feed-forward layer of each layer is replaced, at all
            positions, by that of the corrupted text; exact. 0 where a layer has no feed-forward layer, NaN where it
            was not asked for.
    """

    clean: float
    corrupted: float
    estimate: Float[ndarray, "layer part"]
    patched: Float[ndarray, "layer kind"]


class ExactEffects(NamedTuple):
    """The exact fall on one prompt when each of some parts alone is zero-ablated, in the order of `parts`."""

    parts: tuple[Part, ...]
    effects: Float[ndarray, " part"]


def measure_set(
    model: Transformer, prompts: Sequence[Encoded], exact: int = EXACT, patched: bool = True
) -> Iterator[PromptEffects | ExactEffects]:
    """First every prompt's metric, estimates and patches, then the exact effects of the parts with the largest mean
    estimates, prompt by prompt: twice as many results as prompts.

    Args:
        exact: how many parts are measured exactly; all of them where the model has no more.
        patched: whether layers are patched, which takes most of the time.
    """
    first = []
    for prompt in prompts:
        first.append(_first_look(model, prompt, patched))
        yield first[-1]
    parts = largest_parts(model, np.stack([one.estimate for one in first]), exact)
    for prompt in prompts:
        yield ExactEffects(parts, exact_effects(model, prompt, parts))


def largest_parts(model: Transformer, estimates: Float[ndarray, "prompt layer part"], most: int) -> tuple[Part, ...]:
    """The parts with the largest mean estimates by size, the largest first."""
    flat = [part for layer in parts_of(model.config) for part in layer]
    order = np.argsort(-np.abs(estimates.mean(0)).ravel(), kind="stable")[:most]
    return tuple(flat[place] for place in order)


class PartValues(NamedTuple):
    """Effects of the largest parts on each prompt, the largest mean by size first; exact, or estimates."""

    parts: tuple[Part, ...]
    values: Float[ndarray, "prompt part"]
    exact: bool


def part_values(model: Transformer, found: Sequence[PromptEffects | ExactEffects]) -> PartValues:
    """From what there is of `measure_set`: exact effects as soon as two prompts have theirs, estimates until then."""
    exact = [one for one in found if isinstance(one, ExactEffects)]
    if len(exact) >= LEAST_PROMPTS:
        parts, values = exact[0].parts, np.stack([one.effects for one in exact])
    else:
        estimates = np.stack([one.estimate for one in found if isinstance(one, PromptEffects)])
        parts, every = largest_parts(model, estimates, EXACT), parts_of(model.config)
        values = np.stack([estimates[:, part.layer, every[part.layer].index(part)] for part in parts], 1)
    order = np.argsort(-np.abs(values.mean(0)), kind="stable")
    return PartValues(tuple(parts[place] for place in order), values[:, order], len(exact) >= LEAST_PROMPTS)


@torch.no_grad()
def exact_effects(model: Transformer, prompt: Encoded, parts: Sequence[Part]) -> Float[ndarray, " part"]:
    """The fall of the metric when each of some parts alone is zero-ablated; the layers below a part are run once."""
    run = plain_run(model, prompt.clean)
    whole = measured(model, run.hidden, prompt.clean, prompt.quantity)
    effects = np.zeros(len(parts), np.float32)
    for layer in sorted({part.layer for part in parts}):
        places = [place for place, part in enumerate(parts) if part.layer == layer]
        sets = [edits_for(model, prompt.clean, [parts[place]], "zero") for place in places]
        values = [
            measured(model, hidden, prompt.clean, prompt.quantity) for hidden in run_above(model, run, layer, sets)
        ]
        effects[places] = (whole - torch.cat(values)).float().cpu().numpy()
    return effects


@torch.no_grad()
def _first_look(model: Transformer, prompt: Encoded, patch: bool) -> PromptEffects:
    names = [
        [f"blocks.{layer}.attn_out", *([f"blocks.{layer}.mlp_out"] if parts[-1].head is None else [])]
        for layer, parts in enumerate(parts_of(model.config))
    ]
    other = model(one_text(model, prompt.corrupted), capture=[name for row in names for name in row])
    run = plain_run(model, prompt.clean)
    whole = measured(model, run.hidden, prompt.clean, prompt.quantity)
    patched = np.full((len(names), 2), 0.0 if patch else np.nan, np.float32)
    for layer, row in enumerate(names if patch else ()):
        sets = [[Edit.replace(name, other.activations[name][0])] for name in row]
        values = [
            measured(model, hidden, prompt.clean, prompt.quantity) for hidden in run_above(model, run, layer, sets)
        ]
        patched[layer, : len(row)] = (whole - torch.cat(values)).float().cpu().numpy()
    corrupted = measured(model, other.hidden, prompt.corrupted, prompt.quantity)
    estimate = estimate_effects(model, prompt.clean, prompt.quantity, "zero")
    return PromptEffects(float(whole), float(corrupted), estimate, patched)


# ---- means with intervals ----


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the prompts, and the ends of their intervals; one shape.

    Args:
        mean, low, high: in logits.
    """

    mean: Float[ndarray, "..."]
    low: Float[ndarray, "..."]
    high: Float[ndarray, "..."]

    @property
    def unsure(self) -> Bool[ndarray, "..."]:
        """Where the interval includes 0."""
        return (self.low <= 0) & (self.high >= 0)

    @property
    def columns(self) -> dict[str, Float[ndarray, " entry"]]:
        """As columns of a table."""
        return {"mean": self.mean.ravel(), "low": self.low.ravel(), "high": self.high.ravel()}


def means_of(values: Float[ndarray, "prompt ..."], level: float = LEVEL) -> Means:
    """Student's interval of a mean: mean ± t s / sqrt(n), s the standard deviation over the n prompts (n - 1 in its
    denominator), t the quantile of n - 1 degrees of freedom.

    Raises:
        ValueError: fewer than two prompts.
    """
    n = len(values)
    if n < LEAST_PROMPTS:
        raise ValueError(f"an interval needs at least {LEAST_PROMPTS} prompts, and there is {n}")
    values = values.astype(np.float64)
    mean = np.asarray(values.mean(0))
    half = t_quantile(n - 1, 0.5 + level / 2) * values.std(0, ddof=1) / np.sqrt(n)
    return Means(mean, np.asarray(mean - half), np.asarray(mean + half))


def board_means(found: Sequence[PromptEffects | ExactEffects], patched: bool) -> Means:
    """Means of the estimates, (layer, part), or of the effects of patching, (layer, kind)."""
    first = [one for one in found if isinstance(one, PromptEffects)]
    return means_of(np.stack([one.patched if patched else one.estimate for one in first]))


def board_names(model: Transformer, patched: bool) -> list[list[str]]:
    """Names of the fields of `board_means`."""
    layers = parts_of(model.config)
    if patched:
        return [[f"attention {layer}", f"feed-forward {layer}"] for layer in range(len(layers))]
    return [[part_title(part) for part in layer] for layer in layers]


def t_quantile(degrees: int, probability: float) -> float:
    """The quantile of Student's t distribution above its median, within 1e-4.

    With t = sqrt(degrees) tan(angle) the density is proportional to cos(angle)^(degrees - 1), which is summed.
    """
    angle = np.linspace(0.0, np.pi / 2, 200_001)
    density = np.cos(angle) ** (degrees - 1)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    at = np.interp(probability, 0.5 + 0.5 * total / total[-1], angle)
    return float(np.sqrt(degrees) * np.tan(at))


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LeftOut(Finding):
    """How many rows of a table a model cannot pair, and why not the first of them; at least one."""

    rows: int
    reason: str

    @property
    def sentence(self) -> str:
        are = "1 row is" if self.rows == 1 else f"{self.rows} rows are"
        return f"{are} left out. {self.reason[:1].upper()}{self.reason[1:]}."


@dataclass(frozen=True, slots=True)
class SetMetric(Finding):
    """The metric over a set of prompts.

    Args:
        prompts: how many.
        right: on how many the answer's logit is the larger one.
        mean, low, high, spread: of the metric on the clean texts: mean, interval, standard deviation; logits.
        corrupted, corrupted_low, corrupted_high: its mean on the corrupted texts, and the interval.
    """

    prompts: int
    right: int
    mean: float
    low: float
    high: float
    spread: float
    corrupted: float
    corrupted_low: float
    corrupted_high: float

    @property
    def sentence(self) -> str:
        return (
            f"Logit of the answer less that of the wrong one, over {self.prompts} prompts: {self.mean:+.2f} "
            f"({LEVEL:.0%} interval {self.low:+.2f} to {self.high:+.2f}, standard deviation {self.spread:.2f}); the "
            f"answer leads on {self.right}. On the corrupted texts: {self.corrupted:+.2f} "
            f"({self.corrupted_low:+.2f} to {self.corrupted_high:+.2f})."
        )


def set_metric(found: Sequence[PromptEffects]) -> SetMetric:
    """From what was measured of each prompt."""
    clean = np.array([one.clean for one in found])
    means, corrupted = means_of(clean), means_of(np.array([one.corrupted for one in found]))
    return SetMetric(
        prompts=len(found),
        right=int((clean > 0).sum()),
        mean=float(means.mean),
        low=float(means.low),
        high=float(means.high),
        spread=float(clean.std(ddof=1)),
        corrupted=float(corrupted.mean),
        corrupted_low=float(corrupted.low),
        corrupted_high=float(corrupted.high),
    )


@dataclass(frozen=True, slots=True)
class LargestMeans(Finding):
    """The parts with the largest mean effects by size, and how many are not told from 0.

    Args:
        how: the effects were found, as in "Zero ablation, exact".
        named: part, mean, and the ends of the interval.
        unsure, parts: how many intervals include 0, of how many.
    """

    how: str
    named: tuple[tuple[str, float, float, float], ...]
    unsure: int
    parts: int

    @property
    def sentence(self) -> str:
        named = "; ".join(f"{part} {mean:+.2f} ({low:+.2f} to {high:+.2f})" for part, mean, low, high in self.named)
        return (
            f"{self.how}: mean fall of the metric with {LEVEL:.0%} interval, in logits. Largest: {named}. "
            f"{self.unsure} of {self.parts} intervals include 0."
        )


def largest_means(means: Means, names: Sequence[str], how: str) -> LargestMeans:
    """From means of any shape, `names` in the order of their raveled entries."""
    mean, low, high = (values.ravel() for values in (means.mean, means.low, means.high))
    order = np.argsort(-np.abs(mean), kind="stable")[:NAMED]
    named = tuple((names[i], float(mean[i]), float(low[i]), float(high[i])) for i in order)
    return LargestMeans(how, named, int(means.unsure.sum()), mean.size)


def prompt_words(prompt: Prompt) -> str:
    """A prompt in a few words, for the row of a table."""
    return f"{visible(prompt.clean)} → {visible(prompt.answer)}, not {visible(prompt.wrong)}"
