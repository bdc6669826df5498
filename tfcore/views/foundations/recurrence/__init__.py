"""Recurrent networks beside a Transformer: the gradient that arrives, trainings of equal size, time, alignment.

A view of a training takes its settings, or the name of a task whose training ships.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import pandas as pd

from tfcore.charts.alike import Against
from tfcore.measures.timing import on_cpu
from tfcore.training import alike_loop
from tfcore.training.alike import Comparison
from tfcore.training.recurrent import alignment as aligning
from tfcore.training.recurrent import comparison, gradients, networks, side_by_side
from tfcore.training.recurrent import passes as timing
from tfcore.training.recurrent.alignment import LENGTHS, AlignmentConfig, AlignmentEvaluation, Order
from tfcore.training.recurrent.comparison import BEGIN, ComparisonConfig, TaskName
from tfcore.training.recurrent.gradients import Arriving, GradientConfig
from tfcore.training.recurrent.networks import KINDS, NAMES, NetworkConfig
from tfcore.training.recurrent.passes import PassConfig, Passes
from tfcore.training.recurrent.real_model import kept_real_gradient
from tfcore.views.alike import course_view, places_view
from tfcore.views.finding import state
from tfcore.views.foundations.recurrence import say
from tfcore.views.foundations.recurrence.draw import (
    PLACES,
    STYLES,
    alignment_figure,
    gradient_figure,
    length_figure,
    passes_figure,
)
from tfcore.views.kept import kept
from tfcore.views.view import View, view

HEIGHT = 340  # of two pictures side by side

arriving_of = kept(gradients.arriving_in, entries=128)


# ---- the gradient that arrives ----


@view
def gradient(of: GradientConfig | TaskName) -> View:
    """The gradient that arrives at the token d steps back, in a plain RNN, an LSTM and a Transformer of equal size, and
    in a real model.

    Args:
        of: how the networks begin; or the task that they were trained on.
    """
    if isinstance(of, GradientConfig):
        sizes = of.networks
        arriving = tuple(arriving_of(gradients.relevant(of, kind), kind) for kind in KINDS)
    else:
        sizes, arriving = GradientConfig().networks, comparison.kept_comparison(of).gradients
    real = kept_real_gradient()
    return View(
        key="gradient",
        title="The gradient that arrives",
        result=arriving,
        chart=gradient_figure(arriving, real, height=420),
        min_width=340,
        findings=(say.gradient_reach(arriving), say.real_reach(real)),
        table=lambda: _gradient_table(arriving),
        formula=(
            r"\begin{gathered} h_t = \tanh(W_x x_t + W_h h_{t-1} + b) \qquad "
            r"\frac{\partial h_t}{\partial h_{t-d}} = \prod_{k=0}^{d-1} "
            r"\mathrm{diag}\big(1 - h_{t-k}^2\big)\, W_h \\"
            r"c_t = f_t \odot c_{t-1} + i_t \odot g_t \qquad h_t = o_t \odot \tanh(c_t) \qquad "
            r"\left.\frac{\partial c_t}{\partial c_{t-d}}\right|_{\text{cell state alone}} = "
            r"\prod_{k=0}^{d-1} \mathrm{diag}(f_{t-k}) \end{gathered}"
        ),
        papers=(
            "The product of Jacobians, and when it vanishes: arXiv:1211.5063, equation 5 and section 2.1. LSTM: "
            "Hochreiter and Schmidhuber, Neural Computation 9(8), 1997; the forget gate and its bias: Gers, "
            "Schmidhuber and Cummins, Neural Computation 12(10), 2000. Networks: one layer of torch.nn.RNN, one of "
            "torch.nn.LSTM, and a Transformer of 2 layers of 4 heads. Rows: random letters of which one is marked and "
            f"asked for at the end; norms are means over {gradients.ROWS} rows, of the gradient in the embedding, "
            "for a gradient of the cross-entropy that is brought to norm 1 at the logits; float64. "
            f"{say.jacobian_products(arriving)} "
            f"{say.equal_sizes(sizes)} SmolLM2: {real.windows} windows of {len(real.measured)} tokens of "
            "the four standard texts of the page on heads, float32, measured once: "
            "`python -m tfcore.training recurrence`."
        ),
        terms=("recurrent neural network", "LSTM", "vanishing gradient"),
        code=(gradients.rnn_steps_back, gradients.lstm_steps_back, gradients.embedding_gradients),
    )


def _gradient_table(arriving: Sequence[Arriving]) -> pd.DataFrame:
    """Every curve, by distance."""
    columns: dict[str, Any] = {"distance": range(len(arriving[0].measured))}
    for one in arriving:
        columns |= {NAMES[one.kind]: one.measured}
        columns |= {} if one.product is None else {f"{NAMES[one.kind]}, product of Jacobians": one.product}
        columns |= {} if one.cell is None else {f"{NAMES[one.kind]}, cell state alone": one.cell}
    return pd.DataFrame(columns)


# ---- trained side by side ----


def _compared(of: ComparisonConfig | TaskName, so_far: Sequence[Comparison] | None) -> Comparison:
    if isinstance(of, str):
        return comparison.kept_comparison(of)
    return side_by_side.compared(of) if so_far is None else so_far[-1]


@view
def course(
    of: ComparisonConfig | TaskName, against: Against = "steps", *, so_far: Sequence[Comparison] | None = None
) -> View:
    """The loss of the three networks, trained on the same batches, against steps or seconds; and what the same training
    gives with other seeds.

    Args:
        of: a training; or the task of one that ships, with other seeds besides.
        so_far: what is known of the training, at least one look; None trains here and now.
    """
    compared = _compared(of, so_far)
    config = cast("ComparisonConfig", compared.config)
    sizes = say.equal_sizes(NetworkConfig(vocab_size=len(side_by_side.material(BEGIN[config.task]).names)))
    return course_view(
        compared,
        against,
        STYLES,
        HEIGHT,
        comparison.kept_repeats(of) if isinstance(of, str) else None,
        formula=(
            r"\text{RNN, LSTM: } h_t = f(x_t, h_{t-1}) \qquad \text{attention: } "
            r"o_t = \sum_{s \le t} \mathrm{softmax}_s\!\Big(\frac{q_t \cdot k_s}{\sqrt{d_k}}\Big)\, v_s"
        ),
        papers=(
            f"{sizes} All see the same batches, with AdamW, one peak learning rate, {alike_loop.WARMUP} steps of "
            f"warm-up, then a cosine, gradients clipped to norm {alike_loop.CLIP:g}; no rate was searched for any of "
            "them. Seconds are those of a network's own steps. Copying as a test of memory: arXiv:1410.5401; one item "
            "over a long distance: Hochreiter and Schmidhuber, Neural Computation 9(8), 1997; sums modulo a prime: "
            "arXiv:2201.02177. The kept trainings: `python -m tfcore.training recurrence`."
        ),
        terms=("recurrent neural network", "LSTM", "held-out loss"),
        code=(networks.RecurrentNetwork, alike_loop.train_alike, alike_loop.Trainee),
    )


@view
def by_place(of: ComparisonConfig | TaskName, *, so_far: Sequence[Comparison] | None = None) -> View:
    """The share of right tokens of each network, by the distance or the place of the answer. See course."""
    compared = _compared(of, so_far)
    task = cast("ComparisonConfig", compared.config).task
    repeats = comparison.kept_repeats(of) if isinstance(of, str) else None
    finding = say.accuracy_by_place(compared, task)
    return places_view(compared, repeats, STYLES, PLACES[task], finding, height=280)


# ---- time of one pass ----


@view
def passes(config: PassConfig | None = None, *, so_far: Sequence[Passes] | None = None) -> View:
    """Seconds of one pass over a sequence, by its length, for three networks with as many parameters.

    Args:
        config: what to measure, here and now; None for the measurement that ships.
        so_far: what is known of the measurement; None makes all of it.
    """
    if config is None:
        timed = timing.kept_passes()
    elif so_far is None:
        timed = timing.timed(config)
    else:
        timed = so_far[-1] if so_far else Passes(config, (), on_cpu())
    gain = say.parallel_gain(timed.points)
    return View(
        key="passes",
        title="Time of one pass",
        result=timed,
        chart=passes_figure(timed, height=400),
        min_width=340,
        findings=(gain,),
        described=state("passes", "Time of one pass against length. {gain}", gain=gain),
        note=f"One sequence, forward only, the quickest of up to {timing.REPEATS} runs, on {timed.machine}.",
        table=lambda: pd.DataFrame([asdict(point) for point in timed.points]),
        formula=(
            r"\text{sequential steps: } \underbrace{O(n)}_{\text{recurrent}} \ \text{ against }\ "
            r"\underbrace{O(1)}_{\text{attention}} \qquad \text{operations per layer: } O(n\,d^2) "
            r"\ \text{ against }\ O(n^2 d + n\,d^2)"
        ),
        papers=(
            "Sequential operations and operations per layer: arXiv:1706.03762, table 1; there without the n·d² of the "
            f"projections and feed-forward layers. {say.equal_sizes(timed.config.networks)} The kept "
            "measurement: `python -m tfcore.training recurrence`. How attention is made quicker for long sequences: "
            "see the page on long context."
        ),
        terms=("recurrent neural network", "long context"),
        code=(timing.time_passes, networks.RecurrentNetwork),
    )


# ---- attention over an encoder ----


def _aligned(of: AlignmentConfig | Order, so_far: Sequence[AlignmentEvaluation] | None) -> AlignmentEvaluation:
    if isinstance(of, str):
        return aligning.kept_alignment(of)
    return aligning.aligned(of) if so_far is None else so_far[-1]


@view
def lengths(
    of: AlignmentConfig | Order, attention: bool = True, *, so_far: Sequence[AlignmentEvaluation] | None = None
) -> View:
    """Right letters by length, of an encoder-decoder with one vector between, and of one with attention; and what the
    same training gives with other seeds.

    Args:
        of: a training; or the order of the letters in one that ships, with other seeds besides.
        attention: whether the network with attention is drawn as well.
        so_far: what is known of the training, at least one look; None trains here and now.
    """
    aligned = _aligned(of, so_far)
    spread = (say.alignment_spread(aligning.kept_alignment_repeats(of)),) if isinstance(of, str) else ()
    sides = {"one vector": aligned.plain.by_length} | ({"attention": aligned.attending.by_length} if attention else {})
    low, high = aligning.TRAINED
    return View(
        key="lengths",
        title="By length",
        result=aligned,
        chart=length_figure(aligned, attention, HEIGHT),
        min_width=320,
        findings=(say.right_by_length(aligned), *spread),
        table=lambda: pd.DataFrame({"letters": LENGTHS, **sides}),
        formula=(
            r"e_{ij} = v^\top \tanh(W_a s_{i-1} + U_a h_j) \qquad \alpha_{ij} = \mathrm{softmax}_j(e_{ij}) \qquad "
            r"c_i = \sum_j \alpha_{ij} h_j \qquad s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])"
        ),
        papers=(
            "arXiv:1409.0473, section 3 and appendix A: a bidirectional GRU reads, a GRU writes; here without the "
            "maxout layer before the output. Without attention c is the encoder's last two states for every letter. "
            "The network with attention has the alignment's weights besides: W, U and v. Both see the same rows of "
            f"{low} to {high} random letters, {aligning.ROWS} per step, with Adam at {aligning.LR:g}; right letters "
            f"are counted on {aligning.TESTED} rows of each length, free-running: the decoder reads what it wrote. "
            "The kept trainings: `python -m tfcore.training recurrence`."
        ),
        terms=("encoder-decoder", "cross-attention", "teacher forcing"),
        code=(aligning.additive_attention, aligning.EncoderDecoder, aligning.align),
    )


@view
def alignment(of: AlignmentConfig | Order, *, so_far: Sequence[AlignmentEvaluation] | None = None) -> View:
    """The weight on each letter that was read while each letter is written (arXiv:1409.0473, figure 3). See lengths."""
    aligned = _aligned(of, so_far)
    letters = say.aligned_letters(aligned, of if isinstance(of, str) else of.order)
    return View(
        key="alignment",
        title="The alignment",
        result=aligned,
        chart=alignment_figure(aligned, HEIGHT),
        min_width=240,
        cursor=True,
        findings=(letters,),
        described=state(
            "weights", "Attention weights of each letter written on each letter read. {letters}", letters=letters
        ),
        table=lambda: pd.DataFrame(aligned.alignment),
    )
