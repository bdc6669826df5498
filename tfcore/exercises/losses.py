"""Cross-entropy and perplexity."""

import math
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import TEXT, ids_of, shipped_model, tokens_of
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import LN2, next_losses, text_bits
from tfcore.views.finding import state
from tfcore.views.training.information.draw.text_bits import adding_up_figure


def next_token_loss(
    logits: Float[Tensor, "seq vocab"], ids: Int[Tensor, " seq"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Mean cross-entropy of each next token of a text, in nats, and the perplexity; without torch's cross_entropy.

    The logits at position t predict the token at t + 1: the last row predicts nothing that is there, and nothing
    predicts the first token. Logits may be in the hundreds.

    Args:
        logits: of a decoder, one row a position.
        ids: of the same text.

    Returns:
        loss: a tensor of one number; and perplexity: its exponential.
    """
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    loss = -log_p[:-1].gather(1, ids[1:, None]).mean()
    return loss, loss.exp()


def by_tfcore(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = next_losses(logits[None], ids[None]).mean()
    return loss, loss.exp()


def not_shifted(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = -logits.log_softmax(-1).gather(1, ids[:, None]).mean()
    return loss, loss.exp()


def shifted_back(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = -logits.log_softmax(-1)[1:].gather(1, ids[:-1, None]).mean()
    return loss, loss.exp()


def in_bits(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss, perplexity = next_token_loss(logits, ids)
    return loss / math.log(2), perplexity


def power_of_two(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss, _ = next_token_loss(logits, ids)
    return loss, 2**loss


def summed(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = next_token_loss(logits, ids)[0] * (len(ids) - 1)
    return loss, loss.exp()


def mean_of_exponentials(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    losses = next_losses(logits[None], ids[None])
    return losses.mean(), losses.exp().mean()


def over_positions(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = -logits.log_softmax(0)[:-1].gather(1, ids[1:, None]).mean()
    return loss, loss.exp()


def overflowing(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    loss = -p[:-1].gather(1, ids[1:, None]).log().mean()
    return loss, loss.exp()


def not_negated(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    loss = -next_token_loss(logits, ids)[0]
    return loss, loss.exp()


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for seq, vocab, size, all_of_them in ((6, 10, 1.0, 0.0), (2, 4, 3.0, 0.0), (9, 9, 1.0, 0.0), (4, 7, 8.0, 200.0)):
        ids = torch.randint(vocab, (seq,), generator=generator)
        made.append((all_of_them + size * normal(generator, seq, vocab), ids))  # exp(200) is infinite, no perplexity is
    return made


def constants_do_not_matter(call: Function, logits: Tensor, ids: Tensor) -> bool:
    return torch.allclose(call(logits + 3, ids)[0], call(logits, ids)[0], rtol=1e-3, atol=1e-4)


def uniform_costs_log_vocab(call: Function, logits: Tensor, ids: Tensor) -> bool:
    return abs(float(call(0 * logits, ids)[0]) - math.log(logits.shape[1])) < 1e-4


def last_row_predicts_nothing(call: Function, logits: Tensor, ids: Tensor) -> bool:
    changed = logits.clone()
    changed[-1] = changed[-1].flip(0) + torch.arange(logits.shape[1])
    return torch.allclose(call(changed, ids)[0], call(logits, ids)[0], atol=1e-5)


def perplexity_is_exponential(call: Function, logits: Tensor, ids: Tensor) -> bool:
    loss, perplexity = call(logits, ids)
    return torch.allclose(perplexity, loss.exp(), rtol=1e-3)


@torch.no_grad()
def draw(call: Function) -> Picture:
    (model, tokenizer), ids = shipped_model("stories"), torch.tensor(ids_of("stories"))
    (logits,) = model(one_text(model, ids_of("stories"))).logits
    each = [float(call(logits[i : i + 2], ids[i : i + 2])[0]) / LN2 for i in range(len(ids) - 1)]
    measured = text_bits(model, tokenizer, TEXT)
    costs = replace(measured, bits=np.array([measured.bits[0], *each]))
    loss, perplexity = call(logits, ids)
    words = (
        "What each token costs stories, by the function: {loss:.2f} nats per token, a perplexity of {perplexity:.1f}."
    )
    found = state("bits", words, loss=float(loss), perplexity=float(perplexity))
    names = {"stories": "stories, by the function"}
    return Picture(adding_up_figure({"stories": costs}, names, "stories", tokens_of("stories"), 380), found, 520)


NEXT_TOKEN_LOSS = Exercise(
    solution=next_token_loss,
    title="Cross-entropy and perplexity",
    asks="The loss of a text under a model, and the number of tokens it is like guessing among.",
    papers="Language Models are Unsupervised Multitask Learners (GPT-2 report, Radford et al. 2019), equation 1; "
    "perplexity: Jelinek et al. 1977",
    formula=r"L = -\frac{1}{n - 1} \sum_{t=1}^{n-1} \log p(x_{t+1} \mid x_{\le t}), \qquad \mathrm{perplexity} = e^L",
    returns=("loss", "perplexity"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "A constant added to all logits changes nothing.",
            "the loss changes when a constant is added to all logits",
            constants_do_not_matter,
        ),
        ExerciseProperty(
            "With all logits alike the loss is ln(vocab).",
            "with all logits alike the loss is not ln(vocab)",
            uniform_costs_log_vocab,
        ),
        ExerciseProperty(
            "The last row of logits does not matter.",
            "the loss changes with the last row of logits, which predicts no token of the text",
            last_row_predicts_nothing,
        ),
        ExerciseProperty(
            "The perplexity is e to the loss.", "the perplexity is not e to the loss", perplexity_is_exponential
        ),
    ),
    mistakes=(
        UsualMistake(not_shifted, "is each token predicted from its own position? Logits at t predict t + 1"),
        UsualMistake(shifted_back, "is it shifted the wrong way, so that a token predicts the one before it?"),
        UsualMistake(in_bits, "is the loss in bits? In nats the logarithm is the natural one"),
        UsualMistake(power_of_two, "is it 2 to the loss? The loss is in nats"),
        UsualMistake(summed, "is the loss the sum over the tokens in place of their mean?"),
        UsualMistake(
            mean_of_exponentials, "is it the mean of the exponentials in place of the exponential of the mean?"
        ),
        UsualMistake(over_positions, "is the softmax over the positions in place of the vocabulary?"),
        UsualMistake(overflowing, "exp of a large logit is infinite; take the largest away first, or use logsumexp?"),
        UsualMistake(not_negated, "is the minus missing?"),
    ),
    hints=(
        "Which rows of the logits predict a token that is there? And which tokens are predicted by a row?",
        "log p = logit - logsumexp(logits) needs no exponential of a large number.",
        "`log_p[:-1].gather(1, ids[1:, None])` takes of each row the number of the token that follows.",
    ),
    page="information?show=text",
    draw=draw,
)
