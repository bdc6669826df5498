"""What the pages about the inside of a model compute on SmolLM2, over one pass of it: effects of parts, induction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

import tfcore
from benchmarks import results
from benchmarks.gpt2_shape import text
from benchmarks.timing import interleaved, milliseconds, ratio
from tfcore.loading.lenses import KINDS, load_lens, with_lens
from tfcore.measures.atlas.ablation import ablate_heads
from tfcore.measures.atlas.sums import ExamplePlaces, HeadSums
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.compositions import composition
from tfcore.measures.heads.induction_heads import (
    copying,
    evaluate_heads,
    head_kinds,
    random_rows,
    rows_for,
    tested_length,
    twice,
)
from tfcore.measures.knock_outs import LayerEffects, knock_out_each
from tfcore.measures.lenses import (
    IDENTITY,
    LensReader,
    affine_reader,
    compare_lenses,
    logit_reader,
    patchscope_reader,
    stage_states,
)
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.circuits.measure.influence import EDGES, NODES
from tfcore.views.inside.circuits.measure.of_text import DrawnGraph, draw_traced, trace_text
from tfcore.views.inside.induction.measure.circuit import patch_paths
from tfcore.views.inside.interventions.measure.patching import Kind, PatchedColumns, pair, patch_each
from tfcore.views.inside.interventions.measure.prompt_sets import EncodedPrompt, measure_set
from tfcore.views.inside.stream.measure.lens import logit_lens
from tfcore.views.inside.stream.measure.skip import skip_each

TOKENS = 30
ROUNDS = {TOKENS: 3}  # tokens -> rounds
WHAT = {
    "estimated": "all effects estimated",
    "exact": "all 300 effects exact",
    "induction": "the first view of the page on induction",
    "circuit": "its circuit: composition, path patching, both tests of every head",
    "lens": "the logit lens of all stages",
    "stream": "every patch of the residual stream",
    "attention": "every patch of an attention layer",
    "skip": "each half block skipped",
    "lenses": "four lenses at all stages, and their KL divergence",
    "atlas": "every head of the atlas measured on the text",
    "ablated": "the atlas: each of 270 heads ablated by its mean",
    "set": "a set of 12 prompts: ten parts ablated, all outputs patched",
    "graph": "stories: an attribution graph of 12 tokens, drawn",
    "longer": "stories: an attribution graph of 24 tokens, drawn",
    "deeper": "an attribution graph of 24 tokens through seven layers' transcoders, drawn",
}
ASKED = {  # seconds, on two cores
    "estimated": 2,
    "exact": 15,
    "induction": 4,
    "circuit": 10,
    "lens": 3,
    "stream": 10,
    "attention": 5,
    "skip": 4,
    "graph": 1.2,
    "longer": 4.5,
    "deeper": 10,
}
STORY = "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red"
PROMPTS = 12  # of the set, of half as many tokens


@dataclass(frozen=True, slots=True)
class Effects:
    """One line of the table.

    Args:
        what: a key of WHAT.
        seconds: median time.
        passes: over one pass over the text, with nothing captured; median of the ratios in the same round.
    """

    what: str
    seconds: float
    passes: float


def measure(rounds: dict[int, int] | None = None, device: str = "cpu", name: str = "smollm2") -> list[Effects]:
    """On random tokens; nothing where the model was left out when the app was set up."""
    if name not in tfcore.available("decoder"):
        return []
    model, tokenizer = tfcore.load(name, device=device)
    assert tokenizer is not None
    ids = text(model, TOKENS)
    quantity = Quantity("difference", 100, 200)
    calls: dict[str, Callable[[], object]] = {
        "estimated": partial(estimate_effects, model, ids[0].tolist(), quantity, "zero"),
        "exact": partial(exact, model, ids[0].tolist(), quantity),
        "induction": partial(first_view, model),
        "circuit": partial(circuit, model),
        "lens": partial(logit_lens, model, ids[0].tolist()),
        "stream": partial(patches, model, ids[0].tolist(), "residual"),
        "attention": partial(patches, model, ids[0].tolist(), "attention"),
        "skip": lambda: list(skip_each(model, ids[0].tolist())),
        "lenses": partial(four_lenses, name, model, tokenizer, ids[0].tolist()),
        "atlas": partial(measured_heads, model, tokenizer, ids[0].tolist()),
        "ablated": partial(ablated, model, ids[0].tolist()),
        "set": partial(prompts, model, ids[0].tolist()),
        "graph": partial(graph, "stories", 12),
        "longer": partial(graph, "stories", 24),
        "deeper": partial(graph, name, 24),
        "one": partial(model, ids),
    }
    with torch.no_grad():
        seconds = interleaved(calls, (rounds or ROUNDS)[TOKENS])
    return [
        Effects(what, round(milliseconds(seconds, what) / 1000, 2), round(ratio(seconds, what, "one"), 1))
        for what in WHAT
    ]


def exact(model: Transformer, ids: list[int], quantity: Quantity) -> list[LayerEffects]:
    """Each part ablated alone."""
    return list(knock_out_each(model, ids, quantity, "zero"))


def first_view(model: Transformer) -> None:
    """Heads told apart, then the text with and without the induction heads."""
    found = head_kinds(model)
    rows = twice(random_rows(model.config.vocab_size, 24, rows_for(model.config), 0))
    for off in ((), found.induction):
        copying(model, rows, 24, off)


def circuit(model: Transformer) -> None:
    """The section on the induction circuit: what it computes once the heads are told apart."""
    found, length = head_kinds(model), tested_length(model.config)
    composition(model, max(1, found.best[0]))
    rows = twice(random_rows(model.config.vocab_size, length, rows_for(model.config), 0))
    patch_paths(model, rows, length, found.previous, found.induction)
    evaluate_heads(model)


def four_lenses(name: str, model: Transformer, tokenizer: Tokenizer, ids: list[int]) -> None:
    """What the page on the stream compares, of all positions: of lenses those that the model has."""
    mapped = [kind for kind in KINDS if name in with_lens(kind)]
    readers: dict[str, LensReader] = {kind: affine_reader(model, load_lens(name, kind)) for kind in mapped}
    readers |= {"logit": logit_reader(model), "patchscope": patchscope_reader(model, tokenizer.encode(IDENTITY))}
    compare_lenses(model, readers, stage_states(model, ids))


def measured_heads(model: Transformer, tokenizer: Tokenizer, ids: list[int]) -> None:
    """Sums over the maps of one text, as an atlas of one's own is made of."""
    HeadSums(model.config, len(ids), ExamplePlaces.drawn([ids], TOKENS)).add(model, tokenizer, [ids])


def ablated(model: Transformer, ids: list[int]) -> None:
    """Every head, as the atlas does on each text of its sample."""
    config = model.config
    ablate_heads(model, ids, np.zeros((config.n_layers, config.attention.n_heads, config.value_size), np.float32))


def patches(model: Transformer, ids: list[int], kind: Kind) -> list[PatchedColumns]:
    """Every activation of a kind at every position, from a text whose first token is another: none is left out."""
    return list(patch_each(model, pair(model, [(ids[0] + 1) % model.config.vocab_size, *ids[1:]], ids), kind))


def prompts(model: Transformer, ids: list[int]) -> list[object]:
    """A set of prompts, each the same tokens from another place on."""
    n, quantity = TOKENS // 2, Quantity("difference", 100, 200)
    texts = [tuple((ids * 2)[start : start + n]) for start in range(PROMPTS)]
    return list(measure_set(model, [EncodedPrompt(one, one[::-1], quantity) for one in texts]))


def graph(name: str, tokens: int) -> DrawnGraph:
    """Of a story by a model whose transcoders ship, for the logit of any one token."""
    model, tokenizer = tfcore.load(name)
    assert tokenizer is not None
    traced = trace_text(model, tokenizer, name, STORY, tokens, token=100, against=None)
    return draw_traced(model, tokenizer, name, traced, NODES, EDGES, grouped=True)


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    rows = [
        [WHAT[row["what"]], f"{row['seconds']:.1f}", str(ASKED.get(row["what"], "")), f"{row['passes']:.1f}"]
        for row in result["rows"]
    ]
    heads = ["what", "seconds", "aim", "over one pass"]
    return results.table(heads, rows, f"SmolLM2-135M-Instruct, {TOKENS} tokens, float32", result)
