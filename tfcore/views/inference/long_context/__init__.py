"""Long contexts: what length costs, and three answers: fewer pairs, scores that are never written, many devices."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tfcore.measures import flop_count
from tfcore.measures.head_vectors import head_vectors
from tfcore.measures.leaks import replacement_for
from tfcore.measures.mask_patterns import FUNCTIONS, MaskConfig
from tfcore.measures.one_text import UsedTokens, first_tokens, last_tokens
from tfcore.measures.precision import stored_bytes
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import state
from tfcore.views.inference.long_context.draw.chosen import head_blocks_figure, kept_weight_figure
from tfcore.views.inference.long_context.draw.cost import layer_memory_figure, operations_figure, scale_figure
from tfcore.views.inference.long_context.draw.flash import sram_figure, tiles_figure, traffic_figure
from tfcore.views.inference.long_context.draw.online_softmax import SHOWN, ledger_figure, scores_figure
from tfcore.views.inference.long_context.draw.patterns import kept_pairs_figure, measured_figure, pattern_reach_figure
from tfcore.views.inference.long_context.draw.ring import devices_figure, meetings_figure, work_figure
from tfcore.views.inference.long_context.draw.timing import bytes_figure, seconds_figure
from tfcore.views.inference.long_context.measure import chosen, flash, online_softmax, patterns, timing
from tfcore.views.inference.long_context.measure import ring as rings
from tfcore.views.inference.long_context.measure import traffic as moving
from tfcore.views.inference.long_context.measure.chosen import BlockAttention, BlockConfig, HeadBlocks
from tfcore.views.inference.long_context.measure.cost import MODELS, POWERS, shape_cost
from tfcore.views.inference.long_context.measure.flash import FlashRun, Order, Tiling
from tfcore.views.inference.long_context.measure.online_softmax import RowStep
from tfcore.views.inference.long_context.measure.patterns import NAMES, MeasuredReach
from tfcore.views.inference.long_context.measure.ring import Layout, RingRun
from tfcore.views.inference.long_context.measure.timing import Timed, TimingConfig
from tfcore.views.inference.long_context.measure.traffic import TrafficComparison
from tfcore.views.inference.long_context.say import chosen as say_chosen
from tfcore.views.inference.long_context.say import cost as say_cost
from tfcore.views.inference.long_context.say import patterns as say_patterns
from tfcore.views.inference.long_context.say import pieces as say_pieces
from tfcore.views.inference.long_context.say import timing as say_timing
from tfcore.views.inference.long_context.say import traffic as say_traffic
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import Metric, View, view

TOKENS = 64  # of a text, at most

# ---- cost of length ----

cost_of = kept(shape_cost, entries=8)


@view
def scale(shape: str, power: int) -> View:
    """The matrices of one head, drawn to scale.

    Args:
        shape: one of MODELS.
        power: of two, the length in tokens.
    """
    d_head = PRESETS[MODELS[shape]]().head_size
    matrix = say_cost.score_matrix(shape, 2**power, d_head)
    return View(
        key="scale",
        title="One head, to scale",
        result=matrix,
        chart=scale_figure(2**power, d_head, height=380),
        findings=(matrix,),
        formula=(
            r"\underbrace{QK^\top}_{2n^2d\ \text{FLOPs}} \to \underbrace{n \times n}_{\text{scores}} \to "
            r"\underbrace{AV}_{2n^2d\ \text{FLOPs}} \quad\text{all else: } \propto n"
        ),
        papers="Attention Is All You Need, table 1 (n² · d a layer), arXiv:1706.03762. FLOPs as in arXiv:2001.08361, "
        "table 1; every pair is counted, as if the matrix were filled whole.",
        code=(flop_count.length_cost,),
    )


@view
def operations(shape: str, power: int) -> View:
    """The cost of length: operations with weights grow with n, those of the scores with n squared.

    Args:
        shape: one of MODELS.
        power: of two, the length that is marked; one of POWERS.
    """
    cost, at = cost_of(shape), POWERS.index(power)
    return View(
        key="operations",
        title="Operations",
        result=cost,
        chart=operations_figure(cost, at, height=320),
        findings=(say_cost.operations(shape, cost, at),),
        table=lambda: pd.DataFrame({"n": cost.n, "with weights": cost.linear, "n squared": cost.squared}),
    )


@view
def memory(shape: str, power: int) -> View:
    """Bytes in one layer: those of the vectors grow with n, those of the scores with n squared. See operations."""
    cost, at = cost_of(shape), POWERS.index(power)
    return View(
        key="memory",
        title="Memory",
        result=cost,
        chart=layer_memory_figure(cost, at, height=320),
        findings=(say_cost.layer_memory(cost, at),),
        table=lambda: pd.DataFrame({"n": cost.n, "scores": cost.matrices, "Q, K, V, output": cost.vectors}),
    )


# ---- sparse patterns ----

N = 64  # tokens in the picture
PAIR_LENGTHS = tuple(2**power for power in range(6, 18))

reach_of = kept(patterns.reach, entries=128)
pairs_of = kept(patterns.pairs_kept, entries=128)
read_of = kept(first_tokens, entries=64)


@view
def pattern(mask: MaskConfig, layers: int) -> View:
    """A sparse pattern: the pairs it keeps, and how far information travels through several layers.

    Args:
        mask: of every layer.
        layers: that information is followed through.
    """
    reach = reach_of(mask, N, layers)
    return View(
        key="reach",
        title="The pattern",
        result=reach,
        chart=pattern_reach_figure(reach, height=420),
        min_width=320,
        cursor=True,
        findings=(say_patterns.pattern_reach(reach),),
        note="Strongest: in one layer. Fainter: through more layers. Hatched: never.",
        table=lambda: pd.DataFrame(reach.needed),
        formula=(
            r"\begin{gathered} \text{pairs: } n^2 \to n \cdot w \\"
            r"\text{reach of } L \text{ layers of a window } w: \ L\,(w - 1) \end{gathered}"
        ),
        code=(FUNCTIONS[mask.kind], patterns.keys_seen, patterns.layers_needed, patterns.measured_reach),
    )


@view
def pairs(mask: MaskConfig, power: int) -> View:
    """The pairs that each pattern keeps, against length.

    Args:
        mask: the pattern that is marked; the others take its window, blocks and so on.
        power: of two, the length that is marked; 6 to 17.
    """
    at = PAIR_LENGTHS.index(2**power)
    counts = {kind: pairs_of(replace(mask, kind=kind), PAIR_LENGTHS) for kind in NAMES}
    named = {NAMES[kind]: kept_pairs for kind, kept_pairs in counts.items()}
    return View(
        key="pairs",
        title="Pairs against length",
        result=counts,
        chart=kept_pairs_figure(PAIR_LENGTHS, named, NAMES[mask.kind], at, height=420),
        findings=(say_patterns.pairs_at_length(PAIR_LENGTHS, counts, mask.kind, at),),
        note="Each pair costs 4 d operations in each head.",
        table=lambda: pd.DataFrame({"n": PAIR_LENGTHS, **named}),
    )


def read(reading: Reading) -> UsedTokens:
    """The first TOKENS tokens of a text."""
    return read_of(reading.model, reading.text, TOKENS)


def _change(reading: Reading, mask: MaskConfig, position: int) -> MeasuredReach:
    model, tokenizer = opened(reading.model)
    ids = read(reading).ids
    return patterns.measured_reach(model, ids, mask, position, replacement_for(tokenizer.encode, ids[position]))


change_of = kept(_change, entries=64)


@view
def measured(reading: Reading, mask: MaskConfig, position: int) -> View:
    """A token changed in a real model under a sparse mask: whose outputs change?

    Args:
        reading: the first TOKENS tokens of a text, which a decoder reads.
        mask: of every layer.
        position: of the token that is changed.
    """
    change, tokens = change_of(reading, mask, position), read(reading).tokens
    return View(
        key="measured",
        title="In a real model",
        result=change,
        chart=measured_figure(change, tick_labels(tokens, 9), height=200),
        min_width=620,
        findings=(say_patterns.model_reach(change),),
        note="Outputs compared to the last bit.",
        table=lambda: pd.DataFrame({"token": tokens, "pattern": change.expected, "measured": change.changed}),
    )


# ---- blocks that queries choose ----

BLOCK_TOKENS = 192  # of a text, at most
CHOSEN_PAPERS = (
    "Blocks by their mean key, the own one always: MoBA, arXiv:2502.13189, section 2.2, equations 2 to 6; there as "
    "here each head chooses by itself. Native sparse attention (arXiv:2502.11089, section 3.3) learns how a block is "
    "summarised, lets the heads of a group choose together, and adds a sliding window. Both are trained with it."
)


def _block_text(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return last_tokens(model, tokenizer, text, BLOCK_TOKENS)


def _block_attention(model: Transformer, tokenizer: Tokenizer, text: str, config: BlockConfig) -> BlockAttention:
    return chosen.block_attention(model, _block_text(model, tokenizer, text).ids, config)


def _head_blocks(
    model: Transformer, tokenizer: Tokenizer, text: str, layer: int, head: int, config: BlockConfig
) -> HeadBlocks:
    return chosen.head_blocks(model, _block_text(model, tokenizer, text).ids, layer, head, config)


block_text_of = kept(_block_text, entries=64)
block_attention_of = kept(_block_attention, entries=32)
head_blocks_of = kept(_head_blocks, entries=16)


@view
def blocks(model: Source, text: str, config: BlockConfig) -> View:
    """A text read with sparse attention by blocks in all layers and heads: the weight that is kept, and the loss.

    Args:
        model: a decoder.
        text: its last tokens are read, at least two.
        config: size and number of the blocks.
    """
    result = block_attention_of(model, text, config)
    return View(
        key="blocks",
        title="Weight in the chosen blocks",
        result=result,
        chart=kept_weight_figure(result, height=330),
        min_width=320,
        findings=(say_chosen.block_loss(result),),
        note="Of queries that have to choose; means over the heads of a layer.",
        table=lambda: pd.DataFrame(
            {"layer": np.array(result.layers), **{str(way): shares.mean(1) for way, shares in result.kept.items()}}
        ),
        formula=(
            r"b \in \mathrm{top}_{k}\ q_i \cdot \mathrm{mean}_{j \in b}\, k_j, \qquad "
            r"a_i = \mathrm{softmax}_{j \le i,\ j \in \text{chosen } b}(q_i \cdot k_j)"
        ),
        papers=CHOSEN_PAPERS,
        terms=("sparse attention",),
        code=(chosen.block_means, chosen.chosen_blocks, chosen.block_attention),
    )


@view
def block_map(model: Source, text: str, config: BlockConfig, layer: int, head: int) -> View:
    """The weights of one head and the blocks that its queries choose. See blocks."""
    result, own = block_attention_of(model, text, config), head_blocks_of(model, text, layer, head, config)
    tokens = block_text_of(model, text).tokens
    return View(
        key="block map",
        title=f"Layer {layer}, head {head}: the blocks it chooses",
        result=own,
        chart=head_blocks_figure(own, tick_labels(tokens), height=460),
        min_width=340,
        cursor=True,
        findings=(say_chosen.head_choice(result, own, layer, head),),
        note="Full weights; hatched is what the query does not read.",
        table=lambda: pd.DataFrame(own.weights, columns=pd.RangeIndex(len(tokens), name="key")).assign(query=tokens),
        code=(chosen.head_blocks,),
    )


# ---- flash attention ----

LINES = 12  # of the ledger, shown at a time


def _flash(reading: Reading, layer: int, head: int, sram: int, order: Order, row: int) -> FlashRun:
    model, ids = opened(reading.model)[0], read(reading).ids
    tiling = Tiling(n=len(ids), d_head=model.config.head_size, sram=sram, order=order)
    return flash.follow(head_vectors(model, ids, layer, head), tiling, row)


flash_of = kept(_flash, entries=24)


def _sink_first(run: FlashRun | RingRun) -> str:
    """A sentence on the state of the followed query before its first key, where that is not empty."""
    if run.steps[0].old_l == 0:
        return ""
    return " The state begins with the head's learned sink, a score without a value."


@view
def tiles(reading: Reading, layer: int, head: int, sram: int, order: Order, row: int, tile: int) -> View:
    """Flash attention, tile by tile (arXiv:2205.14135): the softmax without ever holding all scores.

    Args:
        reading: the first TOKENS tokens of a text, which a decoder reads.
        layer, head: whose attention is computed.
        sram: numbers that fit into fast memory.
        order: the outer loop, over queries or keys.
        row: the query that is followed.
        tile: the last that was computed, from 0.
    """
    run = flash_of(reading, layer, head, sram, order, row)
    return View(
        key="tiles",
        title="The tiles",
        result=run,
        chart=tiles_figure(run, tile, tick_labels(read(reading).tokens), height=430),
        min_width=320,
        findings=(say_pieces.tile_place(run, tile), say_pieces.off_by(run)),
        note=f"In colour: in SRAM now. Grey: discarded. Hatched: skipped.{_sink_first(run)}",
        formula=(
            r"\begin{gathered} m = \max(m_{old}, m_{tile}), \quad O = out \,/\, \ell \\"
            r"\begin{aligned} \ell &= e^{m_{old} - m}\,\ell_{old} + e^{m_{tile} - m}\,\ell_{tile} \\"
            r"out &= e^{m_{old} - m}\,out_{old} + e^{m_{tile} - m}\,out_{tile} \end{aligned} \end{gathered}"
        ),
        papers="FlashAttention, algorithm 1, arXiv:2205.14135; FlashAttention-2, arXiv:2307.08691; online softmax, "
        "arXiv:1805.02867. Click a tile to go there.",
        code=(online_softmax.merge, online_softmax.of_tile, flash.tiled_attention),
    )


@view
def scores(reading: Reading, layer: int, head: int, sram: int, order: Order, row: int, tile: int) -> View:
    """The scores of the followed query in its last tile so far; in its first where there is none yet. See tiles."""
    run, tokens = flash_of(reading, layer, head, sram, order, row), read(reading).tokens
    step = run.latest(tile)
    n = len(step.keys)
    return View(
        key="scores",
        title="The scores of a query",
        result=step,
        chart=scores_figure(step, tick_labels([tokens[key] for key in step.keys]), height=120),
        min_width=42 * n + 100,
        described=say_pieces.tile_scores(run, step),
        note=f"(1, {n}): scores s for the keys of tile {step.at + 1}, weights e^(s − their largest).",
    )


@view
def ledger(reading: Reading, layer: int, head: int, sram: int, order: Order, row: int, tile: int) -> View:
    """The numbers of the online softmax after each tile of the followed query. See tiles."""
    run = flash_of(reading, layer, head, sram, order, row)
    done, names = run.done(tile), [f"tile {step.at + 1}" for step in run.steps]
    first = max(0, min(len(done) - LINES + 3, len(names) - LINES))  # a window that moves on with the tiles
    return View(
        key="ledger",
        title="The numbers of a query",
        result=run.steps,
        chart=ledger_figure(done[first:], names[first : first + LINES], height=56 + 30 * min(len(names), LINES)),
        min_width=400,
        findings=(say_pieces.row_progress("tile", done, len(names)), say_pieces.plain_number(run)),
        note=f"{len(run.naive)} values of output, {SHOWN} of them shown, one line per tile.",
        table=lambda: _steps(run.steps),
    )


def _steps(steps: Sequence[RowStep]) -> pd.DataFrame:
    """Every number of the followed query."""
    rows = [
        {
            "tile": s.at + 1,
            "first key": s.keys[0],
            "tile max": s.tile_m,
            "tile sum": s.tile_l,
            "m": s.m,
            "rescale": s.rescale,
            "l": s.l,
        }
        | {f"out[{i}]": value for i, value in enumerate(s.out)}
        for s in steps
    ]
    return pd.DataFrame(rows)


# ---- memory traffic ----

BYTES = stored_bytes(1, "float16")
KB = 1000 // BYTES  # numbers in a kB
SIZES = list(range(16, 257, 16))  # kB

traffic_of = kept(moving.compare_traffic, entries=256)


@view
def traffic(n: int, d_head: int, kilobytes: int, order: Order, causal: bool) -> View:
    """Numbers that are moved between memory and chip: by standard attention, and tile by tile.

    Args:
        n, d_head: tokens, and numbers in each vector.
        kilobytes: that fit into fast memory.
        order: the outer loop, over queries or keys.
        causal: whether masked tiles are skipped.
    """
    compared = traffic_of(n, d_head, kilobytes * KB, order, causal, BYTES)
    said = say_traffic.moved(compared)
    rows = {
        "Standard attention": said.plain_words,
        "Tiles, counted": said.tiled_words,
        "c n²d² ÷ M": said.formula_words,
    }
    return View(
        key="moved",
        title="What is moved",
        result=compared,
        chart=traffic_figure(compared.naive, compared.tiled, compared.bytes_each, height=270),
        findings=(said,),
        metrics=tuple(Metric(label, *words) for label, words in rows.items()),
        table=lambda: _bars(compared),
        formula=(
            r"\begin{gathered} \text{plain: } \Theta(nd + n^2) \qquad \text{tiles: } \Theta(n^2 d^2 / M) \\"
            r"\text{for } d \le M \le nd \quad \text{(Theorem 2)} \end{gathered}"
        ),
        papers="FlashAttention, algorithms 0 and 1, theorem 2, arXiv:2205.14135; queries outside: arXiv:2307.08691. "
        "1 kB is 1,000 bytes; caches of the GPU between HBM and SRAM are left out, as in the papers.",
        code=(moving.tiled_traffic, moving.naive_traffic, moving.theorem),
    )


def _bars(compared: TrafficComparison) -> pd.DataFrame:
    """Bars of what is moved, part by part."""
    return pd.DataFrame(
        [
            {"way": way, "direction": direction, "what": part, "numbers": numbers, "bytes": BYTES * numbers}
            for way, moved in (("plain", compared.naive), ("tiles", compared.tiled))
            for direction, parts in (("read", moved.reads), ("written", moved.writes))
            for part, numbers in parts.items()
        ]
    )


@view
def traffic_by_sram(n: int, d_head: int, kilobytes: int, order: Order, causal: bool) -> View:
    """Numbers moved against the size of the fast memory, counted and by the theorem. See traffic."""
    every = [traffic_of(n, d_head, size * KB, order, causal, BYTES) for size in SIZES]
    totals, at = [say_traffic.moved(one) for one in every], SIZES.index(kilobytes)
    counted, formula = [one.tiled for one in totals], [one.formula for one in totals]
    plain = [one.plain for one in totals]
    return View(
        key="sram",
        title="Against the size of SRAM",
        result=every,
        chart=sram_figure(SIZES, counted, formula, plain[at], at, height=300),
        findings=(say_traffic.against_sram(SIZES, every),),
        table=lambda: pd.DataFrame(
            {"SRAM kB": SIZES, "counted bytes": counted, "formula bytes": formula, "plain bytes": plain}
        ),
    )


# ---- ring attention ----


def _ring(reading: Reading, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int) -> RingRun:
    vectors = head_vectors(opened(reading.model)[0], read(reading).ids, layer, head)
    return rings.follow_ring(vectors, devices, layout, causal, row)


ring_of = kept(_ring, entries=32)


@view
def ring(
    reading: Reading, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int, step: int
) -> View:
    """Ring attention (arXiv:2310.01889): keys and values are passed on from device to device.

    Args:
        reading: the first TOKENS tokens of a text, which a decoder reads.
        layer, head: whose attention is computed.
        devices: around the ring.
        layout: of the tokens on them.
        causal: whether no token sees a later one.
        row: the query that is followed.
        step: from 0.
    """
    run = ring_of(reading, layer, head, devices, layout, causal, row)
    return View(
        key="ring",
        title="The ring",
        result=run,
        chart=devices_figure(run, step, height=350),
        findings=(say_pieces.ring_step(run, step), say_pieces.still_to_come(run, step)),
        note="Circles: queries, at home. Squares: keys and values, by their home's colour, passed on clockwise."
        + _sink_first(run),
        formula=(
            r"\begin{gathered} \text{device } i \text{ at step } t: \quad j = (i - t) \bmod N \\"
            r"\mathrm{state}_i \leftarrow \mathrm{merge}(\mathrm{state}_i,\ "
            r"\mathrm{attend}(Q_i, K_j, V_j)) \end{gathered}"
        ),
        papers="Ring Attention with Blockwise Transformers, arXiv:2310.01889; Striped Attention, arXiv:2311.09431. One "
        "head of one layer; the devices are simulated one after the other on this machine.",
        code=(rings.ring_attention, rings.ring_work, online_softmax.merge),
    )


@view
def blocks_met(
    reading: Reading, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int, step: int
) -> View:
    """The step at which each block of queries meets each block of keys. See ring."""
    run = ring_of(reading, layer, head, devices, layout, causal, row)
    return View(
        key="meetings",
        title="Who meets whom",
        result=run,
        chart=meetings_figure(run, step, height=280),
        findings=(say_pieces.meetings(run, step),),
        note="The step at which queries and keys meet. –: masked.",
    )


@view
def states(
    reading: Reading, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int, step: int
) -> View:
    """The numbers of the online softmax after each block that reached the followed query. See ring."""
    run = ring_of(reading, layer, head, devices, layout, causal, row)
    done, names = run.steps[: step + 1], [f"KV{int(block)}" for block in run.held[:, run.home[run.row]]]
    return View(
        key="states",
        title="The numbers of a query",
        result=run.steps,
        chart=ledger_figure(done, names, height=60 + 34 * len(names)),
        min_width=400,
        findings=(say_pieces.row_progress("step", done, len(names)),),
        table=lambda: _steps(run.steps),
    )


@view
def contiguous_work(n: int, devices: int, causal: bool, step: int) -> View:
    """The pairs that each device computes at each step where it holds a piece of the text.

    Args:
        n: tokens.
        devices, causal, step: see ring.
    """
    return _work(n, devices, "contiguous", causal, step)


@view
def striped_work(n: int, devices: int, causal: bool, step: int) -> View:
    """The pairs that each device computes at each step where it holds early and late tokens. See contiguous_work."""
    return _work(n, devices, "striped", causal, step)


def _work(n: int, devices: int, layout: Layout, causal: bool, step: int) -> View:
    """The work of every device, on the scale of both layouts."""
    every = {one: rings.ring_work(n, devices, one, causal) for one in rings.LAYOUTS}
    work, most = every[layout], max(int(one.max()) for one in every.values())
    return View(
        key=f"work {layout}",
        title=f"Load, tokens {layout}",
        result=work,
        chart=work_figure(work, step, most, height=110 + 30 * devices),
        findings=(say_pieces.load_balance(layout, work),),
        table=lambda: pd.DataFrame(work).rename_axis("step").reset_index(),
    )


# ---- times ----


@view
def seconds(config: TimingConfig, *, so_far: Sequence[Timed] | None = None) -> View:
    """Plain and fused attention timed on this machine, at length after length.

    Args:
        config: what is timed.
        so_far: the points that are known; None measures all of them here and now.
    """
    points = timing.timed_points(config) if so_far is None else so_far
    speed = say_timing.fused_speed(points)
    return View(
        key="seconds",
        title="Time against length",
        result=points,
        chart=seconds_figure(points, height=380),
        findings=(speed,),
        described=state("times", "Time against length on this machine. {speed}", speed=str(speed)),
        note="Quickest run, milliseconds.",
        table=lambda: pd.DataFrame(points),
        formula=(
            r"\begin{gathered} \text{plain: } S = QK^\top/\sqrt{d},\ \ P = \mathrm{softmax}(S),\ \ O = PV \\"
            r"\text{fused: one kernel, tile by tile} \end{gathered}"
        ),
        code=(timing.naive_attention, timing.fused_attention, timing.race, timing.allocated),
    )


@view
def at_once(config: TimingConfig, *, so_far: Sequence[Timed] | None = None) -> View:
    """The bytes of plain and fused attention, computed and measured. See seconds."""
    points = timing.timed_points(config) if so_far is None else so_far
    return View(
        key="bytes",
        title="Bytes against length",
        result=points,
        chart=bytes_figure(points, height=380),
        findings=(say_timing.bytes_at_once(points),),
        note="Dashed: computed from the shapes, marks: measured, open: left out.",
        table=lambda: pd.DataFrame(points),
    )
