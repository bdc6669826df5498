"""Versions of a model by their names: rounded, tuned, earlier in its training; what is kept of them and refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import tfcore
from tfcore.loading.checkpoint_history import load_history
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.quantisation.formats import Scheme, rounded
from tfcore.views import sources, versions
from tfcore.views.versions import version_of


@pytest.fixture(autouse=True)
def _none_kept():
    versions._OPENED.clear()
    yield
    versions._OPENED.clear()


def test_names_say_versions():
    assert version_of("stories@int4/32").scheme == Scheme(format="int4", per="32")
    assert version_of("stories@bfloat16").scheme.format == "bfloat16"
    assert version_of("induction@300").step == 300
    assert str(version_of("stories@play")) == "stories tuned on a play (LoRA)"
    assert str(version_of("org/name@int8/row")) == "org/name in int8, one scale per row"
    assert str(version_of("induction@2000")) == "induction after 2,000 steps"
    for name in ("stories", "run:0123456789abcdef@30", "./folder@home", "@int4/32", "someone@example.org"):
        assert version_of(name) is None
    assert all(version_of(name) is not None for name in (*versions.versions("stories"), "smollm2@int3/row"))


@pytest.mark.parametrize(
    "name", ["stories@int9/row", "stories@int4/33", "induction@301", "stories@float32", "fill@play"]
)
def test_what_is_no_version_is_refused_with_those_there_are(name):
    with pytest.raises(ValueError, match=f"{name} is no version of {name.partition('@')[0]}: there are "):
        sources.opened(name)


def test_a_folder_of_that_name_is_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine@int4" / "row").mkdir(parents=True)
    assert version_of("mine@int4/row") is None
    assert version_of("mine@int4/32") is not None


def test_a_rounded_version_has_the_rounded_matrices_and_shares_the_rest():
    model, tokenizer = sources.opened("stories")
    other, same = sources.opened("stories@int4/32")
    assert same is tokenizer
    one, two = (network.decoder.blocks[1].mlp.down.weight for network in (model, other))
    assert torch.equal(two, rounded(one, Scheme(format="int4", per="32")))
    assert other.embed.stored is model.embed.stored
    assert sources.opened("stories@int4/32")[0] is other


def test_an_adapter_is_its_base_and_the_product_of_its_matrices():
    model, tuned = (sources.opened(name)[0] for name in ("stories", "stories@play"))
    folder = PRETRAINED / versions.ADAPTERS["stories"]["play"]
    stored = load_file(folder / "adapter_model.safetensors")
    name = "base_model.model.decoder.blocks.2.attn.out"
    a, b = (stored[f"{name}.lora_{end}.weight"].astype(np.float64) for end in "AB")
    one, two = (network.decoder.blocks[2].attn.out.weight.detach().numpy() for network in (model, tuned))
    assert np.allclose(two - one, 16 / 8 * b @ a, atol=1e-5)
    assert torch.equal(model.embed.stored, tuned.embed.stored)


def test_a_checkpoint_is_that_of_the_film():
    history = load_history("induction")
    there, _ = sources.opened("induction@300")
    wanted = history.weights["decoder.blocks.0.attn.qkv.weight"][history.steps.index(300)].float()
    assert torch.equal(there.decoder.blocks[0].attn.qkv.weight, wanted)


def test_versions_used_longest_ago_make_room(monkeypatch):
    first, _ = sources.opened("stories@int8/row")
    size = versions.needed(version_of("stories@int8/row"), sources.opened("stories")[0])
    monkeypatch.setattr(versions, "ROOM", 2 * size)
    sources.opened("stories@int4/row")
    assert sources.opened("stories@int8/row")[0] is first
    sources.opened("stories@int4/32")
    assert list(versions._OPENED) == ["stories@int8/row", "stories@int4/32"]
    monkeypatch.setattr(versions, "MOST", 2)
    sources.opened("induction@300")
    assert list(versions._OPENED) == ["stories@int4/32", "induction@300"]


def test_a_version_is_of_the_model_that_is_there_now():
    versions.open_version(version_of("stories@int8/row"), tfcore.load)
    again, _ = versions.open_version(version_of("stories@int8/row"), lambda name: tfcore.load(name))
    assert len(versions._OPENED) == 1
    assert versions._OPENED["stories@int8/row"].pair[0] is again


def test_roundings_are_those_that_divide_the_rows():
    config = tfcore.load("induction")[0].config
    assert versions.roundings(config) == list(versions.ROUNDED)
    narrow = replace(config, d_model=48, attention=replace(config.attention, n_heads=3, d_head=16))
    assert versions.roundings(narrow) == ["int8/row", "float8/row", "int4/row", "bfloat16"]
    assert versions.roundings(tfcore.load("stories-moe")[0].config) == []


def test_rounded_copies_of_large_models_are_refused(monkeypatch):
    monkeypatch.setattr(versions, "MOST_ROUNDED", 1_000_000)
    with pytest.raises(
        ValueError, match="stories has 2 M parameters, and rounded copies are made of models of up to 1"
    ):
        sources.opened("stories@int4/32")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="mixture of experts"):
        sources.opened("stories-moe@int4/32")
