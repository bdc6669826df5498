"""Word alignment by cross-attention: which word of the source a translation looks at as it writes each of its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.foundations.attention_maps import NAMES
from tfcore.analysis.foundations.text_pieces import cut_text
from tfcore.analysis.model.translation import source_ids
from tfcore.analysis.one_text import one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer


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
    """How an encoder-decoder writes a text it is told to write, token by token.

    Args:
        read: the ids the encoder reads, the separator at the end.
        written: the ids written.
        chances: before each of them, the probability of every token.
        patterns: where the position that foretells a token looks, one before its own.
    """

    read: list[int]
    written: list[int]
    chances: Float[ndarray, "written vocab"]
    patterns: Float[ndarray, "layer head written read"]

    @property
    def largest(self) -> Float[ndarray, " layer"]:
        """The largest weight of a row, averaged over the rows and heads of a layer: 1 would be one token looked at."""
        return self.patterns.max(-1).mean((1, 2))


@torch.no_grad()
def writing(model: Transformer, read: Sequence[int], written: Sequence[int]) -> Writing:
    """Let the model write `written` after it has read `read`, in one pass (teacher forcing)."""
    names = [NAMES["cross"].format(layer) for layer in range(model.config.decoder_layers)]
    decoder_ids = [model.config.start_id, *written[:-1]]
    output = model(one_text(model, read), decoder_ids=one_text(model, decoder_ids), capture=names)
    patterns = torch.stack([output.activations[name][0] for name in names])
    chances = output.logits[0].float().softmax(-1)
    return Writing(list(read), list(written), chances.cpu().numpy(), patterns.float().cpu().numpy())


def tokens_of(text: str, word: str, tokenizer: BPETokenizer) -> list[int]:
    """The places of the tokens that write a word of a text.

    Raises:
        ValueError: the word is not there.
    """
    start = text.index(word)
    return sorted(set(cut_text(text, tokenizer).token_of_character[start : start + len(word)].tolist()))


def right(
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
            of_heads.append(np.isin(row.argmax(-1), wanted))
            of_layers.append(np.isin(row.mean(1).argmax(-1), wanted))
    return np.mean(of_heads, axis=0), np.mean(of_layers, axis=0)
