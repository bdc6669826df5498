"""Translate a sentence, and measure translations against those of people: chrF and exact matches."""

from collections import Counter
from collections.abc import Sequence

from tfcore.generation.beam import beam_search
from tfcore.generation.generate import generate
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

ORDER, BETA = 6, 2  # of chrF: the longest n-gram, and how much more recall counts than precision
LONGEST = 64  # ids of a translation


def translate(model: Transformer, tokenizer: BPETokenizer, sentence: str, beams: int = 1) -> str:
    """What an encoder-decoder writes when it has read a sentence: greedily, or by beam search.

    Raises:
        ValueError: the sentence has more tokens than the model can read.
    """
    return tokenizer.decode(written(model, tokenizer, source_ids(tokenizer, sentence), beams)[:-1])


def ends_with_separator(tokenizer: Tokenizer) -> bool:
    """Whether a sentence ends with our separator; other tokenizers put around a text what their models know."""
    return isinstance(tokenizer, BPETokenizer)


def source_ids(tokenizer: Tokenizer, sentence: str) -> list[int]:
    """What the encoder reads: the sentence and what ends it."""
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
        found = generate(model, ids, max_new_tokens=LONGEST, temperature=0, stop_ids=[end])
    else:
        found = list(beam_search(model, ids, beams=beams, max_new_tokens=LONGEST, stop_ids=[end])[0].ids)
    return found if found and found[-1] == end else [*found, end]


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
    return 100 * (1 + BETA**2) * p * r / (BETA**2 * p + r) if p + r else 0.0


def ngrams(text: str, n: int) -> Counter[str]:
    """How often each run of n characters occurs, spaces left out."""
    text = "".join(text.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def exact(translations: Sequence[str], references: Sequence[str]) -> float:
    """Share of translations that are the reference, letter for letter."""
    return sum(a == b for a, b in zip(translations, references, strict=True)) / max(1, len(references))
