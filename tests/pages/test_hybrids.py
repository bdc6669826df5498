"""Hybrids on every page: models of which some layers, or all, have a state or a short convolution in the place of
attention. Each section shows something of the model's own, or says in a sentence why it cannot."""

from dataclasses import replace

import pytest
import streamlit as st

import tfcore
from pages.ui.loading import model_settings, own_models
from pages.ui.loading.models import without_heads
from tests.nightly import nightly, often, often_of_several
from tests.pages.figures import figures
from tests.pages.test_every_page import BEGIN, FACTS, SECTIONS
from tests.pages.test_lab_models import check
from tests.pages.visits import opened, said
from tests.small import model
from tfcore.part_configs import LayerConfig, MixerConfig

pytestmark = pytest.mark.usefixtures("short", "own", "patience")

KINDS = {
    "convolutions": (("conv", "attention", "conv", "attention"), MixerConfig(width=3)),
    "states": (("delta", "delta", "attention"), MixerConfig(n_heads=3, decay="token")),
    "no attention": (("ssm", "ssm"), MixerConfig(n_heads=3, decay="token")),
}
# Sections whose model is chosen under another name
OF = {("block/feedforward/page.py", "activations"), ("foundations/positions/page.py", "learned")}
OF |= {("inference/kv_cache/page.py", section) for section in ("large", "fit")}
SHOWN = {  # sections that once took another model, or ended in an error
    ("foundations/linear/page.py", "matrix"): ("softmax", "implied", "state", "held", "carried"),
    ("model/parameters/page.py", ""): ("parts", "memory"),
    ("model/your_model/page.py", ""): ("fits",),
    ("inference/kv_cache/page.py", "with"): ("steps",),
    ("foundations/heads/page.py", "heads"): ("map", "mosaic", "portrait", "closer"),
    ("inside/flow/page.py", ""): (),
    ("inside/stream/page.py", "who"): ("sum", "board", "writes"),
    ("inside/stream/page.py", "lens"): ("lens", "climb"),
    ("inside/stream/page.py", "shape"): ("norm", "writes"),
    ("inside/stream/page.py", "skip"): ("prediction", "increase"),
    ("inside/interventions/page.py", "switch"): ("board", "prediction"),
    ("inside/interventions/page.py", "patch"): ("patch", "prediction"),
    ("inside/interventions/page.py", "inputs"): (),
    ("inside/interventions/page.py", "sets"): ("means", "set-board"),
}
EVERY = [(*section, kind) for kind in KINDS for section in SECTIONS]


@pytest.fixture
def own(monkeypatch, tmp_path):
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    st.cache_data.clear()


def called(kind):
    """The name of the model of this kind: what is kept of one is not that of another."""
    return f"./{kind.replace(' ', '-')}"


def network(kind):
    """A small model of this kind, and the tokenizer of stories."""
    layers, mixer = KINDS[kind]
    _, tokenizer = tfcore.load("stories")
    layers = tuple(LayerConfig(mixer=one) for one in layers)
    sizes = {"vocab_size": tokenizer.vocab_size, "max_seq_len": 128, "n_layers": len(layers)}
    return model(layers=layers, mixer=mixer, positions="rope", **sizes), tokenizer


def visit(file, section, kind, **more):
    """A section with a model of this kind, which is loaded."""
    subject, tokenizer = network(kind)
    name = called(kind)
    own_models.STORE.put(own_models.Own(name, subject, tokenizer, 1, 0.0, ""))
    assert model_settings.read().refusal(name) is None
    address = BEGIN.get(file, {}) | ({FACTS[file].sections.key: section} if section else {})
    return opened(file, **address, **more, **{"of" if (file, section) in OF else "model": name})


@nightly
@pytest.mark.parametrize(("file", "section", "kind"), EVERY)
def test_every_section_shows_something_of_its_own_or_says_why_not(file, section, kind):
    check(visit(file, section, kind), called(kind))


@pytest.mark.parametrize(("file", "section"), often_of_several(SHOWN, [("model/parameters/page.py", "")]))
def test_what_does_not_need_every_head_is_shown(file, section):
    test = visit(file, section, "convolutions")
    assert set(SHOWN[file, section]) <= set(figures(test))
    assert "Shown instead" not in said(test, "info")


@pytest.mark.parametrize("kind", often(("states", "no attention"), ("states",)))
def test_a_state_has_the_matrix_that_it_implies_on_the_page_on_heads(kind):
    test = visit("foundations/heads/page.py", "heads", kind, layer="0", head="1")
    assert "implied" in figures(test)
    assert ("map" in figures(test)) == (kind == "states")
    assert "Shown instead" not in said(test, "info")


def test_a_page_says_what_it_reads_and_which_layer_lacks_it():
    mixed, bare = (network(kind)[0].config for kind in ("convolutions", "no attention"))
    assert without_heads(mixed, "the stream") is without_heads(bare, "the stream") is None
    assert without_heads(mixed, "a head") is None
    assert without_heads(bare, "a head").startswith("none of its layers has attention")
    assert without_heads(mixed, "every head").startswith("layer 0 of it has a short convolution in the place of")
    assert without_heads(bare, "every head").startswith("layer 0 of it has a state in the place of attention")
    assert without_heads(bare, "a head or a state") is without_heads(mixed, "a head or a state") is None
    none = replace(mixed, layers=(LayerConfig(mixer="conv"),) * 4)
    assert without_heads(none, "a head or a state").startswith("none of its layers has attention or a state")
    assert without_heads(tfcore.load("stories")[0].config, "every head") is None
