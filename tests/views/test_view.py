"""A view knows how it was made, keeps no model alive, and its program makes it again."""

import ast
import csv
import gc
import io
import json
import re
import weakref
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tfcore.charts import scenes
from tfcore.measures.kv_bytes import CacheShape
from tfcore.tokenizers.tokenizer import CharacterTokenizer
from tfcore.views import programs, sources
from tfcore.views.finding import state
from tfcore.views.inference import kv_cache
from tfcore.views.inference.kv_cache.measure.paging import Traffic
from tfcore.views.inference.kv_cache.measure.serving import Model
from tfcore.views.model import parts
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import Made, Metric, View, view


@view
def length(model: Source, text: str, factor: float = 1.0, *, so_far: Sequence[int] | None = None) -> View:
    """How long a text is."""
    return View(
        key="length",
        title="Length of a text",
        result=len(text),
        chart=go.Figure({"data": [{"type": "bar", "y": [factor * len(text)]}], "layout": {"height": 100}}),
        findings=(state("length", "The text has {n} characters.", n=len(text)),),
        note="A bar.",
        metrics=(Metric("Characters", str(len(text)), "all"),),
        table=(lambda: pd.DataFrame({"n": [len(text)]})) if so_far is None else None,
    )


def model_in_memory():
    return small.model(), CharacterTokenizer("abc ")


MODELS = ("stories", "./my folder", model_in_memory())


def test_it_knows_the_function_and_the_arguments_that_were_given():
    shown = length("stories", text="ab", so_far=[1])
    assert shown.made is not None
    assert shown.made.function is length
    assert shown.made.arguments == {"model": "stories", "text": "ab"}
    assert (shown.alt, shown.caption) == ("The text has 2 characters.", "The text has 2 characters. A bar.")
    assert str(shown) == "The text has 2 characters.\nCharacters: 2; all"


def test_it_says_in_a_line_what_it_was_computed_from():
    assert length("stories", "ab").computed == "model stories · text ab"
    assert length(model_in_memory(), " a b").computed == 'model a model of your own · text "a b"'
    hostile = length("stories", "a\n\x00\u202e<b>" + "x" * 99).computed
    assert hostile.startswith('model stories · text "a⏎␀[U+202E]<b>xxx')
    assert hostile.endswith('x…"')
    assert len(hostile) < 100
    values = {
        "reading": Reading("smollm2", "a", hide_sink=True),
        "k": 0.1234567,
        "log": False,
        "heads": (1, 2),
        "n_x": None,
    }
    shown = replace(length("stories", "ab"), made=Made(length, {**values, "many": range(99), "of": {"a": 1}}))
    assert shown.computed == "model smollm2 · text a · hide sink yes · k 0.123457 · log no · heads 1, 2"
    assert len(replace(shown, made=Made(length, {str(i): i for i in range(999)})).computed) == 240
    assert replace(shown, made=None).computed == ""


def test_it_keeps_no_model_alive():
    loaded = model_in_memory()
    shown, watched = length(loaded, "ab"), weakref.ref(loaded[0])
    del loaded
    gc.collect()
    assert watched() is None
    assert shown.made is not None
    assert shown.made.arguments["model"] is None
    assert "model=None,  # supply your own" in programs.script(programs.program(shown))


def test_records_are_noted_whatever_their_fields_are_called():
    """One has `parameters`, as a model in memory has."""
    shape = CacheShape(layers=1, heads=1, kv_heads=1, d_head=8)
    models = (Model("a", 1, shape), Model("b", 2, shape))
    shown = kv_cache.every_model(models, models[0], 8, 1, "float16", "decimal")
    assert shown.made is not None
    assert shown.made.arguments["models"] == models
    assert shown.height == 560


def test_what_a_picture_shows_by_itself_is_said_to_who_cannot_see_it():
    seen = replace(length("stories", "ab"), described=state("seen", "A bar of {n}.", n=2))
    assert (seen.alt, seen.caption) == ("A bar of 2.", "The text has 2 characters. A bar.")
    assert str(seen) == "The text has 2 characters.\nCharacters: 2; all"
    assert [one["sentence"] for one in json.loads(seen.json())["findings"]] == [seen.alt, "The text has 2 characters."]
    alone = replace(seen, findings=())
    assert (alone.alt, alone.caption, str(alone)) == ("A bar of 2.", "A bar.", "A bar of 2.\nCharacters: 2; all")
    assert [one.text().count("A bar of 2.") for one in (seen, alone)] == [1, 1]
    with pytest.raises(ValueError, match="nothing is said of the view 'length'"):
        replace(alone, described=None)


def test_a_finding_in_a_line_of_its_own_is_no_part_of_the_caption():
    shown = replace(length("stories", "ab"), conclusions=(state("parity", "It is even: {n}.", n=2),))
    assert (shown.alt, shown.caption) == ("The text has 2 characters.", "The text has 2 characters. A bar.")
    assert str(shown) == "The text has 2 characters.\nIt is even: 2.\nCharacters: 2; all"
    assert [one["values"] for one in json.loads(shown.json())["findings"]][-1] == {"n": 2}


def test_a_text_as_it_is_read_says_where_its_model_has_to_be_put():
    @view
    def read(reading: Reading) -> View:
        return length(reading.model, reading.text)

    named, own, nameless = (programs.script(programs.program(read(Reading(model, "ab")))) for model in MODELS)
    assert '    reading=Reading(model="stories", text="ab"),\n' in named
    assert '        model="./my folder",  # a model of your own: put the path of its folder here\n' in own
    assert "        model=None,  # supply your own: the model" in nameless
    assert "from tfcore.views.sources import Reading\n" in nameless


def test_without_a_table_it_says_where_the_numbers_are():
    assert length("stories", "ab").numbers()["n"].tolist() == [2]
    with pytest.raises(ValueError, match="its result has the numbers"):
        length("stories", "ab", so_far=[]).numbers()


def test_it_draws_itself_in_a_notebook(monkeypatch):
    monkeypatch.setattr(pio.renderers, "_default_name", "plotly_mimetype")
    monkeypatch.setattr(pio.renderers, "_default_renderers", [pio.renderers["plotly_mimetype"]])
    bundle = length("stories", "ab")._repr_mimebundle_()
    assert bundle["text/plain"].startswith("The text has 2 characters.")
    assert bundle["application/vnd.plotly.v1+json"]["data"][0]["y"] == [2.0]


def test_who_does_not_know_how_it_was_made_has_no_program():
    with pytest.raises(ValueError, match="does not know how it was made"):
        programs.program(View(key="a", title="A", result=0, chart=go.Figure(), findings=(state("a", "It is."),)))


@given(st.text(max_size=300))
def test_what_was_typed_comes_back_as_it_was(text):
    code = programs.script(programs.program(length("stories", text)))
    (call,) = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "length"
    ]
    assert {one.arg: ast.literal_eval(one.value) for one in call.keywords} == {"model": "stories", "text": text}


def test_a_model_is_opened_by_name_and_one_in_memory_is_taken_as_it_is():
    assert opened("stories")[0].config.n_layers == 4
    loaded = model_in_memory()
    assert opened(loaded)[0] is loaded[0]
    with pytest.raises(ValueError, match="without a tokenizer"):
        opened((small.model(), None))


def test_an_application_opens_names_in_its_own_way(monkeypatch):
    loaded = model_in_memory()
    monkeypatch.setattr(sources, "_opener", [*sources._opener])
    sources.use(lambda name: loaded if name == "mine" else pytest.fail(name))
    assert opened("mine") == loaded


def test_views_of_the_kv_cache_run_without_an_application():
    shown = kv_cache.with_and_without("stories", "Once upon a time", 8)
    work, done = shown.result
    assert len(done) == len(work.length) == 8
    assert shown.numbers().shape == (8, 6)
    assert kv_cache.paging(Traffic(), 1_024, 16).result is kv_cache.crowd(Traffic(), 1_024, 16).result


def test_a_scene_is_a_page_of_its_own_that_needs_no_network():
    shown = parts.parts("stories")
    assert str(shown) == "stories: decoder, 2,164,416 parameters, width 192, context 256 tokens."
    page = shown.html("dark")
    assert "createObjectURL" in page
    assert "export function html" in page, "what the scene imports comes with it"
    assert "https://" not in page.split("<svg")[0]
    assert "--role-query:" in page
    assert 'srcdoc="' in shown._repr_mimebundle_()["text/html"]
    assert json.loads(shown.json())["chart"]["module"] == "parts_map"
    with pytest.raises(TypeError, match=r"its html\(\) is a page that draws it"):
        shown.painted()


@pytest.mark.parametrize("name", scenes.NAMES)
def test_what_scripts_of_a_scene_import_comes_before_them(name):
    page = scenes.html(name, {}, 10, "light")
    scripts, _ = json.JSONDecoder().raw_decode(page.split("Object.entries(", 1)[1])
    known = list(scripts)
    assert known[-1] == f"{name}.js"
    for at, script in enumerate(known):
        imported = re.findall(r'^import .*"(.*)"$', scripts[script], re.M)
        assert {one.removeprefix("./") for one in imported} <= set(known[:at])


def test_what_is_imported_may_import_the_colours_of_both_themes():
    assert list(scenes._modules("colours.js")) == ["dom.js", "theme.js", "colours.js"]
    assert scenes.files()["theme.js"].startswith('export default {"light":{"roles":{')


def test_what_is_written_into_a_script_ends_none():
    page = scenes.html("parts_map", {"label": "</script><script>alert(1)</script>", "stacks": []}, 10, "light")
    assert page.count("</script>") == 1
    with pytest.raises(ValueError, match="no scene is called"):
        scenes.html("../../secret", {}, 10, "light")


def test_a_view_writes_itself_for_people_and_for_programs():
    shown = length("stories", "ab")
    assert shown.csv() == "n\r\n2\r\n"
    tokens = ["a", "\r", "\n", "\r\n"]
    read = csv.reader(io.StringIO(replace(shown, table=lambda: pd.DataFrame({"token": tokens})).csv(), newline=""))
    assert [row for (row,) in read] == ["token", *tokens]
    assert shown.text().splitlines() == [
        "Length of a text [length]",
        "The text has 2 characters.",
        "Characters: 2; all",
        "A bar.",
        "bar: y (1,) from 2 to 2",
        " n",
        " 2",
    ]
    said = json.loads(shown.json())
    assert said["findings"] == [{"sentence": "The text has 2 characters.", "values": {"n": 2}}]
    assert said["made"]["arguments"] == {"model": "stories", "text": "ab"}
    assert said["chart"]["data"][0]["y"] == [2.0]
    page = replace(shown, title="<b>").html()
    assert "<title>&lt;b&gt;</title>" in page
    assert "The text has 2 characters. A bar." in page


def test_a_saved_page_carries_the_smallest_plotly_that_draws_it():
    shown = length("stories", "ab")
    assert 1_000_000 < len(shown.html()) < 1_600_000
    assert isinstance(shown.chart, go.Figure)
    nested = replace(shown, chart=go.Figure(go.Treemap(labels=["a"], parents=[""])))
    assert len(nested.html()) > 4_000_000
    assert nested.html().count("</script>") == shown.html().count("</script>")


def test_a_reading_is_noted_by_the_name_of_its_model():
    @view
    def reads(given: Reading) -> View:
        """A text as a model reads it."""
        return length(given.model, given.text)

    shown = reads(Reading("stories", "ab", hide_sink=True))
    assert 'given=Reading(model="stories", text="ab", hide_sink=True)' in programs.script(programs.program(shown))
    loaded = model_in_memory()
    kept = reads(Reading(loaded, "ab"))
    assert kept.made is not None
    assert kept.made.arguments["given"] == Reading(None, "ab")


def test_a_metric_may_say_no_more_than_its_number():
    shown = replace(length("stories", "ab"), metrics=(Metric("Characters", "2", help="counted"),))
    assert str(shown) == "The text has 2 characters.\nCharacters: 2"
