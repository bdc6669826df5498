"""Views of quantisation: of a model in memory the same as of its name, but for what it is called."""

import pytest

from tfcore.loading.checkpoints import load
from tfcore.measures.quantisation.formats import Scheme
from tfcore.measures.quantisation.rounded_cache import CacheScheme
from tfcore.views.inference import quantisation as views
from tfcore.views.inference.quantisation.measure.losses import HOW
from tfcore.views.inference.quantisation.measure.written import WAYS
from tfcore.views.sources import Reading

TEXT = "Once upon a time there was a little dog named Max."


@pytest.fixture(scope="module")
def stories():
    model, tokenizer = load("stories")
    return model.eval(), tokenizer


VIEWS = {
    "row": lambda model: views.row(model, 1, "down", 3, Scheme()),
    "errors": lambda model: views.by_layer(model, Scheme(per="row")),
    "block": lambda model: views.block(model, 0, "q", 2, 1),
    "channels": lambda model: views.channels(Reading(model, TEXT), "qkv", 1, first=False),
    "activation errors": lambda model: views.activation_errors(Reading(model, TEXT), "down", 4, 0),
    "keys": lambda model: views.keys(Reading(model, TEXT), 1, 4, CacheScheme(), "values"),
    "maps": lambda model: views.maps(Reading(model, TEXT), 1, 4, CacheScheme(bits=4)),
}


@pytest.mark.parametrize("key", VIEWS)
def test_a_model_in_memory_is_shown_as_its_name_is(key, stories):
    named, nameless = VIEWS[key]("stories"), VIEWS[key](stories)
    assert named.key == nameless.key == key
    assert nameless.chart.to_json() == named.chart.to_json()
    assert nameless.csv() == named.csv()
    assert str(nameless).replace("a model of your own", "stories") == str(named)


def test_what_was_not_measured_of_a_whole_model_is_not_said():
    assert "int8: one scale per matrix" in str(views.loss_of_all("stories", "weights", "int8"))
    assert views.loss_of_all("stories", "activations", "int5") is None


def test_the_same_words_follow_a_prompt_as_the_model_and_as_eight_bits_write_it():
    found = views.continuations("stories", TEXT, "int8", 4)
    assert list(found.texts) == ["as it is", *(HOW[how] for how in WAYS)]
    assert found.texts["as it is"] == found.texts["one scale per row"] != ""
    assert "Of 4 tokens" in str(found.said)
