"""The recipe of `fill`: where its embeddings come from."""

from dataclasses import replace

import pytest
import torch

from tfcore.loading.checkpoints import load
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training.recipes.fill import FILL, take_embeddings


def test_all_tokens_but_the_blank_begin_as_those_of_stories():
    stories, tokenizer = load("stories", device="cpu")
    assert isinstance(tokenizer, BPETokenizer)
    model = Transformer(replace(FILL.model, n_layers=1), seed=3)
    blank = model.embed.weight[-1].clone()
    take_embeddings(model, tokenizer, "stories")
    assert torch.equal(model.embed.weight[:-1], stories.embed.weight)
    assert torch.equal(model.embed.weight[-1], blank)


def test_other_tokens_are_refused():
    other = BPETokenizer.train(["a story of other words"], 260)
    with pytest.raises(ValueError, match="another tokenizer"):
        take_embeddings(Transformer(replace(FILL.model, n_layers=1)), other, "stories")
