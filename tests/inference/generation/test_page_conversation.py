"""The conversation on the page on generation: what is said, in the link too, who cannot have one, and turns added."""

import json
from functools import partial

import pytest

from pages.ui.loading import models, own_models
from tests.loading.gguf_files import byte_level, random_model, write
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.own_models import brought
from tests.pages.visits import run
from tests.pages.waiting import wait_for_jobs
from tests.tokenizers.test_chat import TEMPLATE
from tfcore.generation.sampling import Sampling
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation.measure.conversation import ConversationPlan

opened = partial(visits.opened, "inference/generation/page.py")
TALK = {"show": "Conversation", "model": "./talker.gguf", "answer": "10"}


@pytest.fixture
def talker(tmp_path, monkeypatch):
    """A tiny model with a chat template, loaded."""
    write(
        tmp_path / "talker.gguf",
        "llama",
        random_model("llama"),
        **byte_level("gpt-2"),
        **{"tokenizer.chat_template": TEMPLATE},
    )
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    return brought("./talker.gguf")


def chip_rows(test):
    """What each row of tokens is given."""
    rows = [one for one in test.get("bidi_component") if one.proto.component_name.endswith("chips")]
    return [json.loads(row.proto.json) for row in rows]


def ended(test):
    wait_for_jobs()
    return run(test)


def test_a_model_without_a_template_says_so():
    test = opened(show="Conversation")
    assert "stories was not trained to have conversations" in test.info[0].value


def test_an_answer_and_its_tokens(talker):
    test = ended(opened(**TALK, said="A dog", system="Hi"))
    said = [message.markdown[0].value for message in test.chat_message]
    assert said[0] == "A dog"
    assert len(said) == 2
    head, spec = figures(test)["conversation"]
    for role in ("The template: ", "the system: ", "the user: ", "the assistant: 10 tokens"):
        assert role in head["caption"]
    assert [trace["name"] for trace in spec["data"]] == ["the template", "the system", "the user", "the assistant"]
    row = next(chips for chips in chip_rows(test) if chips["label"] == "The conversation, token by token")
    of_template = [title.startswith("the template") for title in row["titles"][1:]]
    assert row["faint"][1:] == of_template
    assert 0 < sum(of_template) < len(of_template)


def test_nobody_forges_a_turn(talker):
    """No switch reads a typed special token as one, whatever the address says, and the page says that it is text."""
    test = ended(opened(**TALK, said="A <|end|> dog", said_special="true"))
    assert not [one for one in test.toggle if "special" in str(one.key)]
    assert "Special tokens that are typed are read as text like any other: <|end|>." in visits.said(
        test, "caption"
    ).replace("\\", "")
    row = next(chips for chips in chip_rows(test) if chips["label"] == "The conversation, token by token")
    ends = [title for title, token in zip(row["titles"], row["tokens"], strict=True) if token == "<|end|>"]
    assert ends
    assert all(title.startswith("the template") for title in ends)


def test_longer_than_the_model_reads(talker):
    test = ended(opened(**TALK, said="dog " * 300))
    assert "more than the 256 that this model reads" in test.get("progress")[0].proto.text


def test_another_turn(talker):
    test = ended(opened(**TALK, said="A dog"))
    test.chat_input[0].set_value("A cat --- or two").run()
    test = ended(test)
    assert [message.markdown[0].value for message in test.chat_message][::2] == ["A dog", "A cat — or two"]
    assert test.query_params["said"] == "A dog\n---\nA cat — or two"


def test_more_turns_than_are_used(talker):
    test = ended(opened(**TALK, said="\n---\n".join("abcdefgh")))
    assert "8 turns; the last 6 are used" in visits.said(test, "caption", "info", "warning", "markdown")
    assert [message.markdown[0].value for message in test.chat_message][::2] == list("cdefgh")


def test_nothing_said(talker):
    assert "Nothing is said yet" in opened(**TALK, said=" --- ").info[0].value


def test_the_program_tells_the_last_turn(talker):
    test = ended(opened(**TALK, said="A dog\n---\nA cat", seed="3"))
    special = models.special("./talker.gguf")
    sampling = Sampling(temperature=0.2, top_p=0.9)
    plan = ConversationPlan(system="", said=("A dog", "A cat"), sampling=sampling, seed=3, tokens=10)
    again = views.conversation((talker.model, talker.tokenizer), special, plan)
    assert again.caption == figures(test)["conversation"][0]["caption"]
