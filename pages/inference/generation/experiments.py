"""The experiments of the page on generation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.analysis.inference.beam_tree import BeamTree, beam_scores, beam_summary
from tfcore.analysis.inference.conversation import (
    AnswerEnd,
    ConversationBits,
    ConversationPlan,
    Turn,
    answer_end,
    conversation_bits,
    converse,
    role_costs,
    turns,
)
from tfcore.analysis.inference.decoding import (
    DecodingPlan,
    Strategy,
    Written,
    by_strategy,
    continue_beside,
    last_tokens,
    text_scores,
)
from tfcore.analysis.inference.next_token import NextToken, entropies, filter_cuts, next_token, ranks, where_drawn
from tfcore.analysis.inference.speculation import Guess, Pass, Timing, acceptance_found, draft_token, speed_up, watch
from tfcore.figures.inference.beam_tree import results_figure, tree_figure
from tfcore.figures.inference.conversation import conversation_figure
from tfcore.figures.inference.next_token import draw_figure, filters_figure, ranks_figure
from tfcore.figures.inference.speculation import acceptance_figure, gain_figure
from tfcore.figures.inference.text_likelihood import likelihood_figure
from tfcore.figures.shown import Shown
from tfcore.generation.draft_models import SingleTokenTable, early_exit
from tfcore.generation.sampling import Sampling
from tfcore.loading.special_tokens import SpecialTokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def sampled(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, sampling: Sampling, seed: int, drawn: int
) -> NextToken:
    """One token after a text, with the distribution after each filter."""
    return next_token(model, tokenizer, last_tokens(model, tokenizer, text, limit).ids, sampling, seed, drawn)


def one_token(found: NextToken) -> Shown:
    """One token, from the whole distribution through every filter to the draw."""
    return Shown(filters_figure(found, height=640), (filter_cuts(found),))


def where_u_falls(found: NextToken) -> Shown:
    """The probabilities laid end to end, and the random number that falls on one of them."""
    return Shown(draw_figure(found, height=210), (where_drawn(found),))


def by_rank(found: NextToken) -> Shown:
    """The whole distribution by rank, before and after the filters."""
    return Shown(ranks_figure(found, height=300), (ranks(found), entropies(found)))


def written_beside(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    sampling: Sampling,
    seed: int,
    new_tokens: int,
    stop_ids: tuple[int, ...],
) -> dict[Strategy, list[Written]]:
    """The texts of all strategies, each written to its end."""
    ids = tuple(last_tokens(model, tokenizer, text, limit).ids)
    plan = DecodingPlan(ids=ids, sampling=sampling, seed=seed, tokens=new_tokens, stop_ids=stop_ids)
    return by_strategy(list(continue_beside(model, plan)))


def strategies(texts: Mapping[Strategy, Sequence[Written]], new_tokens: int) -> Shown:
    """One text continued by several strategies: greedy, beam search, sampling with filters and without."""
    return Shown(likelihood_figure(texts, new_tokens, height=300), (text_scores(texts),))


@dataclass(frozen=True, slots=True)
class Conversation:
    """The end of a conversation: what every token cost, the tokens as they may stand in a figure, and how it ended."""

    bits: ConversationBits
    labels: tuple[str, ...]
    end: AnswerEnd


def conversation_costs(model: Transformer, tokenizer: Tokenizer, turn: Turn) -> Conversation:
    """What each token cost the model, up to the end of a turn."""
    bits = conversation_bits(model, turn)
    labels = tick_labels(tokenizer.tokens([token.id for token in bits.tokens]))
    return Conversation(bits, tuple(labels), answer_end(tokenizer, turn))


def talked(model: Transformer, tokenizer: Tokenizer, special: SpecialTokens, plan: ConversationPlan) -> Conversation:
    """A conversation, its answers written by the model, and what each of its tokens cost it."""
    last = turns(tokenizer, special, list(converse(model, tokenizer, special, plan)))[-1]
    return conversation_costs(model, tokenizer, last)


def conversation(found: Conversation) -> Shown:
    """A conversation with an instruct model, as the text it continues: what every token cost it."""
    return Shown(conversation_figure(found.bits, found.labels, height=300), (role_costs(found.bits), found.end))


def beams(tree: BeamTree) -> Shown:
    """Beam search: the most likely texts it can find, and greedy's beside them."""
    return Shown(tree_figure(tree, height=520), (beam_summary(tree),))


def scores(tree: BeamTree) -> Shown:
    """The scores of the texts that beam search found, and of greedy's."""
    return Shown(results_figure(tree, height=90 + 30 * len(tree.texts)), (beam_scores(tree),))


def speculated(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    blocks: int | None,
    guesses: int,
    temperature: float,
    new_tokens: int,
    seed: int,
) -> list[Pass | Timing]:
    """One text by speculative decoding, pass by pass, and how long it took.

    The draft is made of the model: its first blocks, or a table of its distribution after each single token.
    """
    draft = SingleTokenTable(model) if blocks is None else early_exit(model, blocks)
    ids = last_tokens(model, tokenizer, text, limit).ids
    return list(watch(model, draft, ids, Sampling(temperature=temperature), guesses, seed, new_tokens))


def speculative(steps: Sequence[Pass | Timing], guesses: int) -> Shown:
    """A draft guesses, the model checks, and the distribution stays the same (arXiv:2211.17192)."""
    passes = [step for step in steps if isinstance(step, Pass)]
    timings = [step for step in steps if isinstance(step, Timing)]
    gain = speed_up(passes, timings, guesses)
    return Shown(gain_figure(gain, height=400), (gain, acceptance_found(passes, guesses)))


def one_guess(guess: Guess, at: int, token: str, tokens: Sequence[str]) -> Shown:
    """One draft token under the rule: accepted drafts and residual draws add up to the model's distribution."""
    return Shown(acceptance_figure(guess, tick_labels(tokens), height=400), (draft_token(guess, at, token),))
