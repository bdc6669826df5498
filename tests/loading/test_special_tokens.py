"""The tokens that end texts, and chat templates, of folders as Hugging Face has them."""

import json

import pytest

import tfcore
from tests import own_folders
from tfcore import CheckpointError
from tfcore.loading.special_tokens import SpecialTokens, special_tokens


@pytest.fixture
def folder(tmp_path):
    own_folders.write(tmp_path, "gpt2")
    return tmp_path / "gpt2"


def found(folder, **config):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return special_tokens(folder, tfcore.load(folder)[1])


def test_the_ends_of_a_config(folder):
    named = tfcore.load(folder)[1].special_tokens["</s>"]
    assert found(folder, eos_token_id=5).ends == (named, 5)
    several = found(folder, eos_token_id=[7, 5])
    assert (several.last, several.ends) == (7, (named, 5, 7))
    for wrong in (None, -1, 320, True, "x", {}):
        assert found(folder, eos_token_id=wrong) == SpecialTokens(ends=(named,))


def test_templates(folder):
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "one"}))
    assert found(folder).template == "one"
    several = [{"name": "tool_use", "template": "two"}, {"name": "default", "template": "three"}, "odd"]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": several}))
    assert found(folder).template == "three"
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": 3}))
    assert found(folder).template == ""
    (folder / "chat_template.jinja").write_text("four")
    assert found(folder).template == "four"
    (folder / "chat_template.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="cannot be read as text"):
        found(folder)
    (folder / "chat_template.jinja").write_text("x" * 100_001)
    assert found(folder).template == ""


def test_a_shipped_model_ends_with_its_separator():
    tokenizer = tfcore.load("stories")[1]
    assert special_tokens("stories", tokenizer).ends == (tokenizer.separator_id,)
