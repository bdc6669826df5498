"""Findings on the flow of information: where a prediction came from, and which heads three measures put first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.generation.sampling import Sampling
from tfcore.measures.answers import Answers
from tfcore.measures.effect_metric import Quantity, quantity_name
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.flow.measure.heads import Matrix
from tfcore.views.inside.flow.measure.passages import Passage
from tfcore.views.inside.flow.measure.routes import SMALLEST, Flow
from tfcore.views.inside.flow.measure.shares import Factors


def how_drawn(sampling: Sampling) -> str:
    """How the next token is drawn, in words; nothing where that is by the model's own probabilities."""
    if sampling == Sampling():
        return ""
    top_p = f", top-p {sampling.top_p:.2f}" if sampling.top_p < 1 else ""
    return f"temperature {sampling.temperature:.1f}{top_p}"


WIDEST = 5  # heads that are compared


def titled(name: str) -> str:
    """A head of a flow in a sentence, as in "head 2.5"; a mixer's name is a title."""
    return name if name.startswith("mixer") else f"head {name}"


def heads_beside(first: Flow, second: Flow, names: tuple[str, str]) -> Statement:
    """How many of the WIDEST heads that carry most in one text do so in another text."""
    here, there = ([one.head(*place) for place in _widest(one)] for one in (first, second))
    both = [name for name in here if name in there]
    return state(
        "heads beside",
        "Of the {count} heads that carry most for {first} ({heads}), {shared} {are} among the {count} of "
        "{second}{which}.",
        count=len(here),
        first=names[0],
        heads=", ".join(here),
        shared=len(both) or "none",
        are="is" if len(both) == 1 else "are",
        second=names[1],
        which=f": {', '.join(both)}" if both else "",
    )


def _widest(flow: Flow) -> list[tuple[int, int]]:
    """Layer and head of those that carry most."""
    order = np.argsort(-flow.carried, axis=None, kind="stable")[:WIDEST]
    return [(int(i) // flow.carried.shape[1], int(i) % flow.carried.shape[1]) for i in order]


@dataclass(frozen=True, slots=True)
class Story(Finding):
    """In a sentence, where a prediction, or a state, came from.

    Args:
        token, probability: the top prediction; None where the model has no language head.
        at: the token whose state it is.
        widest: the widest route from another token: layer.head, that token, its share; None where there is none.
        origins: the tokens whose embeddings most of the state is traced back to, with their shares.
        followed: share that is traced back at all.
        threshold: of the routes that are followed.
        edited: the heads that are multiplied.
        whole: what shares are of, as from `whole_of`.
        place: of the token that the prediction follows; None: it is the last.
    """

    token: str | None
    probability: float
    at: str
    widest: tuple[str, str, float] | None
    origins: tuple[tuple[str, float], ...]
    followed: float
    threshold: float
    edited: str
    whole: str = "the state"
    place: int | None = None

    @property
    def sentence(self) -> str:
        state = f"The state at '{visible(self.at)}'"
        told = state if self.token is None else f"'{visible(self.token)}', {self.probability:.0%}"
        if self.place is not None:
            told = f"After '{visible(self.at)}' ({self.place}): {told}"
        told += f" with {self.edited}" if self.edited else ""
        of_state = self.whole == "the state"
        told += ": " if of_state else f". Widths are shares of {self.whole}: "
        if self.widest is not None:
            head, source, share = self.widest
            of = " of the state" if of_state else ""
            one = "" if head.startswith("mixer") else " of one head"
            told += f"the widest ribbon{one} comes from '{visible(source)}' through {titled(head)}, {share:.1%}{of}. "
        else:
            above = f"{SMALLEST:.1%}" + (" and is above the threshold" if self.threshold else "")
            told += f"no head brings from another token what is at least {above}. "
        first = ", ".join(f"'{visible(token)}' {share:.0%}" for token, share in self.origins)
        told += f"Traced back to the embeddings: {first}"
        if not self.threshold:
            return f"{told}."
        lost = f"{1 - self.followed:.0%} is in routes below {self.threshold:.1%} of a sum, which are not followed"
        return f"{told}; {lost}."


def whole_of(toward: Sequence[str]) -> str:
    """The whole that shares of a flow are parts of, in words; arguments as pieces of text, see Flow."""
    if not toward:
        return "the state"
    above = f" above that of '{visible(toward[1])}'" if len(toward) > 1 else ""
    return f"what raises the logit of '{visible(toward[0])}'{above}"


def story(
    flow: Flow,
    tokens: Sequence[str],
    guess: str | None,
    probability: float,
    factors: Factors,
    toward: Sequence[str] = (),
    most: int = 3,
    *,
    is_last: bool = True,
) -> Story:
    """The widest route between two tokens of a traced state or logit, and the tokens it began at.

    Args:
        toward: those of the flow, as pieces of text.
        is_last: whether the prediction is the one at the end, whose token need not be named.
    """
    between = [route for route in flow.routes if route.query != route.key]
    widest = None
    if between:
        first = max(between, key=lambda route: route.share)
        widest = (flow.head(first.layer, first.head), tokens[first.key], first.share)
    order = flow.stream[0].argsort()[::-1][:most]
    origins = tuple((tokens[i], float(flow.stream[0, i])) for i in order if flow.stream[0, i] > 0)
    edited = ", ".join(f"{titled(flow.head(*place))} × {by:g}" for place, by in sorted(factors.items()))
    at, whole = tokens[flow.target], whole_of(toward)
    place = None if is_last else flow.target
    return Story(guess, probability, at, widest, origins, flow.followed, flow.threshold, edited, whole, place)


SMALL = 0.01  # nats or logits, below which no head is named for its effect


def explained_as(model: Transformer, passage: Passage, answers: Answers, quantity: Quantity | None) -> str:
    """The quantity that is explained, in words; without one (no language head) how near the state is to what it is."""
    if quantity is None:
        return f"the cosine of the state at '{visible(passage.tokens[passage.target])}' to what it is now"
    name = quantity_name(quantity, answers)
    if model.config.classes is not None and model.config.classes.place == "each":
        return f"{name} at place {passage.target}"
    match model.config.architecture:
        case "encoder":
            return name.replace("after the last token", f"at place {passage.target}")
        case "decoder" if passage.target < len(passage.tokens) - 1:
            after = f"after '{visible(passage.tokens[passage.target])}' ({passage.target})"
            return name.replace("after the last token", after)
    return name


@dataclass(frozen=True, slots=True)
class HeadMeasures(Finding):
    """The head that each measure puts first, as "2.5" (or a mixer, as "mixer 2"), with its value.

    Args:
        token: the next token.
        carried: share of the state that the head brought from other tokens.
        direct: share of the token's logit, above the mean of all logits, that it wrote itself; logits.
        effect: fall of the token's log-probability without it, nats; of the difference, logits.
        against: the token whose logit is taken off, where a difference of two is explained.
        is_exact: whether all effects are measured; some are estimated otherwise.
    """

    token: str
    carried: tuple[str, float]
    direct: tuple[str, float]
    effect: tuple[str, float]
    is_exact: bool
    against: str | None = None

    @property
    def names(self) -> int:
        """How many different heads come first; none by what is carried where nothing is."""
        return len({self.direct[0], self.effect[0], *([self.carried[0]] if self.carried[1] else [])})

    @property
    def sentence(self) -> str:
        how = "measured" if self.is_exact else "partly estimated"
        logit, what, unit = f"the logit of '{self.token}'", "its log-probability", "nats"
        if self.against is not None:
            logit += f" above that of '{self.against}'"
            what, unit = "that difference", "logits"
        heads = [titled(name) for name, _ in (self.carried, self.direct, self.effect)]
        carried = f"{heads[0].capitalize()} carries most of the state from token to token, {self.carried[1]:.0%}"
        if not self.carried[1]:
            carried = "No head carries anything from another token"
        first = f"{carried}; {heads[1]} writes most of {logit} itself, {self.direct[1]:+.2f}; "
        if self.effect[1] < SMALL:
            return f"{first}without any one of them {what} falls by less than {SMALL} {unit} ({how})."
        first += f"without {heads[2]} {what} falls most, by {self.effect[1]:.2f} {unit} ({how})."
        if self.names == 1:
            return f"{first} The {'three' if self.carried[1] else 'other two'} measures agree on the first head."
        return (
            f"{first} The measures name {'two' if self.names == 2 else 'three'} heads: what is carried need not be "
            "used, and a head can matter through what later heads make of it."
        )


def compare(
    token: str,
    carried: Matrix,
    direct: Matrix,
    effects: Matrix,
    *,
    is_exact: bool,
    against: str | None = None,
    mixers: int | None = None,
) -> HeadMeasures:
    """Which head each measure puts first; matrices as of the functions above, and mixers of the flow."""
    first = [_largest(values, mixers) for values in (carried, direct, effects)]
    return HeadMeasures(token, first[0], first[1], first[2], is_exact, against)


def _largest(values: Matrix, mixers: int | None) -> tuple[str, float]:
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return f"mixer {layer}" if head == mixers else f"{layer}.{head}", float(values[layer, head])
