"""How a model continues a text: one token, decoding strategies, beam search, speculation, a conversation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import pandas as pd

from tfcore.charts.before_after import before_after
from tfcore.generation import beam, draft_models
from tfcore.generation import sampling as library
from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import accept, outcome, residual
from tfcore.loading.special_tokens import SpecialTokens
from tfcore.measures.one_text import piece_of, pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers import chat
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.beside import ids_of, legend_of, names_of
from tfcore.views.finding import state
from tfcore.views.inference.generation import say
from tfcore.views.inference.generation.draw.beam_tree import results_figure, tree_figure
from tfcore.views.inference.generation.draw.conversation import conversation_figure
from tfcore.views.inference.generation.draw.next_token import draw_figure, filters_figure, ranks_figure
from tfcore.views.inference.generation.draw.speculation import acceptance_figure, gain_figure
from tfcore.views.inference.generation.draw.text_likelihood import likelihood_figure
from tfcore.views.inference.generation.measure import beam_tree, decoding, next_token, speculation
from tfcore.views.inference.generation.measure.beam_tree import BeamTree
from tfcore.views.inference.generation.measure.beside import NextBeside
from tfcore.views.inference.generation.measure.beside import next_beside as measured_beside
from tfcore.views.inference.generation.measure.conversation import (
    ROLES,
    ConversationBits,
    ConversationPlan,
    Turn,
    conversation_bits,
    converse,
    turns,
)
from tfcore.views.inference.generation.measure.decoding import DecodingPlan, Strategy, WrittenToken
from tfcore.views.inference.generation.measure.next_token import FILTERS, NextToken
from tfcore.views.inference.generation.measure.speculation import LONGEST, Pass, Timing
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import Metric, View, view

TOKENS = 128  # of a text, at most: the last ones, because they are continued
BESIDE = 7  # most likely tokens of each of two distributions
MOST = 24  # tokens that can be drawn one after another
DRAFT_FORMULA = (
    r"x \sim q \text{ is accepted with probability } \min\!\Big(1, \frac{p(x)}{q(x)}\Big), \text{ else } "
    r"x' \sim \frac{\max(0, p - q)}{\sum \max(0, p - q)} \quad\Rightarrow\quad x \sim p"
)

last_tokens_of = kept(decoding.last_tokens, entries=64)


# ---- one token ----


def _first(source: Source, ids: tuple[int, ...], sampling: Sampling, seed: int) -> NextToken:
    return next_token.first_token(opened(source)[1], ids, logits_after(source, ids), sampling, seed)


continuation_of = kept(next_token.Continuation, entries=4)  # kept open: the next token takes one pass of the model
logits_after = kept(next_token.logits_after, entries=32)  # all but the slider of what was drawn leave them as they are
first_of = kept(_first, entries=128)


def most_drawn(model: Source, ids: Sequence[int]) -> int:
    """How many tokens can be drawn one after another behind a text."""
    return int(min(MOST, opened(model)[0].config.max_seq_len - len(ids) - 1))


def token_of(model: Source, text: str, sampling: Sampling, seed: int, drawn: int) -> NextToken:
    """One token after a text, with the distribution after each filter. See one_token."""
    ids = tuple(last_tokens_of(model, text, TOKENS).ids)
    if not drawn:
        return first_of(model, ids, sampling, seed)
    return continuation_of(model, ids, sampling, seed, most_drawn(model, ids) + 1).token(drawn)


@view
def one_token(model: Source, text: str, sampling: Sampling, seed: int, drawn: int = 0) -> View:
    """One token, from the whole distribution through every filter to the draw.

    Args:
        model: any decoder with its tokenizer.
        text: of which the last TOKENS tokens are read.
        sampling: the filters.
        seed: of all draws.
        drawn: tokens that are drawn before it, MOST at most.
    """
    guess = token_of(model, text, sampling, seed, drawn)
    tokenizer = opened(model)[1]
    return View(
        key="filters",
        title="The filters",
        result=guess,
        chart=filters_figure(guess),
        findings=(say.filter_cuts(guess),),
        note=f"Of shape {guess.order.shape} each; lengths are square roots of probabilities.",
        table=lambda: pd.DataFrame(
            {
                "id": guess.order,
                "token": tokenizer.tokens(guess.order.tolist()),
                **dict(zip(FILTERS, guess.probabilities, strict=True)),
            }
        ),
        min_width=540,
        formula=(
            r"p_i = \frac{e^{x_i / T}}{\sum_j e^{x_j / T}}, \qquad "
            r"\text{token} = \min\Big\{i : \textstyle\sum_{j \le i} p_j > u\Big\}, \quad u \sim \mathrm{U}[0, 1)"
        ),
        papers=(
            "Temperature: arXiv:1503.02531, eq. 1. Top-k: arXiv:1805.04833. Top-p: arXiv:1904.09751, eq. 2. Min-p: "
            "arXiv:2407.01082. Repetition penalty: arXiv:1909.05858, section 4.1, with negative scores multiplied."
        ),
        code=(
            library.temperature,
            library.top_k,
            library.top_p,
            library.min_p,
            library.repetition_penalty,
            library.pick,
        ),
    )


def _next_beside(first: Reading, second: Reading) -> NextBeside:
    ids = [tuple(last_tokens_of(one.model, one.text, TOKENS).ids) for one in (first, second)]
    here, there = (
        logits_after(one.model, own).softmax(-1).cpu().numpy() for one, own in zip((first, second), ids, strict=True)
    )
    return measured_beside(here, there, ids_of(first.model), ids_of(second.model), BESIDE)


next_beside_of = kept(_next_beside, entries=64)


@view
def beside(first: Reading, second: Reading) -> View:
    """The next token after two texts, or after one text in two models: the model's own probabilities, unfiltered.

    Args:
        first, second: texts of which the last TOKENS tokens are read, each by a decoder.
    """
    both = next_beside_of(first, second)
    return View(
        key="beside",
        title="The next token, beside another",
        result=both,
        chart=before_after(tick_labels(both.tokens), both.first, both.second, legend_of(first, second)),
        findings=(say.beside(both, names_of(first, second)),),
        table=lambda: pd.DataFrame(
            dict(zip(("token", *names_of(first, second)), (both.tokens, both.first, both.second), strict=True))
        ),
        min_width=340,
        code=(measured_beside,),
    )


@view
def where_u_falls(model: Source, text: str, sampling: Sampling, seed: int, drawn: int = 0) -> View:
    """The probabilities laid end to end, and the random number that falls on one of them. See one_token."""
    guess = token_of(model, text, sampling, seed, drawn)
    return View(
        key="draw",
        title="The draw",
        result=guess,
        chart=draw_figure(guess, height=210),
        findings=(say.where_drawn(guess),),
        note="Grey: cut away.",
        min_width=340,
    )


@view
def by_rank(model: Source, text: str, sampling: Sampling, seed: int, drawn: int = 0) -> View:
    """The whole distribution by rank, before and after the filters. See one_token."""
    guess = token_of(model, text, sampling, seed, drawn)
    return View(
        key="ranks",
        title="The ranks",
        result=guess,
        chart=ranks_figure(guess, height=300),
        findings=(say.ranks(guess),),
    )


def entropy_numbers(guess: NextToken) -> tuple[Metric, ...]:
    """How much the filters narrow the distribution of a token."""
    before, after = guess.entropy[[0, -1]].tolist()
    kept_share = guess.probabilities[0][guess.probabilities[-1] > 0].sum()
    equally = "2 to that power: the number of equally likely tokens with the same entropy."
    return (
        Metric("Entropy of the model's distribution", f"{before:.2f} bits", help=equally),
        Metric("Entropy after all filters", f"{after:.2f} bits"),
        Metric("The model's probability of what is left", f"{kept_share:.1%}"),
    )


# ---- strategies side by side ----


@view
def strategies(
    model: Source,
    text: str,
    sampling: Sampling,
    seed: int,
    tokens: int,
    stop_ids: tuple[int, ...],
    *,
    so_far: Sequence[tuple[Strategy, WrittenToken] | None] | None = None,
) -> View:
    """One text continued by several strategies: greedy, beam search, sampling with filters and without.

    Args:
        model: any decoder with its tokenizer.
        text: of which the last TOKENS tokens are read.
        sampling: the filters of one of the strategies.
        seed: of all draws.
        tokens: how many each strategy writes at most.
        stop_ids: each of them ends a text.
        so_far: what was written until now; None writes all texts to their end.
    """
    network, tokenizer = opened(model)
    if so_far is None:
        ids = tuple(last_tokens_of(model, text, TOKENS).ids)
        plan = DecodingPlan(ids=ids, sampling=sampling, seed=seed, tokens=tokens, stop_ids=stop_ids)
        so_far = list(decoding.continue_beside(network, plan))
    texts = decoding.by_strategy(so_far)
    scores = say.text_scores(texts)
    return View(
        key="likelihood",
        title="How likely the texts are",
        result=texts,
        chart=likelihood_figure(texts, tokens, height=300),
        findings=(
            state("likelihood", "How likely the model finds each text up to each token. {scores}", scores=scores),
        ),
        described=scores,
        table=lambda: _written_table(tokenizer, texts),
        formula=r"\overline{\log p} = \frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})",
        code=(decoding.continue_beside, stream, beam.beam_steps, decoding.repeated),
    )


def _written_table(tokenizer: Tokenizer, texts: dict[Strategy, list[WrittenToken]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (name, i, piece, one.probability, one.rank, one.drawn_with)
            for name, ids in texts.items()
            for i, (one, piece) in enumerate(zip(ids, tokenizer.tokens([one.token for one in ids]), strict=True))
        ],
        columns=["strategy", "place", "token", "probability", "rank", "drawn with"],
    )


# ---- beam search ----


def _sentence_ends(source: Source) -> tuple[int, ...]:
    return beam_tree.sentence_ends(opened(source)[1])


def _tree(
    source: Source, text: str, beams: int, tokens: int, length_penalty: float, stop_ids: tuple[int, ...]
) -> BeamTree:
    model, tokenizer = opened(source)
    greedy = greedy_behind(source, text, TOKENS, tokens, stop_ids)
    return beam_tree.search_text(model, tokenizer, text, TOKENS, beams, tokens, length_penalty, stop_ids, greedy)


sentence_ends = kept(_sentence_ends, entries=8)
greedy_behind = kept(beam_tree.greedy_behind, entries=64)
tree_of = kept(_tree, entries=64)


@view
def beams(
    model: Source, text: str, width: int, tokens: int, length_penalty: float, stop_ids: tuple[int, ...] = ()
) -> View:
    """Beam search: the most likely texts it can find, and greedy's beside them.

    Args:
        model: any decoder with its tokenizer.
        text: of which the last TOKENS tokens are read.
        width: texts that are kept at each step.
        tokens: of a text, at most.
        length_penalty: the power of the length by which a score is divided.
        stop_ids: each of them ends a text.
    """
    tree, tokenizer = tree_of(model, text, width, tokens, length_penalty, stop_ids), opened(model)[1]
    return View(
        key="tree",
        title="The tree",
        result=tree,
        chart=tree_figure(tree, height=520),
        findings=(say.beam_summary(tree),),
        note="Framed: finished.",
        table=lambda: pd.DataFrame(
            {
                "step": [node.step for node in tree.nodes],
                "rank": [node.rank for node in tree.nodes],
                "text": [tokenizer.decode(list(node.ids)) for node in tree.nodes],
                "probability": [node.probability for node in tree.nodes],
                "log p": [node.score for node in tree.nodes],
                "state": [node.state for node in tree.nodes],
            }
        ),
        min_width=max(340, 100 * tree.steps),
        formula=r"\mathrm{score}(y) = \frac{1}{|y|^{\alpha}} \sum_{i=1}^{|y|} \log p(y_i \mid \text{text}, y_{<i})",
        papers="Length penalty: after arXiv:1609.08144, eq. 14, with the plain length, as in most libraries",
        code=(beam.beam_steps, beam_tree.tree_nodes),
    )


@view
def scores(
    model: Source, text: str, width: int, tokens: int, length_penalty: float, stop_ids: tuple[int, ...] = ()
) -> View:
    """The scores of the texts that beam search found, and of greedy's. See beams."""
    tree = tree_of(model, text, width, tokens, length_penalty, stop_ids)
    return View(
        key="results",
        title="The scores",
        result=tree,
        chart=results_figure(tree, height=90 + 30 * len(tree.texts)),
        findings=(say.beam_scores(tree),),
        note="Nearer to 0 is better.",
    )


# ---- speculative decoding ----

draft_of = kept(speculation.draft_of, entries=8)


@view
def speculative(
    model: Source,
    text: str,
    blocks: int | None,
    guesses: int,
    temperature: float,
    tokens: int,
    seed: int,
    *,
    so_far: Sequence[Pass | Timing] | None = None,
) -> View:
    """A draft guesses, the model checks, and the distribution stays the same (arXiv:2211.17192).

    Args:
        model: any decoder with its tokenizer.
        text: of which the last TOKENS tokens are read.
        blocks: of the model, the first, which are the draft; None for a table of its distribution after each single
            token.
        guesses: tokens that the draft proposes for each pass.
        temperature: of the sampling.
        tokens: how many are written at most.
        seed: of all draws.
        so_far: the passes and times until now; None writes the text and times it.
    """
    steps = list(_watched(model, text, blocks, guesses, temperature, tokens, seed)) if so_far is None else so_far
    passes = [step for step in steps if isinstance(step, Pass)]
    gain = speculation.speed_up(passes, [step for step in steps if isinstance(step, Timing)], guesses)
    return View(
        key="worth",
        title="What the draft brings",
        result=gain,
        chart=gain_figure(gain, height=400),
        findings=(say.Gain(gain), say.acceptance_found(passes, guesses)),
        table=lambda: pd.DataFrame({"draft length": range(LONGEST + 1), **gain.curves}),
        formula=DRAFT_FORMULA,
        papers=(
            "arXiv:2211.17192: algorithm 1, eq. 1 (tokens per pass), theorem 3.8 (speed-up), appendix A.1 (same "
            "distribution); arXiv:2302.01318. Draft models are made of the model itself: its first blocks with its own "
            "final norm and unembedding, not trained for it (early exit), or a table of its next-token distribution "
            "after each single token (bigrams)."
        ),
        code=(accept, residual, outcome, draft_models.early_exit, speculation.expected_speed_up),
    )


@view
def one_guess(
    model: Source,
    text: str,
    blocks: int | None,
    guesses: int,
    temperature: float,
    tokens: int,
    seed: int,
    at: int,
    *,
    so_far: Sequence[Pass | Timing] | None = None,
) -> View:
    """One draft token under the rule: accepted drafts and residual draws add up to the model's distribution.

    Args:
        at: its number among those that were verified; the last of them where there are fewer. For the others see
            speculative.
    """
    if so_far is None:
        watched = _watched(model, text, blocks, guesses, temperature, tokens, seed)
        so_far = list(takewhile(lambda step: isinstance(step, Pass), watched))
    verified, tokenizer = speculation.verified([one for one in so_far if isinstance(one, Pass)]), opened(model)[1]
    at = min(at, len(verified) - 1)
    guess = verified[at]
    pieces = tokenizer.tokens(guess.tokens.tolist())
    return View(
        key="rule",
        title="One draft token",
        result=guess,
        chart=acceptance_figure(guess, tick_labels(pieces), height=400),
        findings=(say.draft_token(guess, at, piece_of(tokenizer, guess.token)),),
        table=lambda: pd.DataFrame({"token": pieces, "p": guess.p_all, "q": guess.q_all}),
    )


def _watched(
    model: Source, text: str, blocks: int | None, guesses: int, temperature: float, tokens: int, seed: int
) -> Iterator[Pass | Timing]:
    ids = last_tokens_of(model, text, TOKENS).ids
    draft, sampling = draft_of(model, blocks), Sampling(temperature=temperature)
    return speculation.watch(opened(model)[0], draft, ids, sampling, guesses, seed, tokens)


def speculation_numbers(steps: Sequence[Pass | Timing], guesses: int) -> tuple[Metric, ...]:
    """The measurements of speculation, as four numbers."""
    passes = [step for step in steps if isinstance(step, Pass)]
    gain = say.Gain(speculation.speed_up(passes, [step for step in steps if isinstance(step, Timing)], guesses))
    accepted = say.acceptance_found(passes, guesses).values
    help_alpha = "Of those that were verified. α: acceptance rate, the mean over these positions of Σ min(p, q)"
    help_error = "Largest |min(p, q) + residual draw − p|. float32 rounds at about 1e-7"
    return (
        Metric(
            "Accepted draft tokens",
            f"{accepted['accepted']} of {accepted['verified']}",
            f"expected: α = {accepted['alpha']:.2f}",
            help_alpha,
        ),
        Metric(
            "Tokens per pass",
            f"{accepted['per_pass']:.2f}",
            f"formula: {accepted['expected']:.2f}",
            "(1 − α^(γ+1)) / (1 − α)",
        ),
        Metric("Speed-up", *gain.words, gain.help),
        Metric(
            "Error of the sum", f"{accepted['error']:.0e}", f"{accepted['verified']} places, all tokens", help_error
        ),
    )


# ---- a conversation ----


@dataclass(frozen=True, slots=True)
class Conversation:
    """The end of a conversation: what every token cost, the tokens as they may stand in a figure, and how it ended."""

    bits: ConversationBits
    labels: tuple[str, ...]
    end: say.AnswerEnd


def conversation_costs(model: Transformer, tokenizer: Tokenizer, turn: Turn) -> Conversation:
    """The cost of each token for the model, up to the end of a turn."""
    bits = conversation_bits(model, turn)
    labels = tick_labels(pieces_of(tokenizer, [token.id for token in bits.tokens]))
    return Conversation(bits, tuple(labels), say.answer_end(tokenizer, turn))


costs_of = kept(conversation_costs, entries=32)


@view
def conversation(model: Source, special: SpecialTokens, plan: ConversationPlan, *, so_far: Turn | None = None) -> View:
    """A conversation with an instruct model, as the text it continues: what every token cost it.

    Args:
        model: any decoder that was trained to have conversations, with its tokenizer.
        special: its special tokens, and its chat template.
        plan: what is said, and how the answers are written.
        so_far: the last turn; None lets the model answer every one.
    """
    network, tokenizer = opened(model)
    if so_far is None:
        so_far = turns(tokenizer, special, list(converse(network, tokenizer, special, plan)))[-1]
    costs = costs_of(model, so_far)
    bits = costs.bits
    return View(
        key="conversation",
        title="The conversation as the model reads it",
        result=costs,
        chart=conversation_figure(bits, costs.labels, height=300),
        findings=(say.role_costs(bits), costs.end),
        table=lambda: pd.DataFrame(
            {
                "token": tokenizer.tokens([token.id for token in bits.tokens[1:]]),
                "role": [ROLES[token.role] for token in bits.tokens[1:]],
                "bits": bits.bits,
            }
        ),
        min_width=560,
        code=(chat.render, chat.conversation, converse),
    )
