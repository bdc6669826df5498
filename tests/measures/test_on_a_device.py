"""One analysis of each kind on a device that is not the CPU: the same numbers, and nothing left there.

Other tests run on it with `TFCORE_DEVICE=pretend python -m pytest`; those that `make pretended` names do so each
night."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.nightly import often
from tests.pretend_device import NAME
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load
from tfcore.loading.lenses import load_lens
from tfcore.loading.transcoders import chosen_dictionary, load_transcoders
from tfcore.measures.dictionaries.feature_scan import scan_features
from tfcore.measures.dictionaries.growth import grown_features
from tfcore.measures.dictionaries.quality import dictionary_quality, loss_recovered_together
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.lenses import affine_reader, patchscope_reader, stages
from tfcore.measures.neuron_scan import scan_neurons
from tfcore.measures.one_text import next_logits
from tfcore.training import growing_dictionaries
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, grow_dictionary
from tfcore.training.lora import add_lora_, merge_lora_
from tfcore.views.inside.circuits.measure.of_text import draw_traced, take_strongest_off, trace_text
from tfcore.views.inside.features.measure.held_feature import held_feature
from tfcore.views.inside.features.measure.of_text import feature_activations
from tfcore.views.inside.stream.measure.lens import logit_lens

TEXT = "Max had a red ball. Max lost the"
IDS = [[5, 80, 200, 13, 9, 44] * 3, [7, 81, 20, 130, 9, 41] * 3]


def circuits(model):
    tokenizer = load("stories")[1]
    found = trace_text(model, tokenizer, "stories", TEXT, 12, 200, None)
    drawn = draw_traced(model, tokenizer, "stories", found, 0.5, 0.8, True)
    return found.graph, drawn.diagram.effects, take_strongest_off(model, "stories", found)


def quality(model):
    dictionaries = load_transcoders("stories")
    return dictionary_quality(model, dictionaries.of_stream, IDS), loss_recovered_together(
        model, dictionaries.of_mlps, IDS
    )


def growing(_):
    config = GrowDictionaryConfig(n_features=64, top_k=4, steps=2)
    return [found for found in grow_dictionary(config) if found is not None]


def lora(model):
    add_lora_(model, 2, 1.0)
    update = model.stack.blocks[0].attn.qkv.b
    with torch.no_grad():
        update.copy_(torch.linspace(-1, 1, update.numel()).view_as(update))
        before = next_logits(model, IDS[0]).cpu()
        merge_lora_(model)
        return before, next_logits(model, IDS[0]).cpu()


WORK = {
    "attention maps": lambda model: attention_maps(model, IDS[0]),
    "circuits": circuits,
    "features of a text": lambda model: feature_activations(model, chosen_dictionary("stories", 2), IDS[0]),
    "a feature held": lambda model: held_feature(model, "stories", IDS[0], 1, 3, 2.0, 4),
    "quality of dictionaries": quality,
    "on what features fire": lambda model: grown_features(model, chosen_dictionary("stories", 4), np.array(IDS), 1),
    "a scan of features": lambda model: scan_features(model, load_transcoders("stories"), np.array(IDS)),
    "a scan of neurons": lambda model: scan_neurons(model, np.array(IDS), 1),
    "a dictionary in training": growing,
    "a tuned lens": lambda model: logit_lens(
        model, IDS[0], stages(model.config), affine_reader(model, load_lens("stories", "tuned"))
    ),
    "a Patchscope": lambda model: logit_lens(model, IDS[0], reader=patchscope_reader(model, IDS[1])),
    "writing": lambda model: generate(model, IDS[0], Sampling(repetition_penalty=1.2, top_p=0.9), max_new_tokens=8),
    "low-rank updates": lora,
}


def flat(found):
    """The numbers of a result, none of which may be left on a device."""
    if dataclasses.is_dataclass(found):
        return [row for one in dataclasses.fields(found) for row in flat(getattr(found, one.name))]
    if isinstance(found, Mapping):
        return [row for one in found.values() for row in flat(one)]
    if isinstance(found, list | tuple):
        return [row for one in found for row in flat(one)]
    if isinstance(found, Tensor):
        assert found.device.type == "cpu"
        return [found.numpy()]
    row = np.asarray(found)
    return [row] if row.dtype.kind in "biuf" else []


@pytest.fixture(autouse=True)
def _small(monkeypatch, unchecked):
    for name, value in (("ROWS", 2), ("BATCHES", 2), ("HELD_OUT", 2), ("NAMED_ON", 4)):
        monkeypatch.setattr(growing_dictionaries, name, value)


QUICK = (
    "circuits",
    "features of a text",
    "quality of dictionaries",
    "a scan of neurons",
    "writing",
    "low-rank updates",
)


@pytest.mark.parametrize("name", often(WORK, QUICK))
def test_the_numbers_are_those_of_the_cpu(name, monkeypatch):
    found = []
    for place in ("cpu", NAME):
        monkeypatch.setenv("TFCORE_DEVICE", place)
        model, _ = load("stories")
        assert model.device.type == place
        found.append(flat(WORK[name](model)))
    wanted, other = found
    assert len(wanted) == len(other) > 0
    for one, two in zip(wanted, other, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5)
