"""Translate a sentence, measure translations against those of people (chrF, exact matches), and align words by
cross-attention: which word of the source each word of a translation attends to."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.generation.beam import beam_search
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.measures.one_text import one_text
from tfcore.measures.statistics import ratio
from tfcore.measures.token_pieces import cut_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

ORDER = 6  # of chrF: the longest n-gram
RECALL = 4  # of chrF2, beta squared: how much more recall counts than precision
LONGEST = 64  # ids of a translation


def translate(model: Transformer, tokenizer: BPETokenizer, sentence: str, beams: int = 1) -> str:
    """Translate a sentence with an encoder-decoder: greedily, or by beam search.

    Raises:
        ValueError: the sentence has more tokens than the model can read.
    """
    return tokenizer.decode(written(model, tokenizer, source_ids(tokenizer, sentence), beams)[:-1])


def ends_with_separator(tokenizer: Tokenizer) -> bool:
    """Whether a sentence ends with our separator; other tokenizers put around a text what their models know."""
    return isinstance(tokenizer, BPETokenizer)


def source_ids(tokenizer: Tokenizer, sentence: str) -> list[int]:
    """Ids that the encoder reads: the sentence and what ends it."""
    ids = tokenizer.encode(sentence)
    return [*ids, end_id(tokenizer)] if ends_with_separator(tokenizer) else ids


def end_id(tokenizer: Tokenizer) -> int:
    """The id that ends a text."""
    if isinstance(tokenizer, BPETokenizer):
        return tokenizer.separator_id or 0
    around = tokenizer.encode("")
    return around[-1] if around else 0


def written(model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], beams: int = 1) -> list[int]:
    """The ids of a translation; the separator is the last, also where the model did not come to it."""
    end = end_id(tokenizer)
    if beams == 1:
        written_ids = generate(model, ids, Sampling(temperature=0), max_new_tokens=LONGEST, stop_ids=[end])
    else:
        written_ids = list(beam_search(model, ids, beams=beams, max_new_tokens=LONGEST, stop_ids=[end])[0].ids)
    return written_ids if written_ids and written_ids[-1] == end else [*written_ids, end]


def chrf(translations: Sequence[str], references: Sequence[str]) -> float:
    """chrF2 of a whole test set, 0 to 100: F-score of character n-grams of orders 1 to 6 without spaces.

    Precision and recall are taken per order over all sentences and averaged over the orders that occur.

    Source: Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation", W15-3049; the same numbers as
    sacrebleu's corpus score.
    """
    precision, recall = [], []
    for n in range(1, ORDER + 1):
        same = ours = theirs = 0
        for translation, reference in zip(translations, references, strict=True):
            a, b = ngrams(translation, n), ngrams(reference, n)
            same, theirs = same + (a & b).total(), theirs + b.total()
            ours += a.total() if b else 0  # a reference too short for an n-gram blames nobody for having some
        if ours and theirs:
            precision.append(same / ours)
            recall.append(same / theirs)
    if not precision:
        return 0.0
    p, r = sum(precision) / len(precision), sum(recall) / len(recall)
    return 100 * (1 + RECALL) * p * r / (RECALL * p + r) if p + r else 0.0


def ngrams(text: str, n: int) -> Counter[str]:
    """How often each run of n characters occurs, spaces left out."""
    text = "".join(text.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def exact(translations: Sequence[str], references: Sequence[str]) -> float:
    """Share of translations that are the reference, letter for letter."""
    return ratio(sum(a == b for a, b in zip(translations, references, strict=True)), len(references))


@dataclass(frozen=True, slots=True)
class Linked:
    """A sentence, its translation, and which words mean the same, as a person linked them.

    Args:
        links: word or part of a word of the translation -> word of the sentence; each occurs once.
    """

    english: str
    french: str
    links: Mapping[str, str]


def read_links(path: Path) -> list[Linked]:
    """The sentences of a JSON file, a list of {"english", "french", "links"}."""
    return [Linked(**entry) for entry in json.loads(path.read_text("utf-8"))]


@dataclass(frozen=True, slots=True)
class Writing:
    """An encoder-decoder with a given target (teacher forcing), token by token.

    Args:
        read: the ids the encoder reads, the separator at the end.
        written: the ids written.
        probabilities: of every token of the vocabulary, before each of them is written.
        patterns: attention weights of the position that predicts each of them, one before its own.
    """

    read: list[int]
    written: list[int]
    probabilities: Float[ndarray, "written vocab"]
    patterns: Float[ndarray, "layer head written read"]

    @property
    def largest(self) -> Float[ndarray, " layer"]:
        """The largest weight of a row, averaged over the rows and heads of a layer: 1 would be one token looked at."""
        return self.patterns.max(-1).mean((1, 2))


@torch.no_grad()
def writing(model: Transformer, read: Sequence[int], written: Sequence[int]) -> Writing:
    """Let the model write `written` after it has read `read`, in one pass (teacher forcing)."""
    names = [f"decoder.blocks.{layer}.cross_attn.pattern" for layer in range(model.config.decoder_layers)]
    decoder_ids = [model.config.start_id, *written[:-1]]
    output = model(one_text(model, read), decoder_ids=one_text(model, decoder_ids), capture=names)
    patterns = torch.cat([output.activations[name] for name in names])  # the text's batch of one makes way for layers
    (logits,) = output.logits
    return Writing(list(read), list(written), logits.float().softmax(1).cpu().numpy(), patterns.float().cpu().numpy())


def tokens_of(text: str, word: str, tokenizer: BPETokenizer) -> list[int]:
    """The places of the tokens that write a word of a text.

    Raises:
        ValueError: the word is not there.
    """
    start = text.index(word)
    return sorted(set(cut_text(text, tokenizer).token_of_character[start : start + len(word)].tolist()))


def alignment_accuracy(
    model: Transformer, tokenizer: BPETokenizer, sentences: Sequence[Linked]
) -> tuple[Float[ndarray, "layer head"], Float[ndarray, " layer"]]:
    """The share of links in which the strongest weight of the word, the separator left out, is on the right word.

    Returns:
        The share for every head, and for the mean over the heads of every layer.
    """
    of_heads, of_layers = [], []
    for sentence in sentences:
        read, written = source_ids(tokenizer, sentence.english), tokenizer.encode(sentence.french)
        weights = writing(model, read, written).patterns[..., :-1]
        for ours, theirs in sentence.links.items():
            row = weights[:, :, tokens_of(sentence.french, ours, tokenizer)].mean(2)
            wanted = tokens_of(sentence.english, theirs, tokenizer)
            of_heads.append(np.isin(row.argmax(2), wanted))
            of_layers.append(np.isin(row.mean(1).argmax(1), wanted))
    return np.mean(of_heads, axis=0), np.mean(of_layers, axis=0)
