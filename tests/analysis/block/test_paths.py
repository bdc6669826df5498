"""All ways through a model at once, held against edits of the model itself, one by one."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tfcore.analysis.block.paths import continue_without, every_subset, names, single_rises
from tfcore.generation.generate import generate
from tfcore.inspection.edits import Edit

TEXT = small.ids(1, 9)[0].tolist()


def test_every_subset_is_the_model_with_these_sublayers_set_to_zero():
    model = small.model()
    result, every = every_subset(model, TEXT), names(2)
    assert every == ["blocks.0.attn_out", "blocks.0.mlp_out", "blocks.1.attn_out", "blocks.1.mlp_out"]
    for size in range(5):
        for without in itertools.combinations(range(4), size):
            logits = model(torch.tensor([TEXT]), edits=[Edit.zero(every[s]) for s in without]).logits[0, :-1]
            expected = F.cross_entropy(logits, torch.tensor(TEXT[1:]), reduction="none")
            row = result.row(without)
            assert result.removed[row] == size
            np.testing.assert_allclose(result.losses[row], expected.numpy(), atol=2e-5)


def test_counts_are_binomial():
    result = every_subset(small.model(), TEXT)
    assert np.bincount(result.removed).tolist() == [1, 4, 6, 4, 1]


def test_the_whole_model_goes_on_as_generate_does():
    model = small.model()
    assert continue_without(model, TEXT, (), 12) == generate(model, TEXT, max_new_tokens=12, temperature=0)


def test_without_sublayers_it_goes_on_as_without_a_cache():
    model, without = small.model(), (0, 3)
    edits = [Edit.zero(names(2)[s]) for s in without]
    text = list(TEXT)
    for _ in range(5):
        text.append(int(model(torch.tensor([text]), edits=edits).logits[0, -1].argmax()))
    assert continue_without(model, TEXT, without, 5) == text[len(TEXT) :]


def test_a_full_context_is_not_exceeded():
    model = small.model()
    assert len(continue_without(model, small.ids(1, 30)[0].tolist(), (1,), 12)) == 2


def test_too_little_text_and_other_kinds_of_models_are_refused():
    with pytest.raises(ValueError, match="at least two"):
        every_subset(small.model(), [3])
    with pytest.raises(ValueError, match="pre-norm"):
        every_subset(small.model(norm_placement="post"), TEXT)


def test_the_rise_of_one_sublayer_is_that_of_running_without_it():
    model, targets = small.model(), torch.tensor(TEXT[1:])
    losses = [
        float(F.cross_entropy(model(torch.tensor([TEXT]), edits=edits).logits[0, :-1], targets))
        for edits in ([], *([Edit.zero(name)] for name in names(2)))
    ]
    assert single_rises(every_subset(model, TEXT)) == pytest.approx([loss - losses[0] for loss in losses[1:]], abs=1e-4)
