"""The page on tokens: every part at its defaults, its ends, from damaged addresses, with hostile text and files."""

import io
import wave
from functools import partial

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.foundations.tokens import embeddings
from pages.ui import cache, session
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run
from tfcore import presets
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.measure import embedding_table
from tfcore.views.foundations.tokens.say.embeddings import published_vocabularies

opened = partial(visits.opened, "foundations/tokens/page.py")
PARTS = ("Text", "Merges, one by one", "Learning merges", "Image", "Sound", "Time series", "Protein", "Embedding table")


def said(test: AppTest) -> str:
    """What the page says, without the backslashes of Markdown."""
    return visits.said(test, "caption", "markdown", "warning", "info").replace("\\", "")


@pytest.mark.parametrize("part", often(PARTS, ["Text"]))
def test_every_part_is_whole_and_its_examples_work(part):
    test = opened(part=part)
    assert figures(test)
    assert test.latex
    assert "doi:" in said(test) or "arXiv:" in said(test)
    for head, _ in figures(test).values():
        assert any(sign.isdigit() for sign in head["alt"]), head["alt"]
    tries = [button.key for button in test.button if (button.key or "").startswith("try ")]
    assert len(tries) >= 3
    for key in tries:
        press(test, key)


def test_fifty_columns_of_a_wide_table_can_be_chosen():
    row = ",".join(map(str, range(60)))
    columns = opened(part="series", csv="\n".join([row] * 3)).selectbox(key="column")
    assert (len(columns.options), columns.value) == (50, 49)


def test_the_default_view_shows_a_fallback_on_bytes():
    test = opened()
    assert "19 of 43 tokens are only part of a character" in said(test)
    assert "62 characters" in said(test)


def test_merges_end_where_the_tokenizer_does():
    assert "the same as the tokenizer's own encoding" in said(opened(part="merges"))


def test_another_word_is_shown_to_its_end():
    test = opened(part="merges", step="2")
    assert test.slider(key="step").value == 2
    test.text_area(key="word").set_value("grandmother")
    run(test)
    assert test.slider(key="step").value == test.slider(key="step").max


TEXTS = (
    "",
    " ",
    "\n\n\t ",
    "a",
    "😀👩‍👩‍👧‍👦",
    "שלום عليكم",
    "a\0b\x1b[0m",
    "<script>alert(1)</script>",
    "1;2\n=cmd|x;3\n",
    "$x$ :red[a] *b* %{x} &lt;",
    "ein Wort\u202e nichts",
    ',,,\n;;;\n"',
    ">x\n>y",
    "1e308\n-1e308\n1e400",
    "5\n5\n5",
)


@pytest.mark.parametrize(
    ("part", "key", "default"),
    [
        ("text", "text", "no text yet"),
        ("merges", "word", "no word yet"),
        ("learning", "corpus", "No pair"),
        ("series", "csv", "no table yet"),
        ("protein", "residues", "no residues"),
        ("embeddings", "piece", "no token"),
    ],
)
@pytest.mark.parametrize("text", often(TEXTS, TEXTS[2::5]))
def test_any_text_is_answered(part, key, default, text):
    test = opened(part=part)
    test.text_area(key=key).set_value(text)
    run(test)
    if not text:
        assert default in said(test)


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"part": "<b>"}, "part"),
        ({"part": "merges", "step": "99"}, "step 99"),
        ({"part": "image", "patch": "17", "at": "-1"}, "patch 17"),
        ({"part": "image", "side": "1e9"}, "side 1e9"),
        ({"part": "sound", "hop_ms": "nan"}, "hop_ms nan"),
        ({"part": "sound", "sound": "a drum"}, "drum"),
        ({"part": "series", "points": "0", "window": "999"}, "points 0"),
        ({"part": "series", "column": "7: x"}, "column 7: x"),
        ({"part": "embeddings", "scale": "inf"}, "scale inf"),
        ({"part": "text", "z": "not*base64"}, "damaged"),
        ({"part": "series", "csv_z": "not*base64"}, "damaged"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in said(opened(**address))


def test_bad_rows_are_reported():
    test = opened(part="series", csv="t;v\n1;2,5\n2;oops\n3;4,5\n4;\n5;1,0\n")
    assert "3 numbers in “v”. 2 rows have no number there and were left out: line 3 (oops), line 5 (empty)" in said(
        test
    )


def test_a_wrong_residue_is_named():
    assert "Letter 6 is 'J'" in said(opened(part="protein", residues="MQIFVJTLTGK"))


def test_whispers_numbers():
    assert "**3,000 frames → 1,500 tokens**" in said(opened(part="sound"))


def test_vits_numbers():
    test = opened(part="image")
    assert [metric.value for metric in test.metric] == ["196", "768", "38,416", "34.7 G"]


def png(side: int = 90) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (side, side // 2), (200, 30, 40)).save(file, "PNG")
    return file.getvalue()


def wav(seconds: float = 1.0) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8_000)
        out.writeframes((9_000 * np.sin(np.arange(round(8_000 * seconds)))).astype("<i2").tobytes())
    return file.getvalue()


def held(test: AppTest) -> dict:
    return test.session_state[session.KEY].visit.held


@pytest.mark.parametrize("leave", ["another part", "another page"])
def test_nothing_of_an_upload_is_kept_when_its_visitor_leaves(leave):
    test = opened(part="image")
    test.file_uploader(key="picture:file_uploader").upload("red.png", png(), "image/png")
    assert set(held(run(test))) == {"picture"}
    if leave == "another page":
        test.switch_page("foundations/masks/page.py")
    else:
        test.session_state["part"] = "protein"
    assert held(run(test)) == {}


def test_an_uploaded_picture_is_cut_and_forgotten():
    test = opened(part="image")
    before = figures(test)["picture"]
    test.file_uploader(key="picture:file_uploader").upload("red.png", png(), "image/png")
    run(test)
    assert figures(test)["picture"] != before
    assert "red, green, blue 200, 30, 40" in figures(test)["strip"][0]["caption"]
    test.slider(key="patch").set_value(32)
    assert "red, green, blue 200, 30, 40" in figures(run(test))["strip"][0]["caption"]
    test.file_uploader(key="picture:file_uploader").clear()
    run(test)
    assert held(test) == {}
    test.slider(key="patch").set_value(16)
    run(test)
    test.slider(key="at").set_value(77)
    assert figures(run(test))["picture"] == before


def test_an_uploaded_sound_is_cut():
    test = opened(part="sound")
    test.file_uploader(key="wave:file_uploader").upload("tone.wav", wav(), "audio/wav")
    assert "1.0 s at 16,000 samples" in figures(run(test))["spectrogram"][0]["caption"]


@pytest.mark.parametrize(
    ("part", "key", "name", "data", "words"),
    [
        ("image", "picture", "a.png", b"<svg onload=alert(1)>", "no PNG, JPEG or WebP"),
        ("image", "picture", "a.jpg", png()[:60], "damaged"),
        ("sound", "wave", "a.wav", b"RIFF", "no uncompressed (PCM) WAV"),
        ("sound", "wave", "a.wav", wav(0.01), "0.010 seconds"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence_and_the_example_stays(part, key, name, data, words):
    test = opened(part=part)
    test.file_uploader(key=f"{key}:file_uploader").upload(name, data, "application/octet-stream")
    run(test)
    assert words in said(test)
    assert "the example is shown" in said(test)
    assert figures(test)


def test_what_is_said_of_the_vocabulary_of_stories_holds():
    model, tokenizer = cache.model("stories")
    assert tokenizer.tokens(tokenizer.encode("unhappiness")) == ["un", "h", "app", "iness"]
    assert len(tokenizer.encode(" happy")) == 1
    for token, near in ((" dog", " cat"), (" red", " blue")):
        (row,) = tokenizer.encode(token)
        found = embedding_table.nearest(model, tokenizer, row, 1)
        assert tokenizer.tokens([int(found.ids[0])]) == [near]


def test_the_sizes_of_published_vocabularies_are_those_of_the_presets():
    sizes = sorted(build().vocab_size for build in presets.PRESETS.values())
    found = published_vocabularies()
    assert found.values == {"smallest": sizes[0], "largest": sizes[-1]}
    assert str(found) == "Published models have vocabularies of 30,522 to 262,144 tokens."


@pytest.mark.parametrize(("model", "words"), [("smollm2", "comes back exactly"), ("minilm", "[CLS] and [SEP]")])
@nightly
def test_the_tokens_of_a_real_model_are_shown(real_models, model, words):
    test = opened(model=model, text="The grandmother's Unhappiness.")
    said = visits.said(test, "caption")
    assert "Corrected" not in said
    assert words in said.replace("\\", "")
    assert test.selectbox(key="model").value == model


def test_a_click_on_a_row_types_its_token_if_it_can_be_typed(monkeypatch):
    heard = []
    monkeypatch.setattr(embeddings.controls, "set_values", lambda **values: heard.append(values))
    tokenizer = cache.model("stories")[1]
    (dog,) = tokenizer.encode(" dog")
    for row in (dog, tokenizer.vocab_size, -1, 2.0, "3"):
        embeddings.click("stories", {"customdata": row})
    assert heard == [{"piece": " dog"}]


def test_a_series_has_at_least_two_numbers():
    assert "One number is no series yet" in said(opened(part="series", csv="5"))
    test = opened(part="series", csv="5\n6")
    assert test.slider(key="points").max == 2
    assert "cost" in figures(test)


def test_strides_go_up_to_the_length_of_the_series():
    rows = "\n".join(map(str, range(12)))
    _, spec = figures(opened(part="series", csv=rows, points="2", stride="2"))["cost"]
    assert max(max(np.ravel(array(trace["x"]))) for trace in spec["data"]) == 12


def test_one_of_two_columns_is_chosen():
    assert not opened(part="series", csv="1\n2\n3").selectbox
    assert opened(part="series", csv="a,b\n1,4\n2,5\n3,6").selectbox(key="column").options == ["1: a", "2: b"]


@pytest.mark.parametrize(("count", "more"), [(240, False), (241, True)])
def test_of_a_long_text_the_first_characters_are_drawn(count, more):
    assert ("Only the first 240 of each row" in said(opened(text="a" * count))) == more


def test_merges_that_are_all_learned_have_not_ended_early():
    corpus = "la la la, tra la la, la la la, tra la la la la"
    count = len(views.learned_of("stories", corpus).merges)
    words = [said(opened(part="learning", corpus=corpus, learned=str(n))) for n in (count, count + 1)]
    assert [f"After {count} merges no pair stands twice" in word for word in words] == [False, True]
