"""The tokens that end texts, and chat templates, of folders as Hugging Face has them."""

import json

import pytest
import torch
import transformers as hf

import tfcore
from tests import own_folders
from tfcore import CheckpointError
from tfcore.generation.sampling import Sampling
from tfcore.loading.special_tokens import SpecialTokens, special_tokens
from tfcore.loading.tokenizer_config import declared_in
from tfcore.tokenizers.isolated import read_tokenizer


@pytest.fixture
def folder(tmp_path):
    own_folders.write(tmp_path, "gpt2")
    return tmp_path / "gpt2"


def say(folder, name, **said):
    (folder / name).write_text(json.dumps(said))


def found(folder, **config):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return special_tokens(folder, tfcore.load(folder)[1])


def test_the_ends_of_a_config(folder):
    named = tfcore.load(folder)[1].special_tokens["</s>"]
    assert found(folder, eos_token_id=5).ends == (named, 5)
    text = tfcore.load(folder)[1].tokens([7])[0]
    several = found(folder, eos_token_id=[7, 5])
    assert (dict(several.names), several.ends) == ({"eos_token": text}, (named, 5, 7))
    for wrong in (None, -1, 320, True, "x", {}):
        assert found(folder, eos_token_id=wrong) == SpecialTokens(ends=(named,))


def test_words_of_the_tokenizers_own_config_count_before_ids(folder):
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({"bos_token": {"content": "</s>"}, "eos_token": ["<s>", "</s>"], "pad_token": None}))
    special = found(folder, bos_token_id=5, eos_token_id=7, pad_token_id=8)
    assert dict(special.names) == {
        "bos_token": "</s>",
        "eos_token": "<s>",
        "pad_token": tfcore.load(folder)[1].tokens([8])[0],
    }
    named = tfcore.load(folder)[1].special_tokens
    assert special.ends == tuple(sorted((named["<s>"], named["</s>"], 7)))


WRONG = {
    "a token that is no text": ({"bos_token": 3}, "bos_token must be a text of at most 1,024 characters, or an object"),
    "ids that are none": ({"added_tokens_decoder": {"x": {}}}, "added_tokens_decoder must have an id for each token"),
    "a token without flags": ({"added_tokens_decoder": {"400": "x"}}, "has no token under 400 with settings that are"),
    "tokens in no list": ({"additional_special_tokens": "<x>"}, "additional_special_tokens must be a list"),
    "too many": ({"additional_special_tokens": [f"<{i}>" for i in range(10_001)]}, "it declares 10,001 tokens, and at"),
    "no JSON": ("{", "cannot be read as JSON"),
}


@pytest.mark.parametrize(("said", "sentence"), WRONG.values(), ids=list(WRONG))
def test_a_tokenizer_config_that_cannot_be(said, sentence, folder):
    (folder / "tokenizer_config.json").write_text(said if isinstance(said, str) else json.dumps(said))
    with pytest.raises(CheckpointError, match=f"tokenizer_config.json.*{sentence}"):
        tfcore.load(folder)


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


@pytest.mark.parametrize("ends", [5, [5], [7, 5, 301]])
def test_writing_ends_where_generate_of_transformers_ends(folder, ends):
    say(folder, "generation_config.json", eos_token_id=ends, bos_token_id=0)
    special = found(folder, eos_token_id=9)
    theirs = hf.AutoModelForCausalLM.from_pretrained(folder)
    assert list(special.ends) == sorted(theirs.generation_config.eos_token_id if isinstance(ends, list) else [ends])
    ours, prompt = tfcore.load(folder, device="cpu")[0], [3, 1, 4]
    free = tfcore.generate(ours, prompt, Sampling(temperature=0), max_new_tokens=12)
    say(folder, "generation_config.json", eos_token_id=[free[4], 7])  # so that one of them comes
    theirs = hf.AutoModelForCausalLM.from_pretrained(folder)
    expected = theirs.generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=False, pad_token_id=0)[0].tolist()
    written = tfcore.generate(ours, prompt, Sampling(temperature=0), max_new_tokens=12, stop_ids=found(folder).ends)
    assert written in (expected, expected[len(prompt) :], expected[len(prompt) : -1])
    assert len(written) < 12


def test_a_generation_config_that_names_no_end_changes_nothing(folder):
    named = tfcore.load(folder)[1].special_tokens["</s>"]
    for said in ({}, {"eos_token_id": None}, {"eos_token_id": 320}, {"eos_token_id": "x"}):
        say(folder, "generation_config.json", **said)
        assert found(folder, eos_token_id=5).ends == (named, 5), said
    (folder / "generation_config.json").write_text("[")
    with pytest.raises(CheckpointError, match=r"generation_config\.json cannot be read as JSON"):
        found(folder)


MAPS = {
    "the map alone": (
        None,
        {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "pad_token": "<p>"},
    ),
    "both": ({"eos_token": "<s>", "pad_token": "<s>"}, {"eos_token": "</s>"}),
    "a file that lists its tokens": (
        {"eos_token": "<s>", "added_tokens_decoder": {"0": {"content": "<s>", "special": True}}},
        {"eos_token": "</s>", "pad_token": "</s>"},
    ),
    "no map": ({"eos_token": "<s>"}, None),
}


@pytest.mark.parametrize(("config", "named"), MAPS.values(), ids=MAPS)
def test_a_map_names_tokens_as_transformers_reads_it(folder, config, named):
    (folder / "generation_config.json").unlink(missing_ok=True)
    say(folder, "config.json", **json.loads((folder / "config.json").read_text()) | {"vocab_size": 330})
    for name, said in (("tokenizer_config.json", config), ("special_tokens_map.json", named)):
        if said is not None:
            say(folder, name, **said)
    theirs = hf.PreTrainedTokenizerFast.from_pretrained(folder)
    ours = read_tokenizer(folder / "tokenizer.json", declared_in(folder), 330)
    names = dict(special_tokens(folder, ours).names)
    for key in ("bos_token", "eos_token", "pad_token"):
        assert names.get(key) == getattr(theirs, key), key
        if names.get(key):
            assert ours.special_tokens[names[key]] == getattr(theirs, f"{key}_id"), key


def test_a_map_that_cannot_be_is_named(folder):
    say(folder, "special_tokens_map.json", eos_token=3)
    with pytest.raises(CheckpointError, match=r"special_tokens_map\.json: eos_token must be a text"):
        tfcore.load(folder)
