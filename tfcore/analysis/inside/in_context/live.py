"""The answer of a model to one prompt, with any number of examples."""

from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile

import torch

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.in_context.tasks import LABELS, Labels, draw, prompt, written
from tfcore.analysis.one_text import one_text
from tfcore.analysis.token_text import visible
from tfcore.generation.kv_cache import KVCache
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


@dataclass(frozen=True, slots=True)
class ReadExamples:
    """All examples of a prompt as a model has read them.

    Args:
        ids: their tokens, as many as the model reads at once.
        cache: keys and values of these.
    """

    ids: tuple[int, ...]
    cache: KVCache


@torch.no_grad()
def read_examples(model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, seed: int) -> ReadExamples:
    """Keys and values of all examples of a prompt: with them, an answer after any number of examples costs a pass over
    the input that is asked for alone."""
    drawn = draw(task, labels, seed)
    lines = written(drawn.task, drawn.examples)
    room = min(model.config.max_seq_len, len(tokenizer.encode(f"{lines}{drawn.query.given}{drawn.task.between}")))
    ids = tuple(tokenizer.encode(lines))[:room]
    at = next(model.parameters())
    cache = KVCache(model.config, capacity=room, rollback=len(ids), device=at.device, dtype=at.dtype)
    model(one_text(model, ids), cache=cache)
    return ReadExamples(ids, cache)


@torch.no_grad()
def answer(
    model: Transformer,
    tokenizer: Tokenizer,
    task: str,
    labels: Labels,
    examples: int,
    seed: int,
    read: ReadExamples | None = None,
) -> Answer:
    """The answer after the first `examples` examples of a prompt.

    Args:
        read: what `read_examples` gave; None reads the whole prompt.

    Raises:
        ValueError: see tasks.prompt.
    """
    drawn = draw(task, labels, seed)
    asked = prompt(tokenizer, drawn, examples, model.config.max_seq_len)
    known, cache = 0, None
    if read is not None:
        pairs = zip(read.ids, asked.ids[:-1], strict=False)  # the last token is always read: its logits are wanted
        known, cache = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)), deepcopy(read.cache)
        cache.truncate(known)
    probability = model(one_text(model, asked.ids[known:]), cache=cache).logits[0, -1].softmax(-1)
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
