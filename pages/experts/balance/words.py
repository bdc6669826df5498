"""Words of the page on balance: each remedy's idea, and what to see."""

from typing import NamedTuple

from tfcore.views.experts.balance.measure import Remedy


class RemedyWords(NamedTuple):
    """The words on one remedy.

    Args:
        claim: what it does.
        see: what to see.
    """

    claim: str
    see: str


WORDS: dict[Remedy, RemedyWords] = {
    "loss": RemedyWords(
        claim="**An auxiliary loss for a balanced load.** $f_i$ is the share of the characters routed to expert $i$, "
        "$P_i$ the mean probability the router gave it. $N$ times the sum is 1 when either is uniform, which is no "
        "minimum: only $P_i$ has a gradient, and it pushes hardest against the crowded expert.",
        see="With a sufficient $\\alpha$ the collapse is stopped before it is complete. Too small a one comes too "
        "late; a large one makes the load uniform, whatever that costs in language-model loss: compare the held-out "
        "losses.",
    ),
    "capacity": RemedyWords(
        claim="**Each expert has a capacity: so many characters of a batch, and no more.** Those beyond it are "
        "dropped: no expert computes them, the residual stream carries them past the layer.",
        see="It bounds the load, not the router: that goes on sending characters to full experts (hatched), and these "
        "are dropped. A capacity bounds the cost of a collapse; it is used together with another method.",
    ),
    "noise": RemedyWords(
        claim="**Noise on the router's logits in training**, so that other experts are tried; and the importance loss "
        "asks that the experts' weights have equal sums over a batch.",
        see="Noise alone seldom prevents a collapse: the logits can grow until the noise no longer matters. The paper "
        "combines it with the importance loss; set its weight w to 0 to see noise alone. A balanced load is not yet "
        "specialisation: compare the held-out losses.",
    ),
    "experts": RemedyWords(
        claim="**Expert choice**: each expert takes the k characters with the highest probability for it, of the "
        "whole batch. The load is balanced by construction.",
        see="Balanced from the first step, but characters can be left out: some get several experts, some none. "
        "Whether one is taken depends on those after it, so in generation the routing differs from training: compare "
        "the held-out loss with the loss in generation, in the table.",
    ),
    "bias": RemedyWords(
        claim="**Every expert has a bias that counts for the choice alone.** After each step it goes up where too "
        "few characters came and down where too many did. No auxiliary loss has a gradient in the weights.",
        see="With a small step it begins like the training without a method; when the bias has grown as large as the "
        "lead of the crowded expert, others are chosen. The paper's step of 0.001 is meant for many thousand steps; "
        "300 are too few for it.",
    ),
}
