"""Text corpora into batches: documents -> one long row of ids per source -> random windows, the same for every seed.

Batches are a function of (seed, step) alone, so that a resumed run and a run on several processes see the same ones.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tfcore.tokenizers.tokenizer import SEPARATOR, Tokenizer

IGNORE = -100  # a target that does not count

# Where each source of the story corpora lies below --corpus, and where such a text can be had.
STORY_SOURCES: dict[str, tuple[str, str]] = {
    "tinystories": ("tinystories/train.txt", "TinyStories by Eldan and Li (arXiv:2305.07759)"),
    "storyweaver": ("storyweaver-en/stories.txt", "StoryWeaver picture books, English, CC BY"),
    "african": ("african-storybook-en/stories.txt", "African Storybook, English, CC BY"),
    "fairytales": ("fairytaleqa/stories.txt", "the 278 tales of FairytaleQA, from Project Gutenberg"),
    "classics": ("childrens-classics/stories.txt", "children's classics in the public domain, Project Gutenberg"),
}
VALID = ("tinystories/valid.txt", "the validation split of TinyStories by Eldan and Li (arXiv:2305.07759)")


class CorpusError(ValueError):
    """A corpus that is not there or not usable; one sentence."""


def read_source(corpus: Path, source: tuple[str, str]) -> list[str]:
    """The documents of one source.

    Raises:
        CorpusError: saying which file is missing or not usable, and where such a text can be had.
    """
    path, origin = corpus / source[0], f"{source[1]}; separate documents by {SEPARATOR}"
    text = read_text(path, origin)
    if SEPARATOR in text:
        documents = text.split(SEPARATOR)
    elif "fairytaleqa" in source[0]:
        documents = [unwrap(text)]
    else:
        documents = re.split(r"\n\s*\n", text)
    if not (kept := [d.strip() for d in documents if d.strip()]):
        raise CorpusError(f"{path} is empty: it should hold {origin}")
    return kept


def read_text(path: Path, origin: str) -> str:
    """A file of a corpus.

    Raises:
        CorpusError: saying that it is missing or no UTF-8, and what should be there.
    """
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise CorpusError(f"{path} is missing: it should hold {origin}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 text at byte {error.start:,}; it should hold {origin}") from error


def unwrap(text: str) -> str:
    """Join lines that were cut at a fixed width: a line that ends in the middle of a sentence goes on in the next."""
    return re.sub(r"(?<=[^\s.!?\"'”’:;—-])\n(?=\S)", " ", text)


def held_out(corpus: Path) -> list[str]:
    """The stories of tinystories/valid, without those whose first 120 characters occur in the training text."""
    known = {document[:120] for document in read_source(corpus, STORY_SOURCES["tinystories"])}
    return [story for story in read_source(corpus, VALID) if story[:120] not in known]


def encode_documents(tokenizer: Tokenizer, documents: Sequence[str]) -> np.ndarray:
    """All documents as one row of ids, the separator before each."""
    separator = tokenizer.special_tokens.get(SEPARATOR)
    if separator is None:
        raise CorpusError("this tokenizer has no document separator; train one with BPETokenizer.train")
    rows = [np.array([separator, *tokenizer.encode(d)], dtype=np.int32) for d in documents]
    return np.concatenate(rows)


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's input.

    Args:
        ids: (rows, seq); of an encoder-decoder, what its encoder reads.
        targets: (rows, seq), the token wanted at each position, IGNORE where none counts.
        decoder_ids: (rows, dec_seq), what an encoder-decoder's decoder reads; targets are then (rows, dec_seq).
        padding_mask: (rows, seq), True at real tokens of ids; None where all are.
    """

    ids: Tensor
    targets: Tensor
    decoder_ids: Tensor | None = None
    padding_mask: Tensor | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The batch with every tensor changed."""
        tensors = (self.ids, self.targets, self.decoder_ids, self.padding_mask)
        return Batch(*(tensor if tensor is None else change(tensor) for tensor in tensors))  # type: ignore[arg-type]

    @property
    def tokens(self) -> int:
        """How many tokens are read, padding included."""
        return self.ids.numel() + (0 if self.decoder_ids is None else self.decoder_ids.numel())


def shift(rows: Tensor) -> Batch:
    """Rows (rows, seq + 1) as input and next-token targets."""
    return Batch(rows[:, :-1], rows[:, 1:].clone())


def by_frequency(streams: Iterable[np.ndarray], vocab_size: int) -> Tensor:
    """All ids of the vocabulary, the most frequent first; shape (vocab_size,)."""
    counts = sum((np.bincount(stream, minlength=vocab_size) for stream in streams), np.zeros(vocab_size, dtype=int))
    return torch.from_numpy(np.argsort(-counts, kind="stable"))


def repeated_tokens(rows: int, seq: int, alphabet: Tensor, generator: torch.Generator) -> Batch:
    """Random tokens of an alphabet (int64 ids), repeated: the food of induction heads (arXiv:2209.11895).

    Each row has a period of its own, so that looking back a fixed distance does not help: only finding the earlier
    occurrence of the present token and copying what followed does. Periods are spread evenly on a logarithmic scale
    from 8 to 4/5 of the row: short ones are the easy cases. The first period cannot be predicted and does not count.
    """
    low, high = math.log(min(8, seq // 2)), math.log(max(1.0, 0.8 * seq))
    period = torch.exp(low + (high - low) * torch.rand(rows, 1, generator=generator)).long()
    batch = shift(periodic(seq + 1, period, alphabet, generator))
    batch.targets[torch.arange(1, seq + 1)[None, :] < period] = IGNORE
    return batch


def periodic(seq: int, period: Tensor, alphabet: Tensor, generator: torch.Generator) -> Tensor:
    """Rows (rows, seq) of random tokens of an alphabet that begin again after period (rows, 1) of them."""
    tokens = alphabet[torch.randint(0, len(alphabet), (len(period), seq), generator=generator)]
    return tokens.gather(1, torch.arange(seq)[None, :] % period)


def text_windows(
    streams: Mapping[str, np.ndarray], weights: Mapping[str, float], rows: int, seq: int, generator: torch.Generator
) -> Batch:
    """Random windows of seq + 1 ids, each from a source drawn by weight, as input and next-token targets."""
    return shift(windows(streams, weights, rows, seq + 1, generator))


def prefixed(rows: Tensor, before: Sequence[int]) -> Tensor:
    """The same ids before each of the rows (rows, seq)."""
    return torch.cat((torch.tensor(before, dtype=rows.dtype).expand(len(rows), -1), rows), dim=1)


def windows(
    streams: Mapping[str, np.ndarray], weights: Mapping[str, float], rows: int, seq: int, generator: torch.Generator
) -> Tensor:
    """Random windows (rows, seq), each from a source drawn by weight."""
    names = list(weights)
    chosen = torch.multinomial(torch.tensor([weights[n] for n in names]), rows, replacement=True, generator=generator)
    cut = []
    for source in chosen.tolist():
        stream = streams[names[source]]
        start = int(torch.randint(0, len(stream) - seq + 1, (1,), generator=generator))
        cut.append(torch.from_numpy(stream[start : start + seq].astype(np.int64)))
    return torch.stack(cut)


def hide(rows: Tensor, share: float, mask_id: int, generator: torch.Generator) -> Batch:
    """Rows with a share of their tokens replaced by the mask; those tokens are the targets (arXiv:1810.04805, 3.1).

    Every chosen token is hidden. BERT leaves some as they are and puts random ones in the place of others, because the
    texts it is tuned on later have no blanks; these here have.
    """
    hidden = torch.rand(rows.shape, generator=generator) < share
    return Batch(rows.masked_fill(hidden, mask_id), rows.masked_fill(~hidden, IGNORE))


def join(*batches: Batch) -> Batch:
    """Batches of equal length under each other."""
    return Batch(torch.cat([b.ids for b in batches]), torch.cat([b.targets for b in batches]))
