"""The page on architectures: what it says is what the models do."""

from functools import partial

import numpy as np
from streamlit.testing.v1 import AppTest

from pages.model.architectures import tasks
from pages.model.architectures.facts import FACTS
from pages.ui import cache
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore import shipped
from tfcore.measures.one_text import one_text
from tfcore.measures.translation import source_ids, translate, written
from tfcore.views.model import architectures as views

opened = partial(visits.opened, "model/architectures/page.py")
SENTENCE = "I know him very well."


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


def drawn(test: AppTest) -> np.ndarray:
    return array(figures(test)["alignment"][1]["data"][1]["z"])


def test_the_masks_follow_the_sliders():
    test = opened(read="3", written="2")
    pairs = [figures(test)[f"seen-{kind}"][0]["caption"] for kind in ("encoder", "decoder", "encoder-decoder")]
    assert [words.split(": ")[1].split(" pairs")[0] for words in pairs] == ["25 of 25", "15 of 25", "18 of 25"]


def test_the_alignment_is_the_model_s_own():
    test = opened(sentence=SENTENCE, layer="1", head="2")
    model, tokenizer = cache.model("translate")
    ids = source_ids(tokenizer, SENTENCE)
    out = written(model, tokenizer, ids)
    assert tokenizer.decode(out[:-1]) == translate(model, tokenizer, SENTENCE)
    name = "decoder.blocks.1.cross_attn.pattern"
    output = model(
        one_text(model, ids), decoder_ids=one_text(model, [model.config.start_id, *out[:-1]]), capture=[name]
    )
    np.testing.assert_allclose(drawn(test), output.activations[name][0, 2], atol=1e-6)
    test.selectbox(key="head").set_value("mean")
    np.testing.assert_allclose(drawn(run(test)), output.activations[name][0].mean(0), atol=1e-6)


def test_an_adjective_finds_its_word_behind_the_noun():
    test = opened()
    model, tokenizer = cache.model("translate")
    read = tokenizer.tokens(tokenizer.encode("She gave me a red book yesterday."))
    wrote = tokenizer.tokens(tokenizer.encode(translate(model, tokenizer, "She gave me a red book yesterday.")))
    weights = drawn(test)
    for ours, theirs in ((" rouge", " red"), (" livre", " book")):
        assert int(weights[wrote.index(ours), :-1].argmax()) == read.index(theirs)
    assert wrote.index(" livre") < wrote.index(" rouge")
    assert read.index(" red") < read.index(" book")


def test_empty_boxes_ask_for_a_text():
    for job, box in (("translate", "sentence"), ("continue the text", "beginning")):
        test = opened(job=job)
        test.text_area(key=box).set_value("")
        assert "There is no" in said(run(test))


def test_the_model_of_every_task_ships():
    assert set(FACTS.sections.names) <= set(shipped())


def test_known_models_are_counted():
    table = opened().dataframe[0].value.set_index("model")
    assert table.loc["GPT-2 small", "parameters"] == 124_439_808
    assert table.loc["BERT base", "parameters"] == 110_106_428  # the checkpoint, with both heads
    assert table.loc["Mixtral 8x7B", "parameters"] == 46_702_792_704


def test_the_words_and_the_mask_behave_as_the_page_says():
    sentence, blanks = tasks.TEXTS["translate"], tasks.TEXTS["fill"]
    words = [token.strip() for token in views.translated_of("translate", sentence, views.MOST, 1).target]
    assert words.index("rouge") == words.index("livre") + 1
    assert words.index("donna") == words.index("me") + 1
    other = blanks.replace("because he had lost his bone", "and ate all the food")
    assert other != blanks
    best = [views.masked_of("fill", one, views.BLANK, 1).predictions[0].tokens for one in (blanks, other)]
    assert best[0] != best[1], "the encoder's prediction changes with what comes after"
    left, right = (
        views.continued_of("stories", one.split(views.BLANK)[0].rstrip(), 0, views.NEW, 1) for one in (blanks, other)
    )
    assert left == right


def test_a_click_on_a_small_map_chooses_its_layer_and_head(monkeypatch):
    chosen = {}
    monkeypatch.setattr(tasks.controls, "set_values", chosen.update)
    found = views.translated_of("translate", SENTENCE, views.MOST, 1)
    patterns = found.writing.patterns
    layers, heads, n, across = patterns.shape
    canvas, targets = views.every_head("translate", SENTENCE, 0, None).chart.data[:2]
    assert len(targets["x"]) == layers * heads
    for place, x, y in zip(targets["customdata"], targets["x"], targets["y"], strict=True):
        tasks.choose_head({"customdata": [int(part) for part in place]})
        layer, head = chosen["layer"], int(chosen["head"])
        top, left = round(y - n / 2), round(x - across / 2)
        np.testing.assert_array_equal(
            canvas["z"][top : top + n, left : left + across], np.round(255 * patterns[layer, head]).astype(np.uint8)
        )


def test_of_two_blanks_the_second_is_predicted_from_all_before_it():
    text = "The ___ was very ___ today."
    test = opened(job="predict a masked token", blanks=text, blank="1")
    before = views.masked_of("fill", text, views.BLANK, 1).places[1]
    alone = views.left_side("stories", "The  was very", before)
    assert figures(test)["left-side"][0]["alt"] == alone.alt
    assert alone.alt.startswith(f"The decoder's prediction, from the {before} tokens before it: ")
