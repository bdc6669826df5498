"""Models of one's own: what they need of memory to write a text, what their tokenizers do, and their first words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.device import device
from tfcore.generation.generate import Reader, generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.weights import free_memory
from tfcore.measures.answers import Answers, answers_of
from tfcore.measures.masked_tokens import mask_of
from tfcore.measures.memory_use import memory
from tfcore.measures.one_text import ends, last_tokens, next_logits, one_text, shortened
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import Dtype
from tfcore.measures.text_loss import likeliest, top
from tfcore.model import Transformer
from tfcore.part_configs import ClassesConfig
from tfcore.tokenizers.tokenizer import Tokenizer, unmarked

BEST = 5
Way = Literal["continuation", "blank", "answer", "class", "classes", "numbers", "span", "nothing"]
LONGEST_SPAN = 30  # tokens of an answer within a text
# name: preset
KNOWN = {
    "BERT base": "bert_base",
    "GPT-2 small": "gpt2_small",
    "T5 base": "t5_base",
    "GPT-2 XL": "gpt2_xl",
    "Mistral 7B": "mistral_7b",
    "LLaMA 3 8B": "llama3_8b",
    "Mixtral 8x7B": "mixtral_8x7b",
    "LLaMA 3 70B": "llama3_70b",
}


@dataclass(frozen=True, slots=True)
class Need:
    """The memory of one model that writes.

    Args:
        parameters: how many.
        weights: bytes of them.
        cache: bytes of the keys and values of a text.
        tokens: of that text; less than asked for where the model reads no more.
    """

    name: str
    parameters: int
    weights: int
    cache: int
    tokens: int

    @property
    def total(self) -> int:
        return self.weights + self.cache

    def fits(self, room: int) -> bool:
        """Whether it all goes into that many bytes."""
        return self.total <= room


def needs(configs: Mapping[str, ModelConfig], tokens: int, dtype: Dtype) -> list[Need]:
    """Bytes that each model needs to write a text of that many tokens: b P + 2 b L n_kv d_head n bytes, from its config
    alone.

    Args:
        configs: by name.
        tokens: of the text, n.
        dtype: b is 4 bytes in float32, 2 in 16 bits.
    """
    needed = []
    for name, config in configs.items():
        n = min(tokens, config.max_seq_len)
        use = memory(config, batch=1, seq=n, dtype=dtype)
        cache = 0 if config.architecture == "encoder" else use.kv_cache + use.cross_cache
        needed.append(Need(name, parameters(config).total, use.weights, cache, n))
    return needed


def free_now() -> int | None:
    """Bytes that are free where models go now; None where the system does not tell."""
    return free_memory(device())


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A text through a tokenizer and back.

    Args:
        characters: of the text.
        back: what came back.
        ids, tokens: in between.
        same: it is the text itself, to the letter.
        nearly: it is, but for capitals and spaces.
    """

    characters: int
    back: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    same: bool
    nearly: bool


def round_trip(tokenizer: Tokenizer, text: str) -> RoundTrip:
    """Encode a text, decode the ids, and compare."""
    ids, text = tokenizer.encode(text), unmarked(text)
    back = tokenizer.decode(ids)
    nearly = "".join(back.split()).casefold() == "".join(text.split()).casefold()
    return RoundTrip(len(text), back, tuple(ids), tuple(tokenizer.tokens(ids)), back == text, nearly)


@dataclass(frozen=True, slots=True)
class FirstWords:
    """The first words of a model after a text.

    Args:
        way: a decoder's continuation, what an encoder puts into a blank, what an encoder-decoder answers, the class of
            the text or of one token, its classes where each is judged by itself, numbers, or the part of the text that
            answers; or nothing, of a model without a head.
        text: that was read; for an encoder the last word of it is the blank.
        written: the text it generated, greedily; of an encoder the best guess; of a head that tells classes apart the
            likeliest class, or of classes judged by themselves those above one half.
        best, probabilities: the likeliest tokens at the place in question, or classes, or those that an answer starts
            with, and how likely; of numbers their names, and the numbers.
        place: of the blank, of the token whose class it is, or of the last token that was read.
        token: the one whose class it is; None where it is that of the text.
    """

    way: Way
    text: str
    written: str
    best: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    place: int = 0
    token: str | None = None


@torch.no_grad()
def first_words(model: Transformer, tokenizer: Tokenizer, text: str, new_tokens: int = 24) -> FirstWords:
    """Let a model do what it was trained to do, on a short text.

    A decoder goes on greedily; an encoder fills the place of the text's last token but for those put around it; an
    encoder-decoder writes its answer. A text that is too long is cut at its beginning, or for reading at its end.
    """
    config = model.config
    ids = tokenizer.encode(text)
    if config.head == "none" or not ids:
        return FirstWords("nothing", text, "")
    if config.classes is not None:
        return _class(model, tokenizer, text)
    if config.architecture == "encoder":
        return _blank(model, tokenizer, text, ids)
    if config.architecture == "encoder-decoder":
        ids = shortened(tokenizer, ids, config.max_seq_len)
        start = [one for one in (config.start_id, config.writing.first) if one is not None]
        (scores,) = model(one_text(model, ids), decoder_ids=one_text(model, start), logits_to_keep=1).logits[0]
        scores = Reader(model, ids, max_new_tokens=new_tokens).constrained(scores.float().cpu(), len(start) - 1)
        ids_written = generate(model, ids, Sampling(temperature=0), max_new_tokens=new_tokens)
        return FirstWords("answer", text, tokenizer.decode(ids_written), *_likeliest(tokenizer, scores))
    ids = ids[-max(1, config.max_seq_len - new_tokens) :]
    scores = next_logits(model, ids)
    ids_written = generate(model, ids, Sampling(temperature=0), max_new_tokens=new_tokens)
    return FirstWords("continuation", text, tokenizer.decode(ids_written), *_likeliest(tokenizer, scores), len(ids) - 1)


def _class(model: Transformer, tokenizer: Tokenizer, text: str) -> FirstWords:
    """The classes of a text, or of the last of its own tokens where each has one."""
    read = last_tokens(model, tokenizer, text, model.config.max_seq_len)
    if model.config.classes is not None and model.config.classes.meaning != "one":
        scores = model(one_text(model, read.ids)).logits[0].float().cpu()
        return _scored(model.config.classes, tokenizer, text, read.ids, scores)
    of_each = model.config.classes is not None and model.config.classes.place == "each"
    place = max(0, len(read.ids) - 1 - len(ends(tokenizer)[1])) if of_each else model.config.read_at % len(read.ids)
    scores = model(one_text(model, read.ids)).logits[0, place]
    best, probabilities = _likeliest(answers_of(model, tokenizer), scores)
    return FirstWords("class", text, best[0], best, probabilities, place, read.tokens[place] if of_each else None)


def _scored(
    classes: ClassesConfig, tokenizer: Tokenizer, text: str, ids: list[int], scores: Float[Tensor, "seq class"]
) -> FirstWords:
    """Scores that are not of classes of which one is the text's."""
    if classes.meaning == "span":
        before, after = ends(tokenizer)
        return _span(tokenizer, text, ids, scores[len(before) : len(ids) - len(after)], len(before))
    place = len(ids) - 1 if classes.place == "last" else 0
    if classes.meaning == "number":
        values = scores[place].tolist()
        named = zip(classes.labels, values, strict=True)
        written = f"{values[0]:.3g}" if len(values) == 1 else ", ".join(f"{name}: {one:.3g}" for name, one in named)
        return FirstWords("numbers", text, written, classes.labels, tuple(values), place)
    best = top(scores[place].sigmoid().numpy(), BEST)
    named_best = tuple(classes.labels[i] for i in best.ids.tolist())
    there = [name for name, p in zip(classes.labels, scores[place].tolist(), strict=True) if p > 0]
    return FirstWords("classes", text, ", ".join(there), named_best, tuple(best.probabilities.tolist()), place)


def _span(tokenizer: Tokenizer, text: str, ids: list[int], scores: Float[Tensor, "seq end"], before: int) -> FirstWords:
    """The part of a text with the largest sum of the two scores of its ends."""
    if not len(scores):
        return FirstWords("nothing", text, "")
    starts, stops = scores.log_softmax(0).T
    pairs = torch.ones(len(starts), len(stops), dtype=torch.bool).triu()
    pairs &= ~pairs.triu(LONGEST_SPAN)
    sums = (starts[:, None] + stops).masked_fill(~pairs, -torch.inf)
    start, stop = divmod(int(sums.argmax()), len(stops))
    best = top(starts.exp().numpy(), BEST)
    tokens = tokenizer.tokens([ids[before + i] for i in best.ids.tolist()])
    written = tokenizer.decode(ids[before + start : before + stop + 1])
    return FirstWords("span", text, written, tuple(tokens), tuple(best.probabilities.tolist()), before + start)


def _blank(model: Transformer, tokenizer: Tokenizer, text: str, ids: list[int]) -> FirstWords:
    """Hide the last word's token behind the tokenizer's own mask, where it has one."""
    around = len(tokenizer.encode("")) // 2  # as many before as after
    ids = shortened(tokenizer, ids, model.config.max_seq_len)
    place = len(ids) - 1 - around
    hidden = mask_of(tokenizer, model.config.vocab_size)
    if hidden is None:
        return FirstWords("nothing", text, "")
    (scores,) = model(one_text(model, [*ids[:place], hidden, *ids[place + 1 :]])).logits
    best, probabilities = _likeliest(tokenizer, scores[place])
    shown = tokenizer.decode([*ids[:place], hidden]) or text
    return FirstWords("blank", shown, best[0], best, probabilities, place)


def _likeliest(answers: Answers, scores: Float[Tensor, " vocab"]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    best = likeliest(scores, BEST)
    return tuple(answers.tokens(best.ids.tolist())), tuple(best.probabilities.tolist())
