"""The position table of a trained model: read as it is, its waves and its attention computed a second time."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.foundations.position_table import ROWS, position_table
from tfcore.loading.checkpoints import load


@pytest.mark.parametrize("architecture", ["decoder", "encoder"])
def test_it_is_the_models_own_table_and_attention(architecture):
    model = small.model(positions="learned", architecture=architecture)
    found = position_table(model, 12, seed=3)
    table = dict(model.named_parameters())[f"{architecture}.pos_embed.weight"].numpy()
    assert np.array_equal(found.table, table[:12])
    for i, j in ((0, 0), (2, 7), (11, 4)):
        cosine = table[i] @ table[j] / np.linalg.norm(table[i]) / np.linalg.norm(table[j])
        assert found.similarity[i, j] == pytest.approx(cosine, abs=1e-5)
    ids = torch.randint(0, 61, (ROWS, 12), generator=torch.Generator().manual_seed(3))
    rows = [model(row[None], capture=small.ALL_PATTERNS).activations["blocks.0.attn.pattern"][0].numpy() for row in ids]
    assert found.patterns == pytest.approx(np.mean(rows, axis=0), abs=1e-5)
    assert found.back(2)[3] == pytest.approx(np.mean([found.patterns[2, q, q - 3] for q in range(3, 12)]), abs=1e-6)


def test_its_waves_are_the_eigenvectors_of_the_covariance():
    model = small.model(positions="learned")
    found, table = position_table(model, 5), model.decoder.pos_embed.weight.numpy().astype(np.float64)
    variances, directions = np.linalg.eigh(np.cov(table.T))
    assert found.explained == pytest.approx(variances[::-1][:3] / variances.sum(), rel=1e-4)
    on_them = (table - table.mean(0)) @ directions[:, ::-1][:, :3]
    assert abs(found.waves) == pytest.approx(abs(on_them), abs=1e-4)


def test_a_model_without_a_table_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="take a model with positions='learned'"):
        position_table(small.model(positions="rope"), 5)


def test_the_shipped_table_is_what_its_card_and_the_page_say():
    model, _ = load("stories-learned", device="cpu")
    found = position_table(model, 64)
    assert np.diagonal(found.similarity, 1).mean() == pytest.approx(0.91, abs=0.01)
    assert np.diagonal(found.similarity, 32).mean() == pytest.approx(-0.27, abs=0.01)
    assert found.explained.sum() == pytest.approx(0.93, abs=0.01)
    assert [found.back(head).argmax() for head in (0, 1)] == [1, 1]  # most on the token before
    assert all(found.back(head)[1] < 0.1 for head in (2, 3))
