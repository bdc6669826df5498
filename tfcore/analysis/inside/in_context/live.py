"""The answer of a model to one prompt, with any number of examples."""

from dataclasses import dataclass

import torch

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.in_context.tasks import LABELS, Labels, draw, prompt
from tfcore.analysis.inside.quantities import logits_of
from tfcore.analysis.one_text import one_text
from tfcore.analysis.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

SHOWN = 8  # of the most probable tokens


@dataclass(frozen=True, slots=True)
class Answer(Finding):
    """What a model predicts after a prompt.

    Args:
        text: the prompt.
        length: its tokens.
        examples, labels: how many, and of which kind.
        query, right: the input that is asked for and its right answer.
        token: the first token of that answer.
        probability, rank: of that token; rank 1 is the most probable of the vocabulary.
        tokens, probabilities: of the SHOWN most probable tokens.
        best: the answer of the task whose first token is most probable.
    """

    text: str
    length: int
    examples: int
    labels: str
    query: str
    right: str
    token: str
    probability: float
    rank: int
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    best: str

    @property
    def sentence(self) -> str:
        count = f"{self.examples} example{'' if self.examples == 1 else 's'}"
        after = f"After {count}, labels {self.labels}," if self.examples else "Without examples"
        chance = f"{self.probability:.1%}" if self.probability >= 0.001 else "less than 0.1%"
        if self.rank == 1:
            place = "the most probable token"
        else:
            place = f"rank {self.rank:,}; the most probable is '{visible(self.tokens[0])}', {self.probabilities[0]:.1%}"
        others = f" Of the task's answers alone the first is “{self.best}”." if self.best != self.right else ""
        return (
            f"{after} the right answer to “{self.query}”, '{visible(self.token)}', has probability {chance}: "
            f"{place}.{others}"
        )


@torch.no_grad()
def answer(model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, examples: int, seed: int) -> Answer:
    """The answer after the first `examples` examples of a prompt.

    Raises:
        ValueError: see tasks.prompt.
    """
    drawn = draw(task, labels, seed)
    asked = prompt(tokenizer, drawn, examples, model.config.max_seq_len)
    hidden = model(one_text(model, asked.ids)).hidden[0, -1]
    probability = logits_of(model, hidden).softmax(-1)
    right = asked.right[-1]
    top = probability.topk(min(SHOWN, len(probability)))
    return Answer(
        text=asked.text,
        length=len(asked.ids),
        examples=examples,
        labels=LABELS[labels],
        query=drawn.query.given,
        right=drawn.query.right,
        token=tokenizer.tokens([right])[0],
        probability=float(probability[right]),
        rank=int((probability > probability[right]).sum()) + 1,
        tokens=tuple(tokenizer.tokens(top.indices.tolist())),
        probabilities=tuple(top.values.tolist()),
        best=max(asked.answers, key=lambda one: (float(probability[asked.answers[one]]), one == drawn.query.right)),
    )
