"""The page on features: those of the text, one chosen by click and by keyboard, searched, off and forced on."""

from functools import partial

import numpy as np
import pytest

from pages.inside.features.grow import BEGIN, STREAM, grow_dictionary
from pages.ui import cache
from pages.ui.work import jobs
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import run
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.interventions import effect
from tfcore.measures.token_text import visible
from tfcore.training import growing_dictionaries
from tfcore.training.growing_dictionaries import GrowDictionaryConfig
from tfcore.views.inside import features as views
from tfcore.views.inside.features.measure.of_text import feature_activations
from tfcore.views.sources import Reading

opened = partial(visits.opened, "inside/features/page.py")
TEXT = "Lily had a dog. One day, they went to the park and saw a big"


def values(dictionary):
    return views.activations_of(Reading("stories", TEXT), dictionary)


def words(test):
    return visits.said(test, "markdown", "caption")


def test_it_begins_with_a_feature_whose_examples_are_what_it_is_called():
    test = opened()
    assert test.selectbox(key="feature4").value == 1345
    assert views.words_of("stories", 4)[1345].startswith("·park")
    assert "Feature stream/1345" in [element.value for element in test.subheader]
    assert "What to see." in words(test)


def test_a_link_of_before_begins_with_the_dog():
    assert opened(v="3").selectbox(key="feature4").value == 622


@pytest.mark.parametrize("dictionary", often(range(4), [3]))
def test_a_layer_begins_with_a_feature_that_tells_much_and_in_links_of_before_with_the_strongest(dictionary):
    key, telling = f"feature{dictionary}", views.telling_feature(Reading("stories", TEXT), dictionary)
    assert opened(dictionary=f"layer {dictionary}").selectbox(key=key).value == telling
    before = opened(dictionary=f"layer {dictionary}", v="3")
    assert before.selectbox(key=key).value == values(dictionary).max(0).argmax()


def test_the_map_has_the_strongest_and_the_chosen_one():
    own = values(4)
    rows = views.rows_of(own, 622, 12)
    assert rows[-1] == 622
    assert set(rows[:-1]) == set(sorted(range(1536), key=lambda i: -own[:, i].max())[:12])
    assert views.rows_of(own, rows[0], 12) == rows[:-1]
    assert views.rows_of(own, 3, 12, [5, 3]) == [5, 3]


def test_a_feature_in_the_address_by_its_number():
    assert opened(dictionary="layer 3", feature3="189").selectbox(key="feature3").value == 189


def test_search_lists_features_of_a_token():
    test = opened(dictionary="layer 1", search=" dog")
    scan, dog = load_feature_scan("stories"), cache.model("stories")[1].encode(" dog")[0]
    shares = np.where(scan.token[1] == dog, scan.token_share[1], 0).max(1)
    assert str(shares.argmax()) in words(test)
    assert test.selectbox(key="feature1").value == shares.argmax()
    assert "among its most frequent tokens" in words(opened(search=" shall"))


def test_forced_on_the_dog_comes_back():
    found = views.held_of(Reading("stories", TEXT), 4, 622, 1.0)
    model, tokenizer = cache.model("stories")
    dog = tokenizer.encode(" dog")[0]
    before = effect(model, tokenizer.encode(TEXT), (), 16).before[dog]
    assert found.effect.before[dog] == pytest.approx(before, abs=1e-6)
    assert found.effect.after[dog] > 0.5 > before
    assert found.after[0] == dog


def test_the_activations_are_those_of_the_dictionary():
    model, tokenizer = cache.model("stories")
    found = feature_activations(model, chosen_dictionary("stories", 2), tokenizer.encode(TEXT))
    assert (found == values(2)).all()


def test_a_feature_that_was_never_active():
    test = opened(dictionary="layer 3", feature3="118")
    assert test.selectbox(key="feature3").value == 118
    assert "It was active in none of the held-out texts." in words(test)


@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 90])
def test_any_text(text):
    test = opened()
    test.text_area(key="text").set_value(text)
    assert not run(test).exception


def test_no_text_is_said_so():
    assert "There is no text yet" in opened(text="").info[0].value


def test_a_dictionary_grows_is_stopped_and_begins_again(monkeypatch):
    for name, value in {"ROWS": 2, "HELD_OUT": 2, "NAMED_ON": 4}.items():
        monkeypatch.setattr(growing_dictionaries, name, value)
    wait = jobs.Jobs.wait  # on a busy machine the first look may take longer than the page waits for it
    monkeypatch.setattr(jobs.Jobs, "wait", lambda self, key, items, _: wait(self, key, items, 240))
    test = opened(show="train one yourself", grow_steps="600", n_features="128", k="4")
    assert set(figures(test)) == {"quality", "cosines"}
    assert "held-out tokens: loss recovered" in figures(test)["quality"][0]["caption"]
    visits.press(test, "stop")
    config = GrowDictionaryConfig(steps=600, n_features=128, top_k=4)
    assert jobs.JOBS.look(config, "").state == "stopped"
    visits.press(test, "anew")
    visits.press(test, "stop")


def test_the_table_names_what_fires_beside_its_closest(monkeypatch):
    for name, value in {"ROWS": 2, "BATCHES": 2, "HELD_OUT": 2, "NAMED_ON": 4}.items():
        monkeypatch.setattr(growing_dictionaries, name, value)
    last = list(growing_dictionaries.grow_dictionary(GrowDictionaryConfig(steps=2, n_features=64, top_k=4)))[-1]
    table = views.feature_table(last, 4)
    assert list(table["feature"]) == sorted(table["feature"], key=lambda i: -last.moment.cosine[i])
    assert set(table["feature"]) == set(last.features.fires.nonzero()[0])
    first = table.iloc[0]
    named = first["closest shipped"].split()[0]
    assert int(named) == last.moment.closest[first["feature"]]
    token = cache.model("stories")[1].tokens([int(last.features.tokens[first["feature"]][0])])[0]
    assert first["its tokens"].split(" ")[0] == visible(token)


@nightly
@pytest.mark.parametrize("seed", [0, 1])
def test_random_directions_recover_half_of_the_loss_in_the_stream_and_nothing_in_layer_2(seed):
    assert (BEGIN.n_features, BEGIN.top_k) == (512, 16)

    def at_first(dictionary: int) -> float:
        config = GrowDictionaryConfig(dictionary=dictionary, steps=50, seed=seed)
        first = next(found for found in grow_dictionary(config) if found is not None)
        return float(first.moment.quality.loss_recovered)

    assert at_first(STREAM) > 0.5
    assert at_first(2) < 0.1
