"""Encoder, decoder, encoder-decoder: who sees whom in the whole model, and each kind at the task it is trained for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.config import Architecture, ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.masks import bidirectional, causal
from tfcore.measures.masked_tokens import guesses, mask_id, with_blanks
from tfcore.measures.one_text import piece_of
from tfcore.measures.parameter_count import parameters
from tfcore.measures.text_loss import Likeliest, next_tokens, top
from tfcore.measures.translation import Writing, source_ids, writing, written
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer
from tfcore.views.model.parameters.measure import published_sizes

END = "<end>"  # the separator, as it is shown


def seen(architecture: Architecture, read: int, written: int) -> Bool[ndarray, "query key"]:
    """A matrix of which token may look at which, of a text that is read and one that is written after it.

    An encoder sees all, in both directions; a decoder looks back only, at what it read and what it wrote alike. An
    encoder-decoder does both: what is read sees itself whole, what is written looks back at itself and, by
    cross-attention, at all that was read (arXiv:1706.03762, section 3.2.3).

    Args:
        read, written: how many tokens.
    """
    n = read + written
    if architecture == "encoder":
        return bidirectional(n).numpy()
    mask = causal(n)
    if architecture == "encoder-decoder":
        mask[:read, :read] = torch.ones(read, read, dtype=torch.bool)
    return mask.numpy()


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable tokens at one place, the first first; at least one."""

    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]


def prediction(best: Likeliest, tokenizer: Tokenizer) -> Prediction:
    """Ids with their probabilities as tokens."""
    end = getattr(tokenizer, "separator_id", None)
    tokens = (END if i == end else piece_of(tokenizer, i) for i in best.ids.tolist())
    return Prediction(tuple(tokens), tuple(best.probabilities.tolist()))


@dataclass(frozen=True, slots=True)
class Translated:
    """A sentence as an encoder-decoder translates it greedily.

    Args:
        source, target: tokens read and written, END the last of both.
        predictions: of each target token.
    """

    writing: Writing
    source: tuple[str, ...]
    target: tuple[str, ...]
    predictions: tuple[Prediction, ...]

    def weights(self, layer: int, head: int | None) -> Float[ndarray, "written read"]:
        """Cross-attention of a head, or the mean over the heads of its layer."""
        heads = self.writing.patterns[layer]
        return heads.mean(0) if head is None else heads[head]


def translated(model: Transformer, tokenizer: BPETokenizer, sentence: str, limit: int, count: int) -> Translated:
    """Translate the first `limit` tokens of a sentence, with the `count` most probable tokens at each step."""
    *ids, end = source_ids(tokenizer, sentence)
    ids = [*ids[:limit], end]
    run = writing(model, ids, written(model, tokenizer, ids))
    return Translated(
        run,
        (*tokenizer.tokens(ids[:-1]), END),
        (*tokenizer.tokens(run.written[:-1]), END),
        tuple(prediction(top(row, count), tokenizer) for row in run.probabilities),
    )


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with masked tokens, as an encoder reads it.

    Args:
        tokens: without the separator before them; a masked one is the sign that stands for it.
        places: of the masked ones among them.
        predictions: of each.
    """

    tokens: tuple[str, ...]
    places: tuple[int, ...]
    predictions: tuple[Prediction, ...]


def masked(model: Transformer, tokenizer: BPETokenizer, text: str, sign: str, count: int) -> Masked:
    """Predict each masked token of a text, `sign` in the place of one, from both sides."""
    ids, blank = with_blanks(tokenizer, text, sign)[: model.config.max_seq_len], mask_id(tokenizer)
    places = [place for place, token in enumerate(ids) if token == blank]
    rows = guesses(model, tokenizer, ids) if places else np.empty((0, 0))
    return Masked(
        tuple(sign if token == blank else piece_of(tokenizer, token) for token in ids[1:]),
        tuple(place - 1 for place in places),
        tuple(prediction(top(row, count), tokenizer) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Continued:
    """A text as a decoder goes on with it greedily.

    Args:
        tokens: written.
        prediction: of the first of them; None where there is no text.
    """

    tokens: tuple[str, ...]
    prediction: Prediction | None


def continued(model: Transformer, tokenizer: BPETokenizer, text: str, new: int, room: int, count: int) -> Continued:
    """Go on with a text by `new` tokens, and say what was the most probable first.

    Args:
        room: tokens of the context that stay free; of a longer text the beginning is cut.
    """
    ids: Sequence[int] = tokenizer.encode(text)[-(model.config.max_seq_len - room) :]
    if not ids:
        return Continued((), None)
    new_ids = generate(model, ids, Sampling(temperature=0), max_new_tokens=new) if new else []
    return Continued(tuple(tokenizer.tokens(new_ids)), prediction(next_tokens(model, ids, count), tokenizer))


# name: (year, kind, what it is trained on, arXiv, preset)
MODELS: dict[str, tuple[int, Architecture, str, str, str | None]] = {
    "Transformer base": (2017, "encoder-decoder", "translation pairs", "1706.03762", "transformer_base"),
    "GPT-2 small": (2019, "decoder", "next token", "", "gpt2_small"),
    "BERT base": (2018, "encoder", "masked language modelling, 15 %", "1810.04805", "bert_base"),
    "RoBERTa": (2019, "encoder", "masked language modelling, dynamic masking", "1907.11692", None),
    "T5 base": (2019, "encoder-decoder", "span corruption", "1910.10683", "t5_base"),
    "BART": (2019, "encoder-decoder", "denoising", "1910.13461", None),
    "GPT-3": (2020, "decoder", "next token", "2005.14165", "gpt3_175b"),
    "ViT": (2020, "encoder", "image labels", "2010.11929", None),
    "Whisper": (2022, "encoder-decoder", "speech and transcripts", "2212.04356", None),
    "LLaMA 3 8B": (2024, "decoder", "next token", "2407.21783", "llama3_8b"),
    "Mixtral 8x7B": (2024, "decoder", "next token", "2401.04088", "mixtral_8x7b"),
    "ModernBERT": (2024, "encoder", "masked language modelling, 30 %", "2412.13663", None),
}


def real_models() -> pd.DataFrame:
    """Real models, a row each; parameters are counted from the config where we have it: of the checkpoint that was
    published."""
    rows = []
    for name, (year, kind, trained, paper, preset) in sorted(MODELS.items(), key=lambda entry: entry[1][0]):
        count = _published(PRESETS[preset]()) if preset else None
        link = f"https://arxiv.org/abs/{paper}" if paper else None
        rows.append(
            {"model": name, "year": year, "kind": kind, "trained on": trained, "parameters": count, "paper": link}
        )
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


def _published(config: ModelConfig) -> int:
    sizes = published_sizes(config)
    return parameters(config).total if sizes is None else sizes.checkpoint
