"""Quantisation: what is lost with fewer bits, of weights, activations and the KV cache, and what is gained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from jaxtyping import Float
from torch import Tensor

from tfcore.measures import kv_bytes
from tfcore.measures.head_vectors import TextVectors, text_vectors
from tfcore.measures.one_text import first_tokens
from tfcore.measures.quantisation import formats, rounded_activations, rounded_cache
from tfcore.measures.quantisation.formats import Format, Scheme
from tfcore.measures.quantisation.matrices import matrices, quantised_copy
from tfcore.measures.quantisation.rounded_cache import CacheScheme
from tfcore.measures.statistics import relative_error
from tfcore.measures.timing import on_cpu
from tfcore.measures.token_text import tick_labels
from tfcore.training import ladder
from tfcore.views.finding import Finding
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.draw.cache_rounding import channels_map, moved_figure
from tfcore.views.inference.quantisation.draw.losses import CLEAR, losses_figure, speeds_figure
from tfcore.views.inference.quantisation.draw.weights import SHOWN as SHOWN
from tfcore.views.inference.quantisation.draw.weights import (
    activation_errors_figure,
    block_figure,
    channels_figure,
    errors_figure,
    row_figure,
)
from tfcore.views.inference.quantisation.measure import activations, cache_rounding, gguf_block, speed, weights, written
from tfcore.views.inference.quantisation.measure.activations import ActivationScan
from tfcore.views.inference.quantisation.measure.cache_rounding import CacheEffect
from tfcore.views.inference.quantisation.measure.losses import HOW, LossTable, Part, fewest_bits, loss_table, types_of
from tfcore.views.inference.quantisation.measure.speed import SpeedPoint
from tfcore.views.inference.quantisation.measure.weights import SAMPLED
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, name_of, opened
from tfcore.views.view import View, view

TOKENS = 48  # of a text, at most
SOURCES = {  # of what the models of a table of losses read
    "stories": "held-out stories of TinyStories (arXiv:2305.07759)",
    "wikipedia": "English Wikipedia, from WikiText-2 (arXiv:1609.07843); the model may have read it in training",
}

# What many settings have in common, and every change of another setting asks for again.
row_of = kept(weights.row_on_grid, entries=128)
errors_of = kept(weights.matrix_errors, entries=64)
memory_of = kept(weights.matrix_memory, entries=64)
block_in_file = kept(gguf_block.open_block, entries=256)
block_of_weights = kept(gguf_block.block_of_weights, entries=256)
continued = kept(written.continued, entries=4)
written_of = kept(written.written, entries=32)

# What a model offers to choose from.
shape_of = kept(weights.shape_of, entries=64)
outlying = kept(weights.outlying, entries=256)
shared_width = kept(weights.shared_width, entries=64)


# ---- weights ----


@view
def row(model: Source, layer: int, kind: str, row: int, scheme: Scheme, first: int = 0) -> View:
    """A row of a weight matrix, and the grid that each group of its weights is rounded to.

    Args:
        model: a decoder or an encoder.
        layer, kind, row: which one; see matrices.KINDS.
        scheme: how its matrix is stored.
        first: column in sight, of SHOWN in all.
    """
    rounded = row_of(model, layer, kind, row, scheme)
    last = min(first + SHOWN, len(rounded.values)) - 1
    return View(
        key="row",
        title="A row on its grid",
        result=rounded,
        chart=row_figure(rounded, first, height=340),
        min_width=640,
        findings=(say.row(name_of(model), rounded),),
        note=f"Columns {first} to {last} are in sight.",
        table=lambda: pd.DataFrame({"weight": rounded.values, "stored": rounded.rounded}),
        formula=(
            r"\begin{gathered} s = \frac{\max |w|}{2^{b-1} - 1}, \qquad q = \mathrm{round}(w / s), \qquad \hat w = s\,q"
            r" \\ \text{with a minimum: } s = \frac{\max w - \min w}{2^b - 1}, \quad \hat w = s\,q + \min w"
            r" \qquad \text{bits per weight: } b + \frac{16}{g} \end{gathered}"
        ),
        papers="Absmax and zero-point quantisation: arXiv:2208.07339, section 2. FP8 (e4m3): arXiv:2209.05433, table "
        "1; here with a scale, so that the largest weight of a block is the largest number of fp8. Scales and minimums "
        "are stored in float16.",
        terms=("quantisation",),
        code=(formats.quantise_absmax, formats.quantise_minmax, formats.quantise_float8, formats.bits_per_value),
    )


@view
def by_layer(model: Source, scheme: Scheme) -> View:
    """The rounding error of every matrix of a model, and the memory they take.

    Args:
        model: a decoder or an encoder.
        scheme: how its matrices are stored.
    """
    errors = errors_of(model, scheme)
    layers, kinds = errors.errors.shape
    return View(
        key="errors",
        title="Errors by layer",
        result=errors,
        chart=errors_figure(errors, height=120 + 30 * kinds),
        min_width=18 * layers + 120,
        findings=(say.matrices(name_of(model), errors), say.memory(memory_of(model, scheme))),
        note=f"At most {SAMPLED} rows of each matrix are measured.",
        table=lambda: pd.DataFrame(errors.errors, columns=list(errors.kinds)),
        formula=r"\mathrm{error} = \sqrt{\frac{\sum_{ij} (\hat W_{ij} - W_{ij})^2}{\sum_{ij} W_{ij}^2}}",
        papers="arXiv:2208.07339, section 2; GPTQ: arXiv:2210.17323; AWQ: arXiv:2306.00978.",
        terms=("quantisation",),
        code=(weights.matrix_errors, relative_error, matrices, formats.quantise_matrix),
    )


@view
def block(model: Source, layer: int, kind: str, row: int, place: int, from_file: bool = False) -> View:
    """A block in Q4_1, as a GGUF file has it: 32 integers of four bits on their grid, and the weights of the model.

    Args:
        model: a decoder or an encoder.
        layer, kind, row, place: of the block in the row.
        from_file: reads the file of smollm2, which the model was loaded from; otherwise the block is made of weights.
    """
    opened_block = (
        block_in_file(model, layer, kind, row, place)
        if from_file
        else block_of_weights(model, name_of(model), layer, kind, row, place)
    )
    return View(
        key="block",
        title="A block of a GGUF file",
        result=opened_block,
        chart=block_figure(opened_block, height=360),
        min_width=640,
        findings=(say.block(opened_block),),
        table=lambda: pd.DataFrame(
            {"integer": opened_block.codes, "in the file": opened_block.values, "in the model": opened_block.used}
        ),
        formula=r"\hat w_i = d \cdot q_i + m, \qquad q_i \in \{0, \dots, 15\}",
        papers="The format: [gguf.md](https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The file is "
        "SmolLM2-135M-Instruct in Q4_1, its embeddings in Q8_0; the loaded model is read by the `gguf` package, this "
        "block byte by byte by the code shown here.",
        terms=("quantisation",),
        code=(gguf_block.decode_block, gguf_block.open_block, gguf_block.file_row),
    )


# ---- activations ----


def _inputs(reading: Reading) -> dict[str, Float[Tensor, "layer token channel"]]:
    """The inputs of all matrices, from one pass: 19 MB of 48 tokens of smollm2."""
    model, tokenizer = opened(reading.model)
    return activations.matrix_inputs(model, first_tokens(model, tokenizer, reading.text, TOKENS).ids)


inputs_of = kept(_inputs, entries=2)


def _scan(reading: Reading, kind: str) -> ActivationScan:
    return activations.scan_inputs(inputs_of(reading)[kind], kind)


scan_of = kept(_scan, entries=64)


@view
def channels(reading: Reading, kind: str, layer: int, first: bool = True) -> View:
    """The channels of one layer's activations, some of which are far larger than the others.

    Args:
        reading: the first TOKENS tokens of a text.
        kind: of the matrices that the activations enter; see activations.INPUTS.
        layer: of the activations.
        first: whether the first token counts.
    """
    scan = scan_of(reading, kind)
    return View(
        key="channels",
        title="The channels",
        result=scan,
        chart=channels_figure(scan, layer, first, height=320),
        findings=(say.outliers(name_of(reading.model), scan, layer, first),),
        note=f"Largest magnitude over {scan.tokens} tokens.",
        table=lambda: pd.DataFrame({"all": scan.largest[layer], "without the first": scan.without_first[layer]}),
        formula=(
            r"XW \approx \sum_{h \in O} X_{\cdot h} W_{h \cdot} + s_X\, s_W \sum_{h \notin O} Q(X)_{\cdot h}\,"
            r" Q(W)_{h \cdot} \qquad O = \{h : \max_t |X_{th}| \ge 6\}"
        ),
        papers="LLM.int8(), outlier features and mixed-precision decomposition: arXiv:2208.07339, section 3.2 and "
        "equation 8. The pictures round activations alone, the last numbers below them weights too (W8A8).",
        terms=("quantisation", "outlier channel"),
        code=(rounded_activations.rounded_activations, rounded_activations.outlier_channels, activations.scan_inputs),
    )


@view
def activation_errors(reading: Reading, kind: str, bits: int, layer: int) -> View:
    """Activations rounded with one scale for all tokens or one for each, with and without the outlier channels.

    Args:
        reading, kind: see channels.
        bits: of an integer; one of activations.BITS.
        layer: that is marked.
    """
    scan = scan_of(reading, kind)
    return View(
        key="activation errors",
        title="The errors",
        result=scan,
        chart=activation_errors_figure(scan, bits, layer, height=320),
        findings=(say.rounding_errors(scan, layer, bits),),
        note="Relative error of a token's vector, mean over the tokens.",
        table=lambda: pd.DataFrame(scan.errors[bits]),
    )


# ---- losses ----


def _table(name: str, part: Part) -> LossTable:
    return loss_table(ladder.rows_of(ladder.SHIPPED / "quantisation.csv"), name, part)


table_of = kept(_table, entries=8)


@view
def losses(model: str, part: Part, data_type: str) -> View:
    """Held-out loss against bits, for every way to share a scale, as `python -m tfcore.training quantisation` measured
    it.

    Args:
        model: smollm2 or stories.
        part: of the model that is rounded.
        data_type: that is said and drawn larger.
    """
    table = table_of(model, part)
    return View(
        key="losses",
        title="Loss against bits",
        result=table,
        chart=losses_figure(table, data_type, height=400),
        findings=(say.same_losses(table, data_type), say.fewest(table)),
        note=f"Dashed: the model as it is. Losses above {CLEAR:g} are drawn at {CLEAR:g}.",
        table=lambda: pd.DataFrame(table.points),
        formula=r"L = -\frac1N \sum_{t=1}^{N} \ln p_{\hat\theta}(x_t \mid x_{<t})",
        papers=f"Measured once, on {table.tokens:,} tokens of {SOURCES[table.text]}. `python -m tfcore.training "
        "quantisation --corpus PATH --out DIR` measures them again. Rounded are the matrices of the blocks; "
        "embeddings, norms and biases are not. LLM.int8(): arXiv:2208.07339. KIVI: arXiv:2402.02750.",
        terms=("quantisation", "cross-entropy"),
        code=(quantised_copy, fewest_bits, written.written),
    )


def loss_of_all(name: str, part: Part, data_type: str) -> Finding | None:
    """The loss of the whole model with rounding, in a sentence; None where it was not measured."""
    table = table_of(name, part)
    return say.whole_model(table, data_type) if data_type in types_of(table) else None


@dataclass(frozen=True, slots=True)
class Continuations:
    """The texts that a model writes with its weights as they are, and rounded.

    Args:
        texts: by what shares a scale.
        said: how far they agree.
    """

    texts: Mapping[str, str]
    said: Finding


def continuations(model: Source, text: str, data_type: Format, tokens: int) -> Continuations:
    """A text continued greedily with each way to share a scale."""
    compared = written_of(model, text, data_type, tokens, continued(model, text, tokens))
    tokenizer = opened(model)[1]
    ids = {"as it is": compared.plain, **{HOW[how]: ids for how, ids in compared.ways.items()}}
    return Continuations({how: tokenizer.decode(list(one)) for how, one in ids.items()}, say.written(compared))


# ---- the cache ----


def _vectors(reading: Reading) -> TextVectors:
    model, tokenizer = opened(reading.model)
    ids = first_tokens(model, tokenizer, reading.text, TOKENS).ids
    return text_vectors(model, ids, range(model.config.n_layers))


vectors_of = kept(_vectors, entries=16)


def _effect(reading: Reading, layer: int, head: int, scheme: CacheScheme) -> CacheEffect:
    return cache_rounding.cache_effect(vectors_of(reading), layer, head, scheme)


effect_of = kept(_effect, entries=32)


def _labels(reading: Reading) -> Sequence[str]:
    model, tokenizer = opened(reading.model)
    return tick_labels(first_tokens(model, tokenizer, reading.text, TOKENS).tokens)


@view
def keys(reading: Reading, layer: int, head: int, scheme: CacheScheme, what: str = "keys") -> View:
    """The keys (or values) of a head, by channel and token.

    Args:
        reading: the first TOKENS tokens of a text, which a decoder reads.
        layer, head: which one.
        scheme: how they would be rounded; drawn is how they are.
        what: "keys" or "values".
    """
    effect = effect_of(reading, layer, head, scheme)
    return View(
        key="keys",
        title=f"The {what}",
        result=effect,
        chart=channels_map(effect, _labels(reading), what, height=420),
        findings=(say.spread(effect, what),),
        note="As they are; keys after their rotation.",
        table=lambda: pd.DataFrame(effect.keys if what == "keys" else effect.values),
        formula=(
            r"\begin{gathered} \hat X = s \cdot \mathrm{round}\Big(\frac{X - m}{s}\Big) + m, \qquad "
            r"s = \frac{\max X - \min X}{2^b - 1}, \quad m = \min X \\ \text{keys: over 32 tokens of a channel;} "
            r"\qquad \text{values: over 32 channels of a token} \end{gathered}"
        ),
        papers="KIVI: arXiv:2402.02750, section 3. There the last tokens, whose group of keys is not full yet, stay in "
        "float16; here they have a scale of their own, and a scale by channel knows the range of up to 31 later "
        "tokens.",
        terms=("KV cache", "quantisation"),
        code=(
            rounded_cache.rounded_cache,
            cache_rounding.cache_effect,
            cache_rounding.rounded_cache_bytes,
            kv_bytes.cache_bytes,
        ),
    )


@view
def maps(reading: Reading, layer: int, head: int, scheme: CacheScheme) -> View:
    """How the attention weights of a head change when its keys are rounded.

    Args:
        reading, layer, head: see keys.
        scheme: how keys and values are rounded.
    """
    effect, config = effect_of(reading, layer, head, scheme), opened(reading.model)[0].config
    model = name_of(reading.model)
    return View(
        key="maps",
        title="The weights",
        result=effect,
        chart=moved_figure(effect, _labels(reading), height=420),
        findings=(say.rounded_head(model, effect), say.cache_size(model, config, scheme.bits)),
        note="Drawn: attention weight with the rounded keys, less that with the keys as they are.",
        table=lambda: pd.DataFrame(effect.after - effect.before),
    )


# ---- times ----


@view
def speeds(seed: int, *, so_far: Sequence[SpeedPoint] | None = None) -> View:
    """The product of a matrix in several data types, timed on this machine.

    Args:
        seed: of the matrix.
        so_far: the times that are known; None measures all of them here and now.
    """
    points = speed.speed_points(seed) if so_far is None else so_far
    few, many = (say.speeds(points, tokens) for tokens in speed.TOKENS)
    return View(
        key="speeds",
        title="Times of a product",
        result=points,
        chart=speeds_figure(points, height=420),
        findings=(few, many),
        note=f"Measured on {on_cpu()}; a matrix of {speed.ROWS:,} × {speed.COLUMNS:,} random numbers, the quickest of "
        f"up to {speed.REPEATS} runs. The times are those of the machine.",
        table=lambda: pd.DataFrame(points),
        terms=("quantisation",),
        code=(speed.products, speed.race, speed.packed, speed.unpacked),
    )
