"""Sets of prompts: a metric and the effect of every part of a model as means with intervals, not of one sentence alone.

A prompt is a clean text, a corrupted one of as many tokens, the token that answers the clean one and a wrong answer.
The metric is the logit of the answer less that of the wrong one (arXiv:2211.00593, section 2; arXiv:2309.16042,
section 2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.measures.attribution_patching import first_order, part_effects, part_names
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.interventions import Part, edits_for, flat_parts, parts_of
from tfcore.measures.one_text import encoded
from tfcore.measures.shared_layers import rows_compete
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.interventions.measure.prompt_tables import LEAST_PROMPTS, TEMPLATES, PromptRow

MOST_TOKENS = 64  # of a text
EXACT = 10  # parts whose effect is measured exactly, those with the largest estimates
TOGETHER = 256  # tokens of prompts in one pass: of smollm2 about 0.3 GB for its backward pass
MOST_EXACT = 30_720  # tokens times layers up to which all outputs are patched exactly: 1,024 tokens in smollm2


class EncodedPrompt(NamedTuple):
    """A prompt as a model reads it: ids of both texts, and of the first token of each answer."""

    clean: tuple[int, ...]
    corrupted: tuple[int, ...]
    quantity: Quantity


def encode_prompts(
    model: Transformer, tokenizer: Tokenizer, prompts: Sequence[PromptRow], bos: bool | None = None
) -> tuple[EncodedPrompt, ...]:
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

    prompts: tuple[PromptRow, ...]
    encoded: tuple[EncodedPrompt, ...]
    left_out: tuple[str, ...]


def pair_prompts(
    model: Transformer, tokenizer: Tokenizer, prompts: Sequence[PromptRow], bos: bool | None = None
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


def _encoded(
    model: Transformer, tokenizer: Tokenizer, place: int, prompt: PromptRow, bos: bool | None
) -> EncodedPrompt:
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
    if len({*answer, *wrong}) < 2:
        raise ValueError(f"row {place}: both answers begin with the same token, so nothing tells them apart")
    return EncodedPrompt(clean, corrupted, Quantity("difference", *answer, *wrong))


# ---- measurements ----


class PromptEffects(NamedTuple):
    """The effects measured of one prompt at first, by a pass over each text and one back.

    Args:
        clean, corrupted: the metric on both texts, in logits.
        estimate: of the fall when each part alone is zero-ablated; see `estimate_effects`.
        patched: of the fall when the output of attention and of the feed-forward layer of each layer is replaced, at
            all positions, by that of the corrupted text. 0 where a layer has no feed-forward layer, NaN where it was
            not asked for.
    """

    clean: float
    corrupted: float
    estimate: Float[ndarray, "layer part"]
    patched: Float[ndarray, "layer kind"]


class ExactEffects(NamedTuple):
    """The exact fall on one prompt.

    Args:
        effects: when each of `parts` alone is zero-ablated.
        patched: when each output alone is replaced by that of the corrupted text; NaN where only the estimate is known.
    """

    parts: tuple[Part, ...]
    effects: Float[ndarray, " part"]
    patched: Float[ndarray, "layer kind"]


def measure_set(
    model: Transformer, prompts: Sequence[EncodedPrompt], exact: int = EXACT, patches: int | None = None
) -> Iterator[PromptEffects | ExactEffects | None]:
    """First every prompt's metric and estimates, then the exact effects of what has the largest mean estimates, prompt
    by prompt: twice as many results as prompts, and None after each layer between them.

    Prompts share passes: behind a shorter one stands padding, which no earlier token of a decoder sees.

    Args:
        model: a decoder.
        exact: how many parts are ablated exactly; all of them where the model has no more.
        patches: how many outputs of layers are patched exactly; None: all, 0: none is patched, nor estimated.
    """
    batches = list(_batches(model, prompts))
    first: list[PromptEffects] = []
    for batch in batches:
        for one in _first_look(model, batch, patches != 0):
            first.append(one)
            yield one
    parts = largest_parts(model, np.stack([one.estimate for one in first]), exact)
    outputs = _largest_outputs(model, np.stack([one.patched for one in first]), patches)
    for batch in batches:
        yield from _exact_effects(model, batch, parts, outputs)


def exact_patches(model: Transformer, prompts: Sequence[EncodedPrompt]) -> int | None:
    """How many outputs of layers can be patched exactly while a visitor waits: all (None), or of a large set in a large
    model as many as parts."""
    passes = sum(len(one.clean) for one in prompts) * model.config.decoder_layers
    return None if passes <= MOST_EXACT else EXACT


def largest_parts(model: Transformer, estimates: Float[ndarray, "prompt layer part"], most: int) -> tuple[Part, ...]:
    """The parts with the largest mean estimates by size, the largest first."""
    means = estimates.mean(0)
    flat, sizes = flat_parts(parts_of(model.config)), np.abs(means[~np.isnan(means)])
    return tuple(flat[place] for place in np.argsort(-sizes, kind="stable")[:most])


def _largest_outputs(
    model: Transformer, estimates: Float[ndarray, "prompt layer kind"], most: int | None
) -> list[tuple[int, int]]:
    """Layer and kind of the outputs with the largest mean estimates by size."""
    if most == 0:
        return []
    there = [(layer, kind) for layer, row in enumerate(_outputs(model)) for kind in row]
    return sorted(there, key=lambda place: -abs(float(estimates.mean(0)[place])))[:most]


def _outputs(model: Transformer) -> list[dict[int, str]]:
    """Kind -> name of the outputs that each layer has: of attention or what is in its place (0), and of the
    feed-forward layer (1)."""
    known = known_names(model.config)
    both = ([f"blocks.{layer}.attn_out", f"blocks.{layer}.mlp_out"] for layer in range(model.config.n_layers))
    return [{kind: name for kind, name in enumerate(names) if name in known} for names in both]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Prompts that share a pass, a row each."""

    prompts: tuple[EncodedPrompt, ...]

    def ids(self, model: Transformer, corrupted: bool = False) -> Int[Tensor, "row seq"]:
        """The ids of all clean, or all corrupted texts, with padding behind the shorter ones."""
        texts = [torch.tensor(one.corrupted if corrupted else one.clean) for one in self.prompts]
        return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True).to(model.device)

    def metric(self, model: Transformer, hidden: Float[Tensor, "all seq d_model"]) -> Float[Tensor, "set row"]:
        """The metric of each prompt, from last hidden states in which all rows follow each other set by set."""
        sets = hidden.unflatten(0, (-1, len(self.prompts)))
        rows = [
            measured(model, sets[:, row, : len(one.clean)], one.clean, one.quantity)
            for row, one in enumerate(self.prompts)
        ]
        return torch.stack(rows, 1)


def _batches(model: Transformer, prompts: Sequence[EncodedPrompt]) -> Iterator[_Batch]:
    """All prompts in their order, TOGETHER tokens with their padding at a time."""
    rows: list[EncodedPrompt] = []
    for one in prompts:
        longest = max(len(row.clean) for row in (*rows, one))
        if rows and (longest * (len(rows) + 1) > TOGETHER or rows_compete(model.config)):
            yield _Batch(tuple(rows))
            rows = []
        rows.append(one)
    if rows:
        yield _Batch(tuple(rows))


def _first_look(model: Transformer, batch: _Batch, patch: bool) -> Iterator[PromptEffects]:
    """The metric and the estimates of all prompts of a batch."""
    names = _outputs(model)
    flat = [name for row in names for name in row.values()] if patch else []
    with torch.no_grad():
        other = model(batch.ids(model, corrupted=True), capture=flat, logits_to_keep=NO_LOGITS)
        (corrupted,) = batch.metric(model, other.hidden).tolist()
    run = first_order(
        model, batch.ids(model), [*part_names(model), *flat], lambda hidden: batch.metric(model, hidden).squeeze(0)
    )
    estimate = part_effects(model, run, "zero").cpu().numpy()
    patched = np.full((len(batch.prompts), len(names), 2), 0.0 if patch else np.nan, np.float32)
    for layer, row in enumerate(names if patch else ()):
        for kind, name in row.items():
            change = (run.values[name] - other.activations[name]) * run.gradients[name]
            patched[:, layer, kind] = change.float().sum((1, 2)).cpu().numpy()
    whole = run.quantity.tolist()
    for row_place in range(len(batch.prompts)):
        yield PromptEffects(whole[row_place], corrupted[row_place], estimate[row_place], patched[row_place])


def _exact_effects(
    model: Transformer, batch: _Batch, parts: Sequence[Part], outputs: Sequence[tuple[int, int]]
) -> Iterator[ExactEffects | None]:
    """The fall of the metric of each prompt under each edit; the layers below an edit are run once."""
    n, names = len(batch.prompts), _outputs(model)
    with torch.no_grad():
        patching = [names[layer][kind] for layer, kind in outputs]
        other = model.activations(batch.ids(model, corrupted=True), patching)
        streams = [f"blocks.{layer}.resid_pre" for layer in range(len(names))]
        run = model(batch.ids(model), capture=streams, logits_to_keep=NO_LOGITS)
        whole = batch.metric(model, run.hidden)
    effects = np.zeros((n, len(parts)), np.float32)
    patched = np.full((n, len(names), 2), np.nan, np.float32)
    for layer, kind in ((layer, kind) for layer, row in enumerate(names) for kind in (0, 1) if kind not in row):
        patched[:, layer, kind] = 0.0
    for layer, stream in enumerate(streams):
        mine = [place for place, part in enumerate(parts) if part.layer == layer]
        kinds = [kind for at, kind in outputs if at == layer]
        edits = edits_for(model, (), [parts[place] for place in mine], "zero")
        edits += [Edit.replace(names[layer][kind], other[names[layer][kind]]) for kind in kinds]
        if edits:
            with torch.no_grad():
                rows = [replace(edit, rows=range(i * n, (i + 1) * n)) for i, edit in enumerate(edits)]
                hidden = model.resume(run.activations[stream].repeat(len(edits), 1, 1), layer, edits=rows)
                fall = (whole - batch.metric(model, hidden)).float().cpu().numpy()
            effects[:, mine] = fall[: len(mine)].T
            patched[:, layer, kinds] = fall[len(mine) :].T
            yield None
    for row in range(n):
        yield ExactEffects(tuple(parts), effects[row], patched[row])
