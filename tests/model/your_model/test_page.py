"""The page on one's own model: what it would take, where it is refused, and what is shown of it."""

import pytest

from pages.ui.loading import own_models
from tests.pages.figures import figures
from tests.pages.own_models import brought, keys, wait_for
from tests.pages.visits import opened, run, said
from tfcore.measures.quantities import gigabytes
from tfcore.views.model.your_model import measure as your_model


@pytest.mark.parametrize(("family", "routed"), [("gpt2", False), ("mixtral", True)])
def test_a_mixture_of_experts_is_led_to_the_page_on_routing(allowed, family, routed):
    brought(f"./{family}")
    test = opened("model/your_model/page.py", model=f"./{family}")
    pages = {e.proto.page for e in test.main if getattr(e, "type", "") == "page_link"}
    assert "kv-cache" in pages
    assert ("routing" in pages) == routed


def test_the_page_looks_loads_and_shows(allowed):
    test = opened("model/your_model/page.py", model="./llama")
    wait_for(test, "./llama", lambda t: "load model" in keys(t))
    config_says = 4 * sum(t.numel() for t in brought("./llama").model.parameters())
    assert test.metric[0].value == gigabytes(config_says)
    own_models.STORE.make_room("./llama", 0, 0)
    run(test).button(key="load model:button").click()
    wait_for(test, "./llama", lambda t: any("is loaded" in s.value for s in t.subheader))
    assert test.dataframe[0].value.set_index("setting").value["KV heads"] == "3"
    assert " s; from a folder." in said(test, "caption")
    assert "Tokenizer check." in said(test, "markdown")
    assert "Continuation:" in said(test, "markdown")
    linked = [e.proto.query_string for e in test.main if getattr(e, "type", "") == "page_link"]
    assert linked
    assert all("model=.%2Fllama" in query for query in linked)


REFUSED = {
    "nonsense name": "is no name of a model: write org/name",
    "../../etc": "is no name of a model: write org/name",
    "./none": "There is no folder ./none",
    "org/name": "the Hugging Face hub cannot be reached from here, and org/name is not in the cache",
    "": "There is no name yet",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_had_is_said_in_a_sentence(allowed, name):
    test = opened("model/your_model/page.py", model=name or " ")
    wait_for(test, name or " ", lambda t: t.warning, 30)
    assert REFUSED[name] in said(test, "warning")
    assert str(allowed) not in said(test, "warning", "caption", "markdown")


def test_what_is_loaded_may_make_room_and_counts_as_free(allowed, monkeypatch):
    monkeypatch.setattr(own_models.Store, "used", 10**15)
    monkeypatch.setattr(your_model, "free_memory", lambda _: 10**14)
    test = opened("model/your_model/page.py", model="./llama")
    wait_for(test, "./llama", lambda t: "load model" in keys(t))
    assert test.metric[1].label == "Free now"
    assert test.metric[1].value.startswith(gigabytes(10**15)[:6])
    notes = [note["text"] for note in figures(test)["fits"][1]["layout"]["annotations"]]
    assert f"free now: {gigabytes(11 * 10**14)}" in notes


@pytest.mark.parametrize(
    ("policy", "folder", "told"), [("any", True, True), ("public", True, False), ("any", False, False)]
)
def test_how_to_put_a_model_into_an_empty_folder_is_said_where_it_may_be(
    allowed, tmp_path, monkeypatch, policy, folder, told
):
    monkeypatch.setenv("TFCORE_MODELS", policy)
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path) if folder else "")
    assert ("Put a GGUF file" in said(opened("model/your_model/page.py"), "caption")) == told


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
def test_a_model_that_just_fits_can_be_loaded(allowed, monkeypatch, spare, fits):
    size = 4 * sum(t.numel() for t in brought("./llama").model.parameters())
    own_models.STORE.make_room("./llama", 0, 0)
    monkeypatch.setenv("TFCORE_MODEL_GB", f"{(size + spare + 0.5) / 1e9:.13f}")
    monkeypatch.setenv("TFCORE_DOWNLOAD_GB", "0")  # nothing of a folder is downloaded
    test = opened("model/your_model/page.py", model="./llama")
    wait_for(test, "./llama", lambda t: t.metric)
    assert ("load model" in keys(test)) == fits
    assert (f"It does not fit: it needs {gigabytes(size)}" in said(test, "warning")) != fits
    notes = [note["text"] for note in figures(test)["fits"][1]["layout"]["annotations"]]
    assert f"limit here: {gigabytes(size + spare)}" in notes
