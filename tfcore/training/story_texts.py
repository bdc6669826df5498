"""The texts of the story models: every source as one row of ids, by the one tokenizer they all share."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfcore.tokenizers.foreign import load_tokenizer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data
from tfcore.training.loop import Processes

# How often each source is drawn.
WEIGHTS = {"tinystories": 0.60, "storyweaver": 0.08, "african": 0.05, "fairytales": 0.13, "classics": 0.14}
VOCAB_SIZE = 2048


@dataclass(frozen=True, slots=True)
class StoryTexts:
    """The texts on which story models are trained and measured.

    Args:
        tokenizer: trained on all sources.
        streams: name of a source -> its ids in one row.
        held_out: stories that are in none of them.
    """

    tokenizer: BPETokenizer
    streams: dict[str, np.ndarray]
    held_out: list[str]

    def some(self, n: int) -> list[str]:
        """About n of the held-out stories, from the first to the last."""
        return self.held_out[:: max(1, len(self.held_out) // n)]


def read(corpus: Path, out: Path, processes: Processes, seq: int, vocab_size: int = VOCAB_SIZE) -> StoryTexts:
    """Read all sources, and train the tokenizer in `out` unless an interrupted run left it there.

    Args:
        seq: tokens in one row of a batch; every source must have more.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    sources = {name: data.read_source(corpus, data.STORY_SOURCES[name]) for name in WEIGHTS}
    held_out = data.held_out(corpus)
    with processes.first_alone():
        tokenizer = trained_tokenizer(out, (d for documents in sources.values() for d in documents), vocab_size)
    streams = {name: data.encode_documents(tokenizer, documents) for name, documents in sources.items()}
    for name, stream in streams.items():
        if len(stream) <= seq:
            path = corpus / data.STORY_SOURCES[name][0]
            raise data.CorpusError(f"{path} has {len(stream)} tokens, too few for one row of {seq + 1}")
    return StoryTexts(tokenizer, streams, held_out)


def trained_tokenizer(out: Path, texts: Iterable[str], vocab_size: int) -> BPETokenizer:
    """The tokenizer of an interrupted run, or a new one trained on texts."""
    if (path := out / "tokenizer.json").is_file():
        loaded = load_tokenizer(path)
        if isinstance(loaded, BPETokenizer) and loaded.vocab_size == vocab_size:
            return loaded
    tokenizer = BPETokenizer.train(texts, vocab_size)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(out)
    return tokenizer
