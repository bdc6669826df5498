"""Drafts made of the model itself: the first blocks, and a table of single tokens."""

import pytest
import torch

from tests.nightly import nightly
from tests.small import difference, ids
from tests.small import model as small
from tfcore.generation.draft_models import SingleTokenTable, early_exit
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import speculative


@pytest.mark.parametrize("shape", [{}, {"positions": "learned"}, {"tie_embeddings": False}, {"norm_placement": "post"}])
def test_the_first_blocks_are_those_of_the_model(shape):
    model = small(n_layers=3, **shape)
    draft = early_exit(model, 2)
    stream = model(ids(), capture=("blocks.1.resid_post",)).activations["blocks.1.resid_post"]
    hidden = stream if shape.get("norm_placement") == "post" else model.decoder.ln_final(stream)
    table = model.embed.weight if model.config.tie_embeddings else model.unembed.weight
    assert difference(draft(ids()).logits, hidden @ table.T) < 1e-5
    assert draft.embed.weight is model.embed.weight or draft.embed.weight.data_ptr() == model.embed.weight.data_ptr()


def test_the_table_says_what_the_model_says_after_one_token():
    model = small()
    draft = SingleTokenTable(model)
    for token in (0, 7, 60):
        assert difference(draft.table[token], model(torch.tensor([[token]])).logits[0, 0]) < 1e-5


@nightly
def test_both_guess_and_the_text_is_the_models():
    model = small(n_layers=3)
    for draft in (early_exit(model, 1), SingleTokenTable(model)):
        found = speculative(model, draft, [3, 1, 4], Sampling(temperature=0), max_new_tokens=20, guess=3)
        assert list(found.ids) == generate(model, [3, 1, 4], Sampling(temperature=0), max_new_tokens=20)
        assert found.drafted > 0


def test_what_cannot_be_a_draft_is_refused():
    with pytest.raises(ValueError, match="n_layers=2 of a decoder of 2: take a decoder, and from 1 to 1"):
        early_exit(small(), 2)
    with pytest.raises(ValueError, match="n_layers=1 of a encoder"):
        early_exit(small(architecture="encoder"), 1)
    with pytest.raises(ValueError, match="a table of a decoder of 5000 ids"):
        SingleTokenTable(small(vocab_size=5000))
