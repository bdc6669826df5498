"""Words of the page on balance: each remedy's idea, formula, paper, and what it costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfcore import routing
from tfcore.analysis.balance import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Of one remedy.

    Args:
        name: on its button, and in a figure.
        phrase: in a sentence.
        claim: what it does.
        formula: LaTeX.
        see: what to see.
        source: the paper.
        code: what computes it.
    """

    name: str
    phrase: str
    claim: str
    formula: str
    see: str
    source: str
    code: Callable[..., Any]


NONE = "no remedy"
WORDS: dict[Remedy, Words] = {
    "loss": Words(
        name="auxiliary loss",
        phrase="with the auxiliary loss",
        claim="**A second loss asks for an even load.** $f_i$ is the share of the letters that went to expert $i$, "
        "$P_i$ the mean probability the router gave it. The sum is smallest when both are even; only $P_i$ has a "
        "gradient, and it pushes hardest against the crowded expert.",
        formula=r"L = L_{\mathrm{letters}} + \alpha\, N \sum_{i=1}^{N} f_i P_i",
        see="The takeover is stopped before it is complete, within some fifty steps. Too little $\\alpha$ comes too "
        "late; a large one makes the load even, but the router then cares more for evenness than for the letters.",
        source="arXiv:2101.03961, equations 4 to 6, with α = 0.01",
        code=routing.load_balancing_loss,
    ),
    "capacity": Words(
        name="capacity",
        phrase="with a capacity",
        claim="**Each expert has room for so many letters of a batch, and no more.** Those that come later are "
        "dropped: no expert computes them, the residual stream carries them past the layer.",
        formula=r"\mathrm{room} = c\,\frac{\mathrm{letters\ of\ the\ batch}}{N}",
        see="It caps the work, not the wish. The router goes on sending letters to full experts (hatched), which "
        "learn nothing there, and the loss pays for it. A capacity bounds the cost of a collapse; it is used "
        "together with one of the other remedies.",
        source="arXiv:2006.16668, section 2.2; the factor c: arXiv:2101.03961, equation 3",
        code=routing.over_capacity,
    ),
    "noise": Words(
        name="noise",
        phrase="with noise",
        claim="**The router's scores are shaken in training**, so that others are tried, too; and the importance "
        "loss asks that the experts' weights add up to alike sums over a batch.",
        formula=r"p = \mathrm{softmax}(W_r x + \sigma\,\epsilon),\ \epsilon \sim \mathcal{N}(0, 1)"
        r"\qquad L = L_{\mathrm{letters}} + w\,\mathrm{CV}\Big(\sum_x p_i(x)\,[i\ \mathrm{chosen}]\Big)^{2}",
        see="Noise alone does not stop the takeover: the scores grow until the noise no longer matters. That is why "
        "the paper that brought the noise brought a loss with it; set its weight w to 0 to see. With w = 0.1 the load "
        "is even at once. But an even load is not yet a division of labour: look at what the loss gains from it.",
        source="arXiv:1701.06538, equations 4, 6 and 7, with one fixed σ in place of a learned one, and w = 0.1",
        code=routing.importance_loss,
    ),
    "experts": Words(
        name="expert choice",
        phrase="where experts choose",
        claim="**The experts choose their letters**: each takes the k with the highest probability for it, of the "
        "whole batch. The load is even by construction.",
        formula=r"k = \frac{c \cdot \mathrm{letters\ of\ the\ batch}}{N},\qquad "
        r"\mathrm{expert}\ i\ \mathrm{takes}\ \mathrm{top}_k\big(p_i\big)",
        see="Perfectly even from the first step, and now letters can be left out: some get several experts, some "
        "none. Whether a letter is taken depends on those after it. So a model that writes letter by letter cannot "
        "do what it was trained to: compare its held-out loss with the loss as it writes, in the table.",
        source="arXiv:2202.09368, section 3.2",
        code=routing.choose_tokens,
    ),
    "bias": Words(
        name="loss-free bias",
        phrase="with the bias",
        claim="**Every expert has a bias that counts for the choice alone.** After each step it goes up where too "
        "few letters came and down where too many did. No second loss pulls at the weights.",
        formula=r"b_i \leftarrow b_i + u \cdot \mathrm{sign}(\bar{c} - c_i),\qquad "
        r"\mathrm{choose}\ \arg\max_i\,(p_i + b_i)",
        see="First the takeover as without a remedy; then the bias has grown as large as the lead of the winner, and "
        "the load tips over to the others. The paper's step of 0.001 is made for many thousand steps; 300 "
        "are too few for it.",
        source="arXiv:2408.15664, equation 3 and algorithm 1; there with a sigmoid in place of the softmax",
        code=routing.update_balance_bias_,
    ),
}
