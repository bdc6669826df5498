"""The page on one's own model: what it would take, where it is refused, and what is shown of it."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from pages.model.your_model.readings import BESIDE
from pages.ui.loading import model_settings, own_models
from tests.pages.figures import figures
from tests.pages.own_models import brought, keys, wait_for
from tests.pages.visits import opened, run, said
from tests.parity.checkpoints import PICTURES, SOUNDS, written
from tests.tokenizers.test_foreign_tokenizers import byte_level
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
    assert " s; from a folder. Family: LLaMA." in said(test, "caption")
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


def test_a_model_of_pictures_says_what_it_reads_and_is_none_of_pages_about_texts(allowed):
    written(*PICTURES["vit, classes, grey"], allowed / "seeing")
    brought("./seeing")
    test = opened("model/your_model/page.py", model="./seeing")
    assert "A picture of 14 by 14 pixels is 9 patches of 4 by 4, after 1 learned token: CLS." in said(test, "markdown")
    heads = opened("foundations/heads/page.py", model="./seeing")
    refused = "./seeing: it reads pictures, and what is shown here is made of texts; the page Pictures shows it."
    assert refused in said(heads, "info")
    assert not test.exception
    assert not heads.exception


def test_a_model_of_sound_says_what_it_reads_and_is_none_of_pages_about_texts(allowed):
    kind, settings = SOUNDS["whisper"]
    written(kind, settings | {"vocab_size": 320}, allowed / "hearing")
    byte_level().save(str(allowed / "hearing" / "tokenizer.json"))
    brought("./hearing")
    test = opened("model/your_model/page.py", model="./hearing")
    said_of_it = "A sound of up to 1 seconds is a spectrogram of 100 frames by 8 bands"
    assert said_of_it in said(test, "markdown")
    for page in ("foundations/heads/page.py", "inside/flow/page.py"):
        other = opened(page, model="./hearing")
        refused = "./hearing: it reads sound, and what is shown here is made of texts; the page Sound shows it."
        assert refused in said(other, "info")
        assert not other.exception


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


@pytest.fixture
def adapter(allowed):
    """./tuned, an adapter of ./llama, both loaded."""
    weights = load_file(allowed / "llama" / "model.safetensors")
    name, weight = next((name, one) for name, one in weights.items() if name.endswith("1.self_attn.v_proj.weight"))
    module, (rows, columns) = f"base_model.model.{name.removesuffix('.weight')}", weight.shape
    parts = {f"{module}.lora_A.weight": torch.ones(1, columns), f"{module}.lora_B.weight": torch.ones(rows, 1)}
    tuned = allowed / "tuned"
    tuned.mkdir(exist_ok=True)
    save_file(parts, tuned / "adapter_model.safetensors")
    said = {"peft_type": "LORA", "base_model_name_or_path": "org/llama", "r": 1, "lora_alpha": 2}
    (tuned / "adapter_config.json").write_text(json.dumps(said))
    yield brought("./tuned")
    shutil.rmtree(tuned)


def test_of_an_adapter_the_page_says_what_it_changes_and_leads_to_it_beside_its_base(adapter):
    assert "./tuned" in model_settings.folders(model_settings.read())
    test = opened("model/your_model/page.py", model="./tuned")
    told = said(test, "markdown")
    assert "What the adapter changes.** 1 matrix of llama (v_proj) in layer 1: to each it adds B A of rank 1" in told
    linked = [e.proto.query_string for e in test.main if getattr(e, "type", "") == "page_link"]
    assert sum("model2=.%2Fllama" in query and "with=model" in query for query in linked) == len(BESIDE)


@pytest.mark.parametrize("page", ["inference/generation/page.py", "inside/flow/page.py", "foundations/heads/page.py"])
def test_an_adapter_stands_beside_its_base(adapter, page):
    more = {"show": "compare"} if "heads" in page else {}
    test = opened(page, model="./tuned", text="The cat sat on the mat.", **{"with": "model"}, **more)
    assert test.selectbox(key="model2").value == "./llama"
    assert "./llama** is not loaded" in said(test, "markdown")
    brought("./llama")
    test = run(test)
    assert "is not loaded" not in said(test, "markdown")
    assert not test.exception
