"""Multi-token prediction: one more block behind a decoder, which predicts the token after the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.attention import AttentionContext
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.initialise import initialise
from tfcore.inspection.capture import ActivationRecorder
from tfcore.linear import Linear
from tfcore.measures.text_loss import position_losses, token_losses
from tfcore.model import Output, Transformer
from tfcore.norms import Norm

WEIGHT = 0.3  # of the second prediction in the loss, as DeepSeek-V3 began (arXiv:2412.19437, section 4.2)


class SecondPrediction(nn.Module):
    """One block that reads a decoder's states, each beside the embedding of the token after it: block(W [norm(h_t);
    norm(e_{t+1})]), normalised for the unembedding of the decoder.

    Source: arXiv:2412.19437, section 2.2, equations 21 to 23, with one more token. In arXiv:2404.19737 the further
    heads read the states alone.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.state_norm, self.token_norm = Norm(config), Norm(config)
        self.project = Linear(2 * config.d_model, config.d_model, bias=False)
        self.block = Block(config)
        self.ln_final = Norm(config)

    def forward(
        self,
        states: Float[Tensor, "batch seq d_model"],
        following: Float[Tensor, "batch seq d_model"],
        context: AttentionContext,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The states that the token after the next is read from.

        Args:
            states: of the decoder after its last norm.
            following: the embedding of the token after each.
            context: of as many tokens.
        """
        joined = torch.cat((self.state_norm(states), self.token_norm(following)), dim=-1)
        return self.ln_final(self.block(self.project(joined), context, ActivationRecorder()))


class MultiTokenTransformer(Transformer):
    """A decoder with a second prediction, whose loss joins that of the next token in training; apart from that it is
    the decoder. Its weights begin as those of a decoder of the same seed."""

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__(config, seed)
        self.second = SecondPrediction(config)
        initialise(self.second, config, seed + 1)

    def forward(self, ids: Int[Tensor, "batch seq"], **options: Any) -> Output:
        """As Transformer.forward. In training `losses` has WEIGHT times the mean loss of the second prediction, over
        all places whose token after the next is in the text."""
        output = super().forward(ids, **options)
        if self.training:
            output.losses["second"] = WEIGHT * self.second_losses(output.hidden, ids).mean()
        return output

    def second_logits(
        self, states: Float[Tensor, "batch seq d_model"], following: Int[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq vocab"]:
        """Logits of the token after the next, at every place.

        Args:
            states: the last hidden states of the decoder.
            following: the id of the token after each.
        """
        embedded = self.embedded(following, ActivationRecorder())
        logits = self.to_logits(self.second(states, embedded, self.stack.attention_context(following.shape[1], 0)))
        assert logits is not None  # a decoder has a language head
        return logits

    def second_losses(
        self, states: Float[Tensor, "batch seq d_model"], ids: Int[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq-2"]:
        """Loss of the token after the next, in nats, at each place that has one in the text."""
        return token_losses(self.second_logits(states[:, :-2], ids[:, 1:-1]), ids[:, 2:])


@dataclass(frozen=True, slots=True)
class SecondGuesses:
    """The second prediction as a draft of what the decoder itself writes.

    Args:
        first_loss: of the decoder on held-out texts, from their third token on; nats.
        second_loss: of the second prediction, on the same tokens.
        confirmed: share of places of held-out texts at which the likeliest token of the second prediction is the one
            that the decoder, once it has read the next token, finds likeliest.
        constant: the same share of the best single token, guessed everywhere.
        written: as `confirmed`, on texts that the decoder wrote greedily.
        per_pass: tokens that a pass of the decoder brings when it writes the same texts and checks a guess in each.
    """

    first_loss: float
    second_loss: float
    confirmed: float
    constant: float
    written: float
    per_pass: float


@torch.no_grad()
def second_guesses(model: MultiTokenTransformer, texts: Int[Tensor, "row seq"]) -> SecondGuesses:
    """Measure the second prediction of a model in eval mode.

    Args:
        texts: held out; the first half of each is continued to its length.
    """
    texts = texts.to(model.device)
    begins = texts[:, : texts.shape[1] // 2]
    states, first = _read(model, texts)
    written, passes = zip(*(speculated(model, row, texts.shape[1]) for row in begins.tolist()), strict=True)
    new = texts.shape[1] - begins.shape[1]
    return SecondGuesses(
        first_loss=float(position_losses(model, texts)[1:].mean()),
        second_loss=float(model.second_losses(states, texts).mean()),
        confirmed=_confirmed(model, texts, texts.shape[1] - 1),
        constant=float(first.flatten().bincount().max() / first.numel()),
        written=_confirmed(model, torch.tensor(written, device=model.device), new),
        per_pass=new * len(texts) / sum(passes),
    )


def speculated(model: MultiTokenTransformer, ids: Sequence[int], length: int) -> tuple[list[int], int]:
    """The text that the decoder writes greedily while its second prediction guesses one token ahead, and how many
    passes of the decoder that took: a pass reads the guess too, and where that is what the decoder finds likeliest, the
    token after it has been read in the same pass.

    Source: arXiv:2412.19437, section 5.4.3.
    """
    text, guess, passes = list(ids), list[int](), 0
    while len(text) < length:
        states, first = _read(model, torch.tensor([text + guess], device=model.device))
        passes += 1
        token = int(first[0, len(text) - 1])
        if guess == [token]:
            text.append(token)
            token = int(first[0, -1])
        read = len(text)  # states of the tokens that stay
        text.append(token)
        following = torch.tensor([text[1:]], device=model.device)
        guess = [int(model.second_logits(states[:, :read], following)[0, -1].argmax())]
    return text[:length], passes


def _read(
    model: Transformer, ids: Int[Tensor, "row seq"]
) -> tuple[Float[Tensor, "row seq d_model"], Int[Tensor, "row seq"]]:
    """The last states of the decoder, and the likeliest next token at each place."""
    output = model(ids)
    return output.hidden, output.logits.argmax(-1)


def _confirmed(model: MultiTokenTransformer, texts: Int[Tensor, "row seq"], last: int) -> float:
    """Share of the last guesses of each text that the decoder confirms after reading one token more."""
    states, first = _read(model, texts)
    guessed = model.second_logits(states[:, :-1], texts[:, 1:]).argmax(-1)
    return float((guessed == first[:, 1:])[:, -last:].float().mean())
