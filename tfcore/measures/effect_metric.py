"""The metric of an effect on a model's prediction: of the next token, of two tokens, or of the whole text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tfcore.attention import softcapped
from tfcore.measures.answers import Answers, Classes
from tfcore.measures.lenses import unembedding
from tfcore.measures.one_text import last_tokens, next_logits, one_text
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Kind = Literal["prediction", "difference", "text"]


AT_ONCE = 512  # tokens whose logits are in memory together: 100 MB of them where the vocabulary has 49,152


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that falls when a part of a model is ablated.

    Args:
        kind: "prediction": the log-probability of `token` after the last token of a text, in nats. "difference": the
            logit of `token` less that of `against` there, in logits (arXiv:2309.16042, section 2). "text": the mean
            log-probability of the text's own tokens, each after those before it, in nats.
        token, against: ids of tokens, or of classes where a head tells these apart and reads the text at one token; for
            "text" neither is used, for "prediction" only `token`.
    """

    kind: Kind
    token: int = 0
    against: int = 0

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return "logits" if self.kind == "difference" else "nats"


def measured(
    model: Transformer, hidden: Float[Tensor, "row seq d_model"], ids: Sequence[int], quantity: Quantity
) -> Float[Tensor, " row"]:
    """The quantity, read from the last hidden states of a text (or of its last tokens, where only those matter).

    Only the logits that are needed are computed: of the last position, and for a difference of two tokens alone.
    """
    last = model.answer_state(hidden)
    if quantity.kind == "difference" and model.config.classes is not None:
        scores = logits_of(model, last)
        return scores[:, quantity.token] - scores[:, quantity.against]
    if quantity.kind == "difference":
        two = [quantity.token, quantity.against]
        logits = (last @ unembedding(model, two).T).float() * model.config.logit_scale
        if model.logit_bias is not None:
            logits = logits + model.logit_bias[two].float()
        logits = softcapped(logits, model.config.logit_softcap)
        return logits[:, 0] - logits[:, 1]
    if quantity.kind == "prediction":
        return logits_of(model, last).log_softmax(1)[:, quantity.token]
    following = one_text(model, ids[1:]).squeeze(0)
    if not len(following):
        return hidden[:, :0].float().sum((1, 2))  # 0, whose gradient is 0, too
    losses = []
    for rows in hidden[:, :-1].split(max(1, AT_ONCE // len(following))):
        logits = logits_of(model, rows.flatten(0, 1))  # (row * next, vocab)
        losses.append(F.cross_entropy(logits, following.repeat(len(rows)), reduction="none").view(len(rows), -1))
    return -torch.cat(losses).mean(1)


@torch.no_grad()
def rival_name(model: Transformer, ids: Sequence[int], tokenizer: Tokenizer) -> int | None:
    """The token against which a predicted name is measured: the most probable of the other names in the text; None
    where the top prediction is no name from the text, or there is no other.

    As in the logit difference of arXiv:2211.00593, section 2. A name is taken to be a space and a word of at least two
    letters, of which the first alone is a capital.
    """
    if not model.config.scores_tokens:
        return None
    pieces = dict(zip(ids, tokenizer.tokens(ids), strict=True))
    names = [token for token, piece in pieces.items() if piece[:1] == " " and piece[2:] and piece[1:].istitle()]
    logits = next_logits(model, ids)
    best = int(logits.argmax())
    others = [token for token in names if token != best]
    return max(others, key=lambda token: float(logits[token])) if best in names and others else None


def rival_of_text(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None
) -> int | None:
    """`rival_name` of the last tokens of a text."""
    return rival_name(model, last_tokens(model, tokenizer, text, limit, bos).ids, tokenizer)


def quantity_name(quantity: Quantity, answers: Answers) -> str:
    """The name of a quantity, in words.

    Args:
        answers: of the model that it is measured on, see answers_of.
    """
    if quantity.kind == "text":
        return "mean log-probability of the text's own tokens"
    token, against = (f"'{visible(one)}'" for one in answers.tokens([quantity.token, quantity.against]))
    what = (
        f"logit of {token} less that of {against}" if quantity.kind == "difference" else f"log-probability of {token}"
    )
    return what if isinstance(answers, Classes) else f"{what} after the last token"


def logits_of(model: Transformer, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
    """Logits in float32.

    Raises:
        ValueError: a model without a head.
    """
    logits = model.to_logits(hidden)
    if logits is None:
        raise ValueError("this model has no language head, so there are no logits to measure an effect on")
    return logits.float()
