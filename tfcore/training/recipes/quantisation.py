"""The table of `quantisation`: the held-out loss of two models with fewer bits. Trains nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.measures.quantisation.formats import BITS, Format, Per, Scheme
from tfcore.measures.quantisation.matrices import model_bits, quantised_copy
from tfcore.measures.quantisation.rounded_activations import ActivationScheme, Scale, activation_edits
from tfcore.measures.quantisation.rounded_cache import Axis, CacheScheme, cache_edits
from tfcore.model import Transformer
from tfcore.training import data
from tfcore.training.ladder import add_row, read_table, rows_of
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes.neurons import with_tokenizer

FLOATS: tuple[Format, ...] = ("float32", "bfloat16", "float16")
INTEGERS: tuple[Format, ...] = ("int8", "int6", "int5", "int4", "int3", "int2")
INTEGER: dict[int, Format] = {BITS[integer]: integer for integer in INTEGERS}
BLOCKS: tuple[tuple[Per, bool], ...] = (("matrix", False), ("row", False), ("32", False), ("32", True))
SCALES: tuple[Scale, ...] = ("tensor", "token")
AXES: tuple[Axis, ...] = ("channel", "token")
WIKIPEDIA = Path(__file__).parents[2] / "ladders" / "wikitext.txt"
TEXTS: dict[str, Callable[[Path], list[str]]] = {  # name -> (corpus) -> stories or paragraphs
    "stories": data.held_out,
    "wikipedia": lambda _: WIKIPEDIA.read_text("utf-8").splitlines(),
}
Edited = tuple[Transformer, list[Edit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantisationRecipe:
    """The cases that are measured.

    Args:
        models: name, the text that it reads (a key of TEXTS), and how many stories or paragraphs of it.
        tokens: of a story or paragraph, at most.
        activation_bits, cache_bits: of the integers.
    """

    models: tuple[tuple[str, str, int], ...] = (("stories", "stories", 64), ("smollm2", "wikipedia", 40))
    tokens: int = 200
    activation_bits: tuple[int, ...] = (8, 6, 4)
    cache_bits: tuple[int, ...] = (8, 4, 3, 2)


QUANTISATION = QuantisationRecipe()


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table: a part of a model, a scheme, and what makes the model it is measured on.

    Args:
        scheme: of weights.
    """

    part: str
    format: str
    how: str
    make: Callable[[], Edited]
    scheme: Scheme | None = None


def cases(model: Transformer, recipe: QuantisationRecipe) -> Iterator[Case]:
    """Weights, activations, both together, and caches, each in every scheme."""
    schemes = [Scheme(format=one) for one in FLOATS]
    schemes += [Scheme(format="float8", per=per) for per in ("matrix", "row", "32")]
    schemes += [Scheme(format=one, per=per, minimum=minimum) for per, minimum in BLOCKS for one in INTEGERS]
    for scheme in schemes:
        per = f"group of {scheme.per}" if scheme.per.isdecimal() else scheme.per
        how = (per + (", minimum" if scheme.minimum else "")) if scheme.is_scaled else "none"
        yield Case("weights", scheme.format, how, partial(_rounded, model, scheme), scheme)
    for bits in recipe.activation_bits:
        for scale in SCALES:
            for apart in (False, True):
                of = ActivationScheme(bits=bits, scale=scale, outliers_apart=apart)
                how = scale + (", outliers apart" if apart else "")
                yield Case("activations", f"int{bits}", how, partial(_edited, model, activation_edits(of)))
                yield Case("both", f"int{bits}", how, partial(_both, model, of))
    for bits in recipe.cache_bits:
        for keys in AXES:
            for values in AXES:
                kept = CacheScheme(bits=bits, keys=keys, values=values)
                make = partial(_edited, model, cache_edits(model.config, kept))
                yield Case("cache", f"int{bits}", f"{keys}, {values}", make)


def _rounded(model: Transformer, scheme: Scheme) -> Edited:
    return quantised_copy(model, scheme), []


def _edited(model: Transformer, edits: list[Edit]) -> Edited:
    return model, edits


def _both(model: Transformer, activations: ActivationScheme) -> Edited:
    """Weights in as many bits as activations, with one scale per row: what a product of integers multiplies."""
    weights = Scheme(format=INTEGER[activations.bits], per="row")
    return quantised_copy(model, weights), activation_edits(activations)


def quantisation(
    corpus: Path,
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - there are no steps to report
    recipe: QuantisationRecipe = QUANTISATION,
) -> dict[str, float]:
    """Measure every case that the table below `out` has no row of yet; returns what `measured` does.

    Raises:
        CorpusError: when a text below `corpus` is missing.
        CheckpointError: when one of the models is not there.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    table = out / "quantisation.csv"
    for name, text, count in recipe.models:
        model, tokenizer = with_tokenizer(name)
        model = model.eval().requires_grad_(False)
        texts = [tokenizer.encode(one)[: recipe.tokens] for one in TEXTS[text](corpus)[:count]]
        done = {(row["part"], row["format"], row["how"]) for row in read_table(table) if row["model"] == name}
        for case in cases(model, recipe):
            if (case.part, case.format, case.how) not in done:
                add_row(table, {"model": name, "text": text, **_row(model, case, texts)})
    return measured(out)


def _row(model: Transformer, case: Case, texts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """The row of a case in the table."""
    return {
        "part": case.part,
        "format": case.format,
        "how": case.how,
        "bits": "" if case.scheme is None else f"{model_bits(model, case.scheme):.4f}",
        "tokens": sum(len(text) - 1 for text in texts),
        "loss": round(mean_loss(*case.make(), texts), 5),
    }


@torch.no_grad()
def mean_loss(model: Transformer, edits: Sequence[Edit], texts: Sequence[Sequence[int]]) -> float:
    """Mean -ln p of each token after the first of its text, in nats."""
    total, count = 0.0, 0
    for text in texts:
        ids = one_text(model, text)
        log_p = model(ids[:, :-1], edits=edits).logits[0].log_softmax(-1)
        total -= float(log_p.gather(1, ids[0, 1:, None]).sum())
        count += len(text) - 1
    return total / count


def measured(folder: Path) -> dict[str, float]:
    """The loss of each model as it is, and with the schemes that the list of recipes names."""
    table = rows_of(folder / "quantisation.csv")
    rows = {(row["model"], row["part"], row["format"], row["how"]): row["loss"] for row in table}
    named = {
        "float32": ("weights", "float32", "none"),
        "int8 by row": ("weights", "int8", "row"),
        "int4 by row": ("weights", "int4", "row"),
        "int4 in groups of 32": ("weights", "int4", "group of 32"),
        "int8 activations by text": ("activations", "int8", "tensor"),
        "int8 activations by token": ("activations", "int8", "token"),
        "int8 weights and activations by token": ("both", "int8", "token"),
    }
    models = dict.fromkeys(model for model, *_ in rows)
    return {f"{model}, {name}": rows[model, *key] for model in models for name, key in named.items()}
