"""The answer of a model to one prompt, with any number of examples."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import takewhile
from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.kv_cache import KVCache
from tfcore.measures.one_text import next_logits, one_text, piece_of
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding
from tfcore.views.inside.in_context.measure.tasks import LABELS, Labels, draw, prompt, written
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened

SHOWN = 8  # of the most probable tokens


@dataclass(frozen=True, slots=True)
class Answer(Finding):
    """The prediction of a model after a prompt.

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
        count = counted(self.examples, "example")
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


class ReadExamples:
    """The examples of a prompt, as far as a model has read them: after them, another input, or one example more, costs
    a pass over the new tokens alone. Safe for threads."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, seed: int) -> None:
        drawn = draw(task, labels, seed)
        lines = written(drawn.task, drawn.examples)
        room = min(model.config.max_seq_len, len(tokenizer.encode(f"{lines}{drawn.query.given}{drawn.task.between}")))
        self._model, self._ids = model, tuple(tokenizer.encode(lines))[:room]
        self._cache = KVCache(model.config, capacity=room, rollback=room, device=model.device, dtype=model.dtype)
        self._lock = Lock()

    @torch.no_grad()
    def logits_after(self, ids: Sequence[int]) -> Float[Tensor, " vocab"]:
        """The logits after a prompt that begins with some of the examples."""
        pairs = zip(self._ids, ids[:-1], strict=False)  # the last token is always read: its logits are wanted
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        with self._lock:
            known, cache = self._cache.length, self._cache
            if known >= shared:
                known, cache = shared, deepcopy(cache)  # what comes behind these examples is kept
                cache.truncate(known)
            logits = self._model(one_text(self._model, ids[known:]), cache=cache, logits_to_keep=1).logits.flatten()
            if cache is self._cache:
                cache.truncate(shared)
        return logits


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
        read: the examples of this prompt, of which only those that nobody asked for before are read now; None reads
            the whole prompt.

    Raises:
        ValueError: see tasks.prompt.
    """
    drawn = draw(task, labels, seed)
    asked = prompt(tokenizer, drawn, examples, model.config.max_seq_len)
    logits = read.logits_after(asked.ids) if read else next_logits(model, asked.ids)
    probability = logits.softmax(-1)
    right = asked.right[-1]
    top = probability.topk(min(SHOWN, len(probability)))
    return Answer(
        text=asked.text,
        length=len(asked.ids),
        examples=examples,
        labels=LABELS[labels],
        query=drawn.query.given,
        right=drawn.query.right,
        token=piece_of(tokenizer, right),
        probability=float(probability[right]),
        rank=int((probability > probability[right]).sum()) + 1,
        tokens=tuple(tokenizer.tokens(top.indices.tolist())),
        probabilities=tuple(top.values.tolist()),
        best=max(asked.answers, key=lambda one: (float(probability[asked.answers[one]]), one == drawn.query.right)),
    )


def _read(model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, seed: int) -> ReadExamples:
    return ReadExamples(model, tokenizer, task, labels, seed)


def _answer(source: Source, task: str, labels: Labels, examples: int, seed: int) -> Answer:
    model, tokenizer = opened(source)
    return answer(model, tokenizer, task, labels, examples, seed, read_of(source, task, labels, seed))


read_of = kept(_read, entries=8)  # of a prompt, as far as somebody asked for it
answer_of = kept(_answer, entries=256)
