"""Mixers that carry a state of fixed size: the matrix each implies beside softmax attention, the state token by token,
what it can recall, trainings side by side, and time and memory by length."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import cast

import numpy as np
import pandas as pd

from tfcore import mixers
from tfcore.charts.alike import Against
from tfcore.charts.heatmaps import full_colour
from tfcore.measures import one_text
from tfcore.measures.one_text import UsedTokens
from tfcore.measures.parameter_count import parameters
from tfcore.measures.timing import on_cpu
from tfcore.measures.token_text import tick_labels
from tfcore.mixing_layers import ConvolutionMixer, StateMixer
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import alike_loop
from tfcore.training.alike import Comparison, accuracy_ranges
from tfcore.training.mixing import comparison, lengths
from tfcore.training.mixing.comparison import KINDS, MixingConfig, MixingTask
from tfcore.training.mixing.lengths import LengthConfig, TimedLengths
from tfcore.training.mixing.pairs import pair_rows
from tfcore.views.alike import accuracy_by_place, course_view, places_view
from tfcore.views.finding import state as stated
from tfcore.views.foundations.linear import measure, say
from tfcore.views.foundations.linear.draw import (
    STYLES,
    carried_figure,
    held_figure,
    lengths_figure,
    matrix_figure,
    memory_figure,
    pairs_figure,
    sizes_figure,
    state_figure,
)
from tfcore.views.foundations.linear.measure import (
    PAIRS,
    ROWS_OF_RECALL,
    WITHOUT_STATE,
    CarriedState,
    MixerRow,
    MixerSettings,
)
from tfcore.views.kept import kept
from tfcore.views.sources import Source
from tfcore.views.view import View, view

TOKENS = 48  # of a text that are used
HEIGHT = 380  # of two matrices side by side
STATE_HEIGHT = 340
FORMULAS: dict[MixerRow, str] = {
    "linear": r"S_t = S_{t-1} + \phi(k_t)\, v_t^\top \qquad o_t = \frac{S_t^\top \phi(q_t)}{z_t^\top \phi(q_t)} \qquad "
    r"z_t = z_{t-1} + \phi(k_t) \qquad \phi(x) = \mathrm{elu}(x) + 1",
    "decay": r"S_t = \gamma\, S_{t-1} + k_t v_t^\top \qquad o_t = S_t^\top q_t",
    "gated": r"S_t = \mathrm{diag}(\alpha_t)\, S_{t-1} + k_t v_t^\top \qquad o_t = S_t^\top q_t",
    "ssm": r"S_t = e^{-a \Delta_t} S_{t-1} + \Delta_t\, k_t v_t^\top \qquad o_t = S_t^\top q_t",
    "delta": r"S_t = S_{t-1} + \beta_t k_t \big(v_t - S_{t-1}^\top k_t\big)^\top \qquad o_t = S_t^\top q_t",
    "gated delta": r"S_t = \alpha_t S_{t-1} + \beta_t k_t \big(v_t - \alpha_t S_{t-1}^\top k_t\big)^\top \qquad "
    r"o_t = S_t^\top q_t",
    "conv": r"o_t = \sum_{j=0}^{3} w_j \odot v_{t-j}",
}
PAPERS = (
    "Linear attention: arXiv:2006.16236, equations 7 and 16 to 20; decay: RetNet, arXiv:2307.08621, equations 5 and 6; "
    "gated linear attention: arXiv:2312.06635, equation 3; SSD, the layer of Mamba-2: arXiv:2405.21060, sections 4 and "
    "6; delta rule: arXiv:2406.06484, equations 2, 6 and 10; gated delta rule, in Qwen3-Next and Qwen3.5: "
    "arXiv:2412.06464, equation 10; short convolution: LFM2, arXiv:2511.23404. Equal to the functions of transformers "
    "within 1e-5. Queries, keys and values are those of a head that was trained with softmax; what a trained layer "
    "learns besides is set here: a half-life in the mean over the text (that of a token is shorter where its value is "
    "larger, that of a channel where its key is), and one strength of writing. Keys have length 1 in the delta rules."
)


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> UsedTokens:
    return one_text.first_tokens(model, tokenizer, text, TOKENS)


def _carried(
    model: Transformer, tokenizer: Tokenizer, text: str, layer: int, head: int, settings: MixerSettings
) -> CarriedState:
    return measure.carried_state(model, _tokens(model, tokenizer, text).ids, layer, head, settings)


def _telling(model: Transformer, tokenizer: Tokenizer, text: str, layer: int) -> int:
    return measure.telling_head(model, _tokens(model, tokenizer, text).ids, layer)


tokens_of = kept(_tokens, entries=64)
telling_of = kept(_telling, entries=64)
carried_of = kept(_carried, entries=32)
pairs_of = kept(measure.stored_pairs, entries=16)


# ---- the matrix, and the state ----


@view
def softmax(model: Source, text: str, layer: int, head: int) -> View:
    """The attention weights of a head as its model has them, beside which the matrices of mixers are put. See implied.

    Args:
        text: its first tokens are used.
    """
    tokens = tokens_of(model, text).tokens
    result = carried_of(model, text, layer, head, MixerSettings())
    return View(
        key="softmax",
        title="Softmax attention",
        result=result.weights,
        chart=matrix_figure(result.weights, tick_labels(tokens), weights=True, height=HEIGHT),
        min_width=260,
        cursor=True,
        findings=(say.softmax_peaks(result),),
        table=lambda: pd.DataFrame(result.weights).assign(query=tokens),
    )


@view
def implied(model: Source, text: str, layer: int, head: int, settings: MixerSettings) -> View:
    """The (query, key) matrix that a mixer implies for the queries and keys of a head, which was trained with softmax.

    Args:
        text: its first tokens are used.
        settings: the mixer, and what training would have set in it.
    """
    tokens = tokens_of(model, text).tokens
    result = carried_of(model, text, layer, head, settings)
    weights = settings.row in ("linear", WITHOUT_STATE)
    return View(
        key="implied",
        title=f"{say.NAMES[settings.row]}: the matrix",
        result=result,
        chart=matrix_figure(result.matrix, tick_labels(tokens), weights=weights, height=HEIGHT),
        min_width=260,
        cursor=True,
        findings=(say.implied(result, settings.row),),
        note="" if weights else "The scale leaves out the first token, which many heads use as a sink.",
        table=lambda: pd.DataFrame(result.matrix).assign(query=tokens),
        formula=FORMULAS[settings.row],
        papers=PAPERS,
        terms=("attention weight", "recurrent neural network"),
        code=(mixers.recurrent, mixers.step, mixers.implied_matrix, mixers.chunked, measure.features),
    )


@view
def state(model: Source, text: str, layer: int, head: int, settings: MixerSettings, token: int) -> View:
    """The state that a mixer carries on after a token, on one scale for the whole text. See implied.

    Args:
        token: its place; one beyond the text means the last.
    """
    tokens = tokens_of(model, text).tokens
    result = carried_of(model, text, layer, head, settings)
    token = min(token, len(tokens) - 1)
    rows = "value kept" if settings.row == WITHOUT_STATE else "key channel"
    most = full_colour(*result.states)
    return View(
        key="state",
        title="The state",
        result=result.states[token],
        chart=state_figure(result.states[token], most, rows, STATE_HEIGHT),
        min_width=240,
        findings=(say.state_after(result, tokens, token),),
        note=say.scale_ends(most, float(np.abs(result.states).max())),
        table=lambda: pd.DataFrame(result.states[token]),
    )


@view
def held(model: Source, text: str, layer: int, head: int, settings: MixerSettings, token: int) -> View:
    """What each token's key reads out of the state after a token, beside its value. See state."""
    tokens = tokens_of(model, text).tokens
    result = carried_of(model, text, layer, head, settings)
    token = min(token, len(tokens) - 1)
    return View(
        key="held",
        title="What is still held",
        result=result.held[token],
        chart=held_figure(result.held[token], tick_labels(tokens), token, STATE_HEIGHT),
        min_width=240,
        findings=(say.still_held(result, tokens, token),),
        table=lambda: pd.DataFrame({"token": tokens[: token + 1], "cosine": result.held[token, : token + 1]}),
    )


@view
def carried(model: Source, text: str, layer: int, head: int, settings: MixerSettings, token: int) -> View:
    """Norms of the state, of what each token writes and of what it takes away, by token. See state."""
    tokens = tokens_of(model, text).tokens
    result = carried_of(model, text, layer, head, settings)
    token = min(token, len(tokens) - 1)
    has_state = settings.row != WITHOUT_STATE
    columns = {"norm": result.norms, "written": result.written, "lost": result.lost, "rank": result.ranks}
    return View(
        key="carried",
        title="Written and lost",
        result=result,
        chart=carried_figure(result, tick_labels(tokens), token, 300),
        min_width=340,
        findings=(say.written_and_lost(result, tokens), *([say.forms_agree(result)] if has_state else [])),
        table=lambda: pd.DataFrame({"token": tokens, **columns}),
    )


# ---- recall against the size of the state ----


@view
def recall(d_key: int, seed: int = 0) -> View:
    """Values read back right, by how many pairs of random keys and values were stored: with softmax, summed, and by the
    delta rule. Nothing is trained.

    Args:
        d_key: width of keys and values, so that the state has its square of numbers.
    """
    stored = pairs_of(d_key, seed)
    shares = dict(zip(ROWS_OF_RECALL, stored.right, strict=True))
    return View(
        key="recall",
        title="Random pairs in a state",
        result=stored,
        chart=pairs_figure(stored, height=360),
        min_width=240,
        findings=(say.pairs_that_fit(stored),),
        table=lambda: pd.DataFrame({"pairs": PAIRS, **shares}),
        formula=(
            r"\hat v_i = S^\top k_i = \underbrace{v_i\, (k_i \cdot k_i)}_{\text{its own}} + "
            r"\underbrace{\sum_{j \ne i} v_j\, (k_j \cdot k_i)}_{\text{what other keys leave under it}}"
        ),
        papers=(
            f"Means over {measure.DRAWS} draws of random keys of length 1 and values of +1 and -1, of which the "
            "nearest that was stored is taken. Width of a key as the number of pairs that can be told apart: "
            "arXiv:2102.11174, section 4.1; recall against the size of the state: arXiv:2402.18668, section 3."
        ),
        terms=("attention weight",),
        code=(measure.stored_pairs, mixers.step),
    )


@view
def sizes() -> View:
    """Right answers of trained networks by the numbers of their state, over several seeds; attention beside them."""
    repeats = comparison.kept_sizes()
    attention = accuracy_ranges(comparison.kept_repeats("one layer"), KINDS["one layer"])["attention"]
    numbers = [MixingConfig(d_key=width).state for width in repeats]
    rows = {width: accuracy_ranges(one, comparison.SWEPT) for width, one in repeats.items()}
    means = {comparison.NAMED[kind]: [one[kind].mean for one in rows.values()] for kind in comparison.SWEPT}
    return View(
        key="sizes",
        title="Trained, by the size of the state",
        result=repeats,
        chart=sizes_figure(repeats, attention, numbers, height=360),
        min_width=240,
        findings=(say.sizes_of_states(repeats, attention),),
        table=lambda: pd.DataFrame({"numbers of the state": numbers, **means}),
        papers="The kept trainings: `python -m tfcore.training mixing`.",
        code=(pair_rows, comparison.compare, StateMixer),
    )


# ---- trained side by side ----


def _compared(of: MixingConfig | MixingTask, so_far: Sequence[Comparison] | None) -> Comparison:
    if isinstance(of, str):
        return comparison.kept_comparison(of)
    return comparison.compared(of) if so_far is None else so_far[-1]


@view
def course(
    of: MixingConfig | MixingTask, against: Against = "steps", *, so_far: Sequence[Comparison] | None = None
) -> View:
    """The loss of attention, other mixers or hybrids, trained on the same batches to recall pairs, against steps or
    seconds; and what the same training gives with other seeds.

    Args:
        of: a training; or the task of one that ships, with other seeds besides.
        so_far: what is known of the training, at least one look; None trains here and now.
    """
    compared = _compared(of, so_far)
    config = cast("MixingConfig", compared.config)
    counts: dict[str, int] = {kind: parameters(config.network(kind)).total for kind in config.kinds}
    return course_view(
        compared,
        against,
        STYLES,
        340,
        comparison.kept_repeats(of) if isinstance(of, str) else None,
        formula=FORMULAS["gated delta"],
        papers=(
            f"{say.equal_parameters(config, counts)} Pre-norm, {config.n_layers} of width {comparison.WIDTH}, "
            f"feed-forward layers of twice the width, no positions; {comparison.HEADS} heads, states of {config.d_key} "
            f"x {comparison.D_VALUE} numbers each. All see the same batches, with AdamW, one peak learning rate, "
            f"{alike_loop.WARMUP} steps of warm-up, then a cosine, gradients clipped to norm {alike_loop.CLIP:g}; no "
            "rate was searched for any of them. The task: associative recall, arXiv:2312.04927, section 3, a key and "
            "its value in one token. Hybrids: arXiv:2403.19887; one layer of attention in four "
            "as in Qwen3-Next, where it is the fourth. "
            "The kept trainings: `python -m tfcore.training mixing`."
        ),
        terms=("recurrent neural network", "held-out loss"),
        code=(StateMixer, ConvolutionMixer, pair_rows, alike_loop.train_alike),
    )


@view
def by_pairs(of: MixingConfig | MixingTask, *, so_far: Sequence[Comparison] | None = None) -> View:
    """The share of right answers of each network, by how many pairs the row has. See course."""
    compared = _compared(of, so_far)
    repeats = comparison.kept_repeats(of) if isinstance(of, str) else None
    finding = accuracy_by_place(compared, "of one pair", f"of {compared.places[-1]}")
    shown = places_view(compared, repeats, STYLES, "pairs in the row", finding, height=300)
    if of != "four layers":
        return shown
    return replace(shown, findings=(say.recall_regained(comparison.kept_repeats(of)), *shown.findings))


# ---- time and memory by length ----


@view
def time_by_length(config: LengthConfig | None = None, *, so_far: Sequence[TimedLengths] | None = None) -> View:
    """Seconds of one pass by the length of the text: softmax attention, and the gated delta rule in its three forms.

    Args:
        config: what to measure, here and now; None for the measurement that ships.
        so_far: what is known of the measurement; None makes all of it.
    """
    if config is None:
        timed = lengths.kept_lengths()
    elif so_far is None:
        timed = lengths.timed(config)
    else:
        timed = so_far[-1] if so_far else TimedLengths(config, (), 0.0, on_cpu())
    found = say.time_by_length(timed)
    return View(
        key="lengths",
        title="Time of one pass",
        result=timed,
        chart=lengths_figure(timed, height=380),
        min_width=340,
        findings=(found,),
        described=stated("lengths", "Time of one pass against length. {found}", found=found),
        note=f"On {timed.machine}.",
        table=lambda: pd.DataFrame([asdict(point) for point in timed.points]),
        formula=r"\text{attention } O(n^2 d) \qquad \text{state } O(n\, d_k d_v) \qquad \text{in chunks of } C:\ "
        r"O\big(n (C d + d_k d_v)\big)",
        papers=(
            f"The gated delta rule as a matrix, in chunks and token by token: {timed.config.n_heads} heads of width "
            f"{timed.config.d_head}, one text, forward only, the quickest of up to {lengths.REPEATS} runs. Attention "
            "is torch's fused kernel, the others are the functions of this library. arXiv:2312.06635, section 4; "
            "arXiv:2405.21060, section 6; arXiv:2412.06464, section 3.3. The kept measurement: "
            "`python -m tfcore.training mixing`."
        ),
        terms=("KV cache",),
        code=(lengths.time_lengths, mixers.chunked),
    )


@view
def memory(config: LengthConfig | None = None) -> View:
    """Numbers that generation keeps for the next token, by length: keys and values, or one state."""
    used = lengths.kept_lengths().config if config is None else config
    columns = {"keys and values": [used.kept_numbers("attention", n) for n in lengths.LENGTHS]}
    columns["state"] = [used.kept_numbers("recurrent", n) for n in lengths.LENGTHS]
    return View(
        key="memory",
        title="Kept for the next token",
        result=columns,
        chart=memory_figure(used, height=380),
        min_width=220,
        findings=(say.kept_at(used, lengths.LENGTHS[-1]),),
        table=lambda: pd.DataFrame({"tokens": lengths.LENGTHS, **columns}),
        code=(LengthConfig.kept_numbers,),
    )
