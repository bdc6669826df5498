"""How a folder of sentence-transformers says that its sentence vectors are made, and what is refused."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import load
from tfcore.loading.sentence_vectors import pooling_of

MODES = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def written(folder: Path, *modes: str, steps: object = ("Transformer", "Pooling", "Normalize")) -> Path:
    (folder / "1_Pooling").mkdir(exist_ok=True, parents=True)
    said = {f"pooling_mode_{mode}": mode in modes for mode in MODES}
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 8, **said}), "utf-8")
    if isinstance(steps, tuple):
        steps = [{"idx": i, "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(steps)]
    (folder / "modules.json").write_text(json.dumps(steps), "utf-8")
    return folder


def test_the_rule_is_that_of_the_folder(tmp_path):
    assert pooling_of(tmp_path) == "mean"  # of a folder without such files
    for mode, expected in (("cls_token", "first"), ("mean_tokens", "mean"), ("mean_sqrt_len_tokens", "mean")):
        assert pooling_of(written(tmp_path, mode)) == expected
    assert pooling_of(written(tmp_path, "lasttoken")) == "last"
    assert pooling_of(written(tmp_path, "max_tokens")) == "unread"
    assert pooling_of(written(tmp_path, "weightedmean_tokens")) == "unread"
    assert pooling_of(written(tmp_path, "mean_tokens", "cls_token")) == "unread"  # both, one after the other
    assert pooling_of(written(tmp_path)) == "unread"
    assert pooling_of(written(tmp_path, "mean_tokens", steps=("Transformer", "Pooling", "Dense"))) == "unread"
    (tmp_path / "modules.json").unlink()
    assert pooling_of(tmp_path) == "mean"


@pytest.mark.parametrize("steps", [{}, [1], "x"], ids=str)
def test_a_damaged_list_of_steps_is_named(tmp_path, steps):
    with pytest.raises(CheckpointError, match=r"modules\.json must hold a JSON list of objects"):
        pooling_of(written(tmp_path, "mean_tokens", steps=steps))
    (tmp_path / "modules.json").write_text("[{", "utf-8")
    with pytest.raises(CheckpointError, match="cannot be read as JSON"):
        pooling_of(tmp_path)


def test_a_loaded_model_knows_it(tmp_path):
    config = transformers.BertConfig(
        vocab_size=11,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(tmp_path)
    written(tmp_path, "cls_token")
    assert load(tmp_path, device="cpu")[0].config.sentences == "first"
