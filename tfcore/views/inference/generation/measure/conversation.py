"""A conversation with a model that was trained to have one: its turns as tokens, its answers as they are written, and
what each token costs the model.

An answer follows from what was said, the settings and the seed, so a conversation is its user's turns: the answers are
written again wherever they are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.loading.special_tokens import SpecialTokens
from tfcore.measures.text_loss import surprisal
from tfcore.model import Transformer
from tfcore.tokenizers.chat import ChatError, ChatToken, Message, conversation
from tfcore.tokenizers.chat import Role as Role
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inference.generation.measure.decoding import WrittenToken, written_token

ROLES: dict[Role | None, str] = {
    None: "the template",
    "system": "the system",
    "user": "the user",
    "assistant": "the assistant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPlan:
    """The plan of a conversation: what is said, and how the answers are written.

    Args:
        system: an instruction before all turns; empty: none, for which a template may put one of its own.
        said: the user's turns.
        sampling, seed: of the answers.
        tokens: of an answer at most.
    """

    system: str
    said: tuple[str, ...]
    sampling: Sampling
    seed: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the user's and the answer to it, as far as it is written.

    Args:
        read: the tokens before the answer, earlier turns included.
        written: the answer's, without the token that ends it.
        ended: the token that ended it; None where it was cut off, or is not yet at its end.
        answer: its text.
    """

    read: tuple[ChatToken, ...]
    written: tuple[WrittenToken, ...] = ()
    ended: int | None = None
    answer: str = ""


Step = tuple[int, tuple[ChatToken, ...] | WrittenToken]


def converse(
    model: Transformer, tokenizer: Tokenizer, special: SpecialTokens, plan: ConversationPlan
) -> Iterator[Step]:
    """The number of the turn with the tokens before its answer, and then with each token of the answer.

    Raises:
        ChatError: the template does not take this conversation, or it is longer than the model's context.
    """
    messages = [Message("system", plan.system)] if plan.system.strip() else []
    for number, words in enumerate(plan.said):
        messages.append(Message("user", words))
        read = turn_tokens(tokenizer, special, messages)
        yield number, tuple(read)
        ids = [token.id for token in read]
        if len(ids) >= model.config.max_seq_len:
            raise ChatError(
                f"the conversation has {len(ids):,} tokens, more than the {model.config.max_seq_len:,} that this model "
                "reads; say less"
            )
        answer: list[int] = []
        steps = stream(
            model, ids, plan.sampling, max_new_tokens=plan.tokens, seed=plan.seed + number, stop_ids=special.ends
        )
        for step in steps:
            yield number, written_token(step.filters[0].probabilities, step.token, step.probability)
            if step.token not in special.ends:
                answer.append(step.token)
        messages.append(Message("assistant", tokenizer.decode(answer)))


def turn_tokens(tokenizer: Tokenizer, special: SpecialTokens, messages: Sequence[Message]) -> list[ChatToken]:
    """The tokens of a conversation up to where the assistant is to write."""
    return conversation(tokenizer, special.template, messages, dict(special.names))


def turns(tokenizer: Tokenizer, special: SpecialTokens, steps: Sequence[Step]) -> list[Turn]:
    """Group what `converse` has given so far, turn by turn."""
    finished: list[Turn] = []
    for _, step in steps:
        if isinstance(step, tuple):
            finished.append(Turn(step))
            continue
        last = finished[-1]
        if step.token in special.ends:
            finished[-1] = Turn(last.read, last.written, step.token)
        else:
            finished[-1] = Turn(last.read, (*last.written, step))
    return [
        Turn(turn.read, turn.written, turn.ended, tokenizer.decode([one.token for one in turn.written]))
        for turn in finished
    ]


@dataclass(frozen=True, slots=True)
class ConversationBits:
    """Bits that every token of a conversation cost the model: -log2 of the probability it gave it.

    Args:
        tokens: of the whole conversation, the last answer included.
        bits: of each token but the first, which nothing foretells.
    """

    tokens: tuple[ChatToken, ...]
    bits: np.ndarray


@torch.inference_mode()
def conversation_bits(model: Transformer, turn: Turn) -> ConversationBits:
    """The bits of every token up to the end of a turn."""
    answer = [ChatToken(one.token, "assistant") for one in turn.written]
    end = [] if turn.ended is None else [ChatToken(turn.ended, None)]
    tokens = (*turn.read, *answer, *end)
    ids = [token.id for token in tokens]
    return ConversationBits(tokens, (surprisal(model, ids) / np.log(2)).cpu().numpy())


# ---- findings ----
