"""Numbers of the cards of the real models, measured: `python -m tfcore.training.real_models --corpus PATH`."""

import argparse
import json
import sys
from pathlib import Path

import torch
from torch.nn.functional import cosine_similarity

from tfcore.loading.checkpoints import load
from tfcore.measures.one_text import next_logits, one_text
from tfcore.measures.text_loss import text_bits
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import data

STORIES = 100  # held-out ones
PLAY = 20_000  # characters of Shakespeare, the last ones
MARY = "When Mary and John went to the store, John gave a drink to"
ANIMAL = "The animal didn't cross the street because it was too {}."
CAT, KITTEN, MARKET = (
    "A cat sleeps on the sofa.",
    "A kitten is napping on the couch.",
    "The stock market fell on Monday.",
)


def of_smollm2(corpus: Path | None) -> dict[str, float]:
    """The numbers on the card of smollm2.

    Args:
        corpus: the folder with the corpora; None leaves out what needs them.
    """
    model, tokenizer = _loaded("smollm2")
    numbers = {"probability_of_mary": _next(model, tokenizer, MARY, " Mary")}
    numbers["weight_of_it_on_animal_in_13_8"] = weight(model, tokenizer, ANIMAL.format("tired"), 13, 8)
    if corpus is not None:
        stories = [text_bits(model, tokenizer, story) for story in data.held_out(corpus)[:STORIES]]
        numbers["bits_per_byte_of_stories"] = sum(one.total for one in stories) / sum(one.n_bytes for one in stories)
        play = (corpus / "tinyshakespeare" / "input.txt").read_text("utf-8")[-PLAY:]
        numbers["bits_per_byte_of_shakespeare"] = text_bits(model, tokenizer, play).per_byte
    return {name: round(value, 4) for name, value in numbers.items()}


def of_minilm() -> dict[str, float]:
    """The numbers on the card of minilm."""
    model, tokenizer = _loaded("minilm")
    cat, kitten, market = (sentence_vector(model, tokenizer, text) for text in (CAT, KITTEN, MARKET))
    numbers = {
        "weight_of_it_on_animal_in_3_1_tired": weight(model, tokenizer, ANIMAL.format("tired"), 3, 1),
        "weight_of_it_on_animal_in_3_1_wide": weight(model, tokenizer, ANIMAL.format("wide"), 3, 1),
        "similarity_of_cat_and_kitten": float(cosine_similarity(cat, kitten, dim=0)),
        "similarity_of_cat_and_market": float(cosine_similarity(cat, market, dim=0)),
    }
    return {name: round(value, 4) for name, value in numbers.items()}


def _loaded(name: str) -> tuple[Transformer, Tokenizer]:
    model, tokenizer = load(name, device="cpu")
    assert tokenizer is not None
    return model, tokenizer


@torch.inference_mode()
def _next(model: Transformer, tokenizer: Tokenizer, text: str, word: str) -> float:
    """The probability that the next token is this word's."""
    (token,) = tokenizer.encode(word)
    return float(next_logits(model, tokenizer.encode(text)).softmax(-1)[token])


@torch.inference_mode()
def weight(model: Transformer, tokenizer: Tokenizer, text: str, layer: int, head: int) -> float:
    """The attention weight of "it" on "animal" in one head."""
    ids = tokenizer.encode(text)
    words = [piece.strip().lower() for piece in tokenizer.tokens(ids)]
    name = f"blocks.{layer}.attn.pattern"
    pattern = model(one_text(model, ids), capture=(name,)).activations[name]
    return float(pattern[0, head, words.index("it"), words.index("animal")])


@torch.inference_mode()
def sentence_vector(model: Transformer, tokenizer: Tokenizer, text: str) -> torch.Tensor:
    """(d_model): the mean of the last hidden states over all tokens (arXiv:1908.10084, section 3), as this model was
    trained to be used."""
    return model(one_text(model, tokenizer.encode(text))).hidden[0].mean(0)


def main() -> None:
    """Print the numbers of both cards as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tfcore.training.real_models", description=__doc__)
    parser.add_argument("--corpus", type=Path, help="the folder with the corpora")
    corpus = parser.parse_args().corpus
    json.dump({"smollm2": of_smollm2(corpus), "minilm": of_minilm()}, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
