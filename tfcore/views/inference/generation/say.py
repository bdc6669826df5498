"""Findings on how a text is generated: one token, strategies, beam search, speculation, conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.one_text import piece_of
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import visible
from tfcore.tokenizers.chat import Role as Role
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.generation.measure.beam_tree import BeamTree
from tfcore.views.inference.generation.measure.beside import NextBeside
from tfcore.views.inference.generation.measure.conversation import ROLES, ConversationBits, Turn
from tfcore.views.inference.generation.measure.decoding import (
    NAMES,
    Strategy,
    WrittenToken,
    mean_log_probability,
    repeated,
)
from tfcore.views.inference.generation.measure.next_token import CUTTING, FILTERS, NextToken
from tfcore.views.inference.generation.measure.speculation import (
    Guess,
    Pass,
    SpeedUp,
    acceptance,
    expected_tokens,
    tokens_per_pass,
    verified,
)


def filter_cuts(drawn: NextToken) -> Statement:
    """The tokens left after each filter that is on and cuts, and both probabilities of the token that was drawn."""
    left = {name: int(drawn.left[i]) for i, name in enumerate(FILTERS) if name in CUTTING and drawn.is_on[i]}
    return state(
        "filter cuts",
        "Of {total:,} tokens {cuts}; drawn: '{token}', {by_model:.3f} by the model, {by_filters:.3f} after all "
        "filters.",
        total=drawn.probabilities.shape[1],
        cuts=", ".join(f"{name} leaves {count:,}" for name, count in left.items()) or "none is cut away",
        token=visible(drawn.names[drawn.place]),
        by_model=float(drawn.probabilities[0, drawn.place]),
        by_filters=float(drawn.probabilities[-1, drawn.place]),
    )


def beside(both: NextBeside, names: tuple[str, str]) -> Statement:
    """The most likely token of each of two distributions, and the probability that both put on the same tokens."""
    here, there = (max((p, i) for i, p in enumerate(row) if p == p) for row in (both.first, both.second))
    return state(
        "beside",
        "Most likely next: '{token}' ({p:percent}) for {first}, '{other}' ({q:percent}) for {second}. Both put "
        "{shared:percent} of the probability on the same tokens.",
        first=names[0],
        token=visible(both.tokens[here[1]]),
        p=here[0],
        second=names[1],
        other=visible(both.tokens[there[1]]),
        q=there[0],
        shared=both.shared,
    )


@dataclass(frozen=True, slots=True)
class Draw(Finding):
    """Where the random number falls.

    Args:
        u: the random number, from 0 to 1.
        token: the one on whose part of the line u falls, after all filters.
        start, length: of that part.
        unfiltered: the token on which u would fall without filters.
        is_cut: whether the filters rule that one out.
    """

    u: float
    token: str
    start: float
    length: float
    unfiltered: str
    is_cut: bool

    @property
    def sentence(self) -> str:
        cut = ", which the filters cut" if self.is_cut else ""
        return (
            f"The draw: u = {self.u:.4f} falls on '{visible(self.token)}', which covers {self.length:.4f} of the lower "
            f"line from about {self.start:.4f} on. Without filters the same u would fall on "
            f"'{visible(self.unfiltered)}'{cut}."
        )


def where_drawn(drawn: NextToken) -> Draw:
    """The part of the line that the drawn token covers: after all tokens that are more probable."""
    p = drawn.probabilities[-1]
    return Draw(
        u=drawn.u,
        token=drawn.names[drawn.place],
        start=float(p[p > p[drawn.place]].sum()),
        length=float(p[drawn.place]),
        unfiltered=drawn.names[drawn.unfiltered],
        is_cut=bool(p[drawn.unfiltered] == 0),
    )


def ranks(drawn: NextToken) -> Statement:
    """The ends of the model's distribution, and how many tokens the filters leave."""
    own = drawn.probabilities[0]
    return state(
        "ranks",
        "All {total:,} probabilities by rank, from {largest:.3f} to {smallest:.1e}; after the filters {left:,} are "
        "left.",
        total=len(own),
        largest=float(own.max()),
        smallest=float(own.min()),
        left=int(drawn.left[-1]),
    )


@dataclass(frozen=True, slots=True)
class TextScore(Finding):
    """How likely the model finds a text, and how often it repeats itself.

    Args:
        strategy: its name.
        mean: log-probability in nats per token.
        repeated: share of its groups of three tokens that occurred before.
    """

    strategy: str
    mean: float
    repeated: float

    @property
    def sentence(self) -> str:
        return f"Mean log-probability {self.mean:.2f} nats; repeated trigrams: {self.repeated:.0%}."


@dataclass(frozen=True, slots=True)
class TextScores(Finding):
    """The scores of all texts that have a token."""

    scores: tuple[TextScore, ...]

    @property
    def sentence(self) -> str:
        if not self.scores:
            return "Mean log-probability of the texts, in nats per token: nothing yet."
        means = "; ".join(f"{one.strategy} {one.mean:.2f}" for one in self.scores)
        again = "; ".join(f"{one.strategy} {one.repeated:.0%}" for one in self.scores)
        return f"Mean log-probability of the texts, in nats per token: {means}. Repeated trigrams: {again}."


def text_score(strategy: Strategy, tokens: Sequence[WrittenToken]) -> TextScore:
    """The score of one text."""
    return TextScore(NAMES[strategy], mean_log_probability(tokens), repeated([one.token for one in tokens]))


def text_scores(texts: Mapping[Strategy, Sequence[WrittenToken]]) -> TextScores:
    """The scores of the texts that are not empty, in their order."""
    return TextScores(tuple(text_score(name, tokens) for name, tokens in texts.items() if tokens))


SAME_SCORE = 1e-4  # nats: scores of the same text from two passes differ by rounding


@dataclass(frozen=True, slots=True)
class BeamSummary(Finding):
    """A search in numbers.

    Args:
        beams, steps: its width, and the tokens of its longest text.
        considered, kept: texts in the tree, and those of them that were kept or finished.
        best, greedy: scores.
        left_at: the step at which greedy's text was dropped; 0 if it never was.
    """

    beams: int
    steps: int
    considered: int
    kept: int
    best: float
    greedy: float
    left_at: int

    @property
    def sentence(self) -> str:
        fate = f"dropped at token {self.left_at}" if self.left_at else "never dropped"
        return (
            f"Beam search with {self.beams} beams over {self.steps} tokens: {self.considered} texts considered, "
            f"{self.kept} kept; the best scores {self.best:.3f}, greedy {self.greedy:.3f}; greedy's text is {fate}."
        )


def beam_summary(tree: BeamTree) -> BeamSummary:
    """Count the nodes by their state; the results are sorted, the best first."""
    kept = sum(node.state != "dropped" for node in tree.nodes)
    scores = tree.results[0].score, tree.greedy.score
    return BeamSummary(tree.beams, tree.steps, len(tree.nodes), kept, *scores, tree.left_at)


@dataclass(frozen=True, slots=True)
class BeamScores(Finding):
    """The best score beside greedy's; scores nearer to 0 are better.

    Args:
        finished: texts.
        best, greedy: scores.
    """

    finished: int
    best: float
    greedy: float

    @property
    def relation(self) -> str:
        if abs(self.best - self.greedy) < SAME_SCORE:
            return "the same as"
        return "better than" if self.best > self.greedy else "worse than"

    @property
    def sentence(self) -> str:
        return (
            f"Scores of {self.finished} finished texts, the best {self.best:.3f}, {self.relation} greedy's "
            f"{self.greedy:.3f}."
        )


def beam_scores(tree: BeamTree) -> BeamScores:
    """The best score and greedy's."""
    return BeamScores(len(tree.results), tree.results[0].score, tree.greedy.score)


def acceptance_found(passes: Sequence[Pass], guess: int) -> Statement:
    """State how many draft tokens of passes with up to `guess` of them were accepted, and what the formulas expect."""
    seen, alpha = verified(passes), acceptance(passes)
    return state(
        "acceptance",
        "{accepted} of {verified} verified draft tokens were accepted; the formula expects {expected:.2f} tokens per "
        "pass. The rule gives the model's distribution to within {error:.0e}.",
        accepted=sum(one.state == "accepted" for one in seen),
        verified=len(seen),
        alpha=alpha,
        per_pass=tokens_per_pass(passes),
        expected=expected_tokens(alpha, guess),
        error=max((one.error for one in seen), default=0.0),
    )


def draft_token(guess: Guess, at: int, token: str) -> Statement:
    """The probability with which the rule accepts a draft token.

    Args:
        at: its number among the verified ones.
        token: its text.
    """
    return state(
        "draft token",
        "Draft token {at}, '{token}': q = {q:.3f}, p = {p:.3f}, so it is accepted with probability {accepted:.2f}; "
        "{state}. Green + blue = p, over all tokens to within {error:.0e}; green sums to {overlap:.3f}.",
        at=at,
        token=visible(token),
        q=guess.q,
        p=guess.p,
        accepted=guess.accepted_with,
        state=guess.state,
        error=guess.error,
        overlap=guess.overlap,
    )


@dataclass(frozen=True, slots=True)
class Gain(Finding):
    """The speed-up by the draft, measured and by the formula."""

    speed_up: SpeedUp

    @property
    def words(self) -> tuple[str, str]:
        """The speed-up measured, and by the formula."""
        gain = self.speed_up
        return (f"{gain.ratio:.2f}", f"formula: {gain.expected:.2f}") if gain.runs else ("…", "timed next")

    @property
    def help(self) -> str:
        """How it was timed; empty where it was not yet."""
        if not self.speed_up.runs:
            return ""
        return (
            f"The fastest of {self.speed_up.runs} runs each, on this server. A draft token costs c = "
            f"{self.speed_up.cost:.2f} of a target token."
        )

    @property
    def sentence(self) -> str:
        gain = self.speed_up
        start = f"With α = {gain.alpha:.2f}. Measured: {gain.per_pass:.2f} tokens per pass"
        if not gain.runs:
            return f"{start}."
        advice = f"draft length {gain.best} would be best" if gain.best else "no draft length makes it faster"
        return (
            f"{start}, speed-up {gain.ratio:.2f}. A draft token costs c = {gain.cost:.2f} of a target token, "
            f"verifying {gain.guess + 1} tokens {gain.check:.2f} passes (the formula says 1). By the formula "
            f"{advice}."
        )


@dataclass(frozen=True, slots=True)
class RoleCosts(Finding):
    """The mean cost of a token by whose words it is part of.

    Args:
        counts: role -> how many tokens.
        means: role -> bits a token.
    """

    counts: dict[Role | None, int]
    means: dict[Role | None, float]

    @property
    def sentence(self) -> str:
        said = [
            f"{ROLES[role]}: {counted(self.counts[role], 'token')}, {mean:.1f} bits each"
            for role, mean in self.means.items()
        ]
        dearest = max(self.means, key=lambda role: self.means[role])
        return f"{'; '.join(said).capitalize()}. {ROLES[dearest].capitalize()} surprises the model most."


def role_costs(costs: ConversationBits) -> RoleCosts:
    """The costs by role, the first token left out."""
    owners = [token.role for token in costs.tokens[1:]]
    there = [role for role in ROLES if role in owners]
    bits = {role: [b for b, owner in zip(costs.bits.tolist(), owners, strict=True) if owner == role] for role in there}
    return RoleCosts(
        {role: len(of_role) for role, of_role in bits.items()},
        {role: sum(of_role) / len(of_role) for role, of_role in bits.items()},
    )


@dataclass(frozen=True, slots=True)
class AnswerEnd(Finding):
    """How the last answer came to its end.

    Args:
        tokens: of the answer.
        ended: the token that ended it, in words; empty where it was cut off.
        probability: that the model gave to the answer's tokens, in the mean of their logarithms.
    """

    tokens: int
    ended: str
    probability: float

    @property
    def sentence(self) -> str:
        count = counted(self.tokens, "token")
        end = f"ended by {self.ended}" if self.ended else "cut off at the limit that was set"
        if not self.tokens:
            return f"The answer is empty, {end}."
        return f"The last answer has {count}, each of probability {self.probability:.2f} in the mean, {end}."


def answer_end(tokenizer: Tokenizer, turn: Turn) -> AnswerEnd:
    """The end of a turn's answer."""
    ended = "" if turn.ended is None else piece_of(tokenizer, turn.ended)
    return AnswerEnd(len(turn.written), ended, float(np.exp(mean_log_probability(turn.written))))
