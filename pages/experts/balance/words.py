"""Words of the page on balance: each remedy's idea, formula, paper, and what it costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfcore import routing
from tfcore.analysis.experts.balance import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Of one remedy.

    Args:
        phrase: in a sentence.
        claim: what it does.
        formula: LaTeX.
        see: what to see.
        source: the paper.
        code: what computes it.
    """

    phrase: str
    claim: str
    formula: str
    see: str
    source: str
    code: Callable[..., Any]


WORDS: dict[Remedy, Words] = {
    "loss": Words(
        phrase="with the auxiliary loss",
        claim="**An auxiliary loss for a balanced load.** $f_i$ is the share of the characters routed to expert $i$, "
        "$P_i$ the mean probability the router gave it. $N$ times the sum is 1 when either is uniform, which is no "
        "minimum: only $P_i$ has a gradient, and it pushes hardest against the crowded expert.",
        formula=r"L = L_{\mathrm{CE}} + \alpha\, N \sum_{i=1}^{N} f_i P_i",
        see="With a sufficient $\\alpha$ the collapse is stopped before it is complete. Too small a one comes too "
        "late; a large one makes the load uniform, whatever that costs in language-model loss: compare the held-out "
        "losses.",
        source="arXiv:2101.03961, equations 4 to 6, with α = 0.01",
        code=routing.load_balancing_loss,
    ),
    "capacity": Words(
        phrase="with a capacity",
        claim="**Each expert has a capacity: so many characters of a batch, and no more.** Those beyond it are "
        "dropped: no expert computes them, the residual stream carries them past the layer.",
        formula=r"\mathrm{capacity} = c\,\frac{\mathrm{characters\ of\ the\ batch}}{N}",
        see="It bounds the load, not the router: that goes on sending characters to full experts (hatched), and these "
        "are dropped. A capacity bounds the cost of a collapse; it is used together with another method.",
        source="arXiv:2006.16668, section 2.2; the factor c: arXiv:2101.03961, equation 3",
        code=routing.over_capacity,
    ),
    "noise": Words(
        phrase="with noise",
        claim="**Noise on the router's logits in training**, so that other experts are tried; and the importance loss "
        "asks that the experts' weights have equal sums over a batch.",
        formula=r"p = \mathrm{softmax}(W_r x + \sigma\,\epsilon),\ \epsilon \sim \mathcal{N}(0, 1)"
        r"\qquad L = L_{\mathrm{CE}} + w\,\mathrm{CV}\Big(\sum_x p_i(x)\,[i\ \mathrm{chosen}]\Big)^{2}",
        see="Noise alone seldom prevents a collapse: the logits can grow until the noise no longer matters. The paper "
        "combines it with the importance loss; set its weight w to 0 to see noise alone. A balanced load is not yet "
        "specialisation: compare the held-out losses.",
        source="arXiv:1701.06538, equations 4, 6 and 7, with one fixed σ in place of a learned one, and w = 0.1",
        code=routing.importance_loss,
    ),
    "experts": Words(
        phrase="where experts choose",
        claim="**Expert choice**: each expert takes the k characters with the highest probability for it, of the "
        "whole batch. The load is balanced by construction.",
        formula=r"k = \frac{c \cdot \mathrm{characters\ of\ the\ batch}}{N},\qquad "
        r"\mathrm{expert}\ i\ \mathrm{takes}\ \mathrm{top}_k\big(p_i\big)",
        see="Balanced from the first step, but characters can be left out: some get several experts, some none. "
        "Whether one is taken depends on those after it, so in generation the routing differs from training: compare "
        "the held-out loss with the loss in generation, in the table.",
        source="arXiv:2202.09368, section 3.2",
        code=routing.choose_tokens,
    ),
    "bias": Words(
        phrase="with the bias",
        claim="**Every expert has a bias that counts for the choice alone.** After each step it goes up where too "
        "few characters came and down where too many did. No auxiliary loss has a gradient in the weights.",
        formula=r"b_i \leftarrow b_i + u \cdot \mathrm{sign}(\bar{c} - c_i),\qquad "
        r"\mathrm{choose}\ \arg\max_i\,(p_i + b_i)",
        see="With a small step it begins like the training without a method; when the bias has grown as large as the "
        "lead of the crowded expert, others are chosen. The paper's step of 0.001 is meant for many thousand steps; "
        "300 are too few for it.",
        source="arXiv:2408.15664, equation 3 and algorithm 1; there with a sigmoid in place of the softmax",
        code=routing.update_balance_bias_,
    ),
}
