"""Adapters: where their base is looked for, what of them is refused and why, and what is told of one."""

import json
import shutil

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from tests import own_folders
from tests.parity.checkpoints import GROUPED, written
from tests.small import difference, ids
from tfcore import load
from tfcore.files import CheckpointError
from tfcore.loading import real_models
from tfcore.loading.adapters import BEFORE, base_of
from tfcore.loading.checkpoints import adapter_summary, estimate
from tfcore.loading.special_tokens import special_tokens
from tfcore.views.model.your_model.say import Adapted, adapted

SETTINGS = {"peft_type": "LORA", "base_model_name_or_path": "org/Base-1", "r": 2, "lora_alpha": 6}
Q = f"{BEFORE}model.layers.1.self_attn.q_proj"
GATE = f"{BEFORE}model.layers.0.mlp.gate_proj"


def tensors(**more):
    """Those of an adapter of two matrices."""
    draws = torch.Generator().manual_seed(0)
    shapes = {f"{Q}.lora_A.weight": (2, 24), f"{Q}.lora_B.weight": (60, 2)}
    shapes |= {f"{GATE}.lora_A.weight": (2, 24), f"{GATE}.lora_B.weight": (40, 2), **more}
    return {name: torch.randn(shape, generator=draws) for name, shape in shapes.items() if shape is not None}


def write(folder, settings=None, parts=None):
    """The folder of an adapter."""
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(SETTINGS | (settings or {})))
    save_file(tensors() if parts is None else parts, folder / "adapter_model.safetensors")
    return folder


@pytest.fixture
def adapter(tmp_path):
    """A folder for an adapter, beside its base."""
    written(hf.LlamaForCausalLM, GROUPED, tmp_path / "Base-1")
    return tmp_path / "adapter"


def test_it_is_a_merge_by_hand(adapter, tmp_path):
    write(adapter, {"use_rslora": True, "lora_dropout": 0.5, "target_modules": "all-linear"})
    merged = tmp_path / "merged"
    shutil.copytree(tmp_path / "Base-1", merged)
    weights, parts = load_file(merged / "model.safetensors"), tensors()
    for module in (Q, GATE):
        added = torch.zeros_like(weights[f"{module.removeprefix(BEFORE)}.weight"])
        a, b = (parts[f"{module}.lora_{which}.weight"] for which in "AB")
        for row in range(added.shape[0]):
            for column in range(added.shape[1]):
                pairs = zip(b[row], a[:, column], strict=True)
                added[row, column] = 6 / 2**0.5 * sum(one * other for one, other in pairs)
        weights[f"{module.removeprefix(BEFORE)}.weight"] += added
    save_file(weights, merged / "model.safetensors", {"format": "pt"})
    (ours, _), (expected, _) = load(adapter, device="cpu"), load(merged, device="cpu")
    assert difference(ours(ids(1, 9)).logits, expected(ids(1, 9)).logits) < 1e-5


REFUSED = {
    "another kind": ({"peft_type": "IA3"}, {}, "peft_type='IA3' is not supported; supported: 'LORA'"),
    "dora": ({"use_dora": True}, {}, "use_dora=True is not supported"),
    "biases": ({"bias": "all"}, {}, "bias='all' is not supported; supported: 'none'"),
    "biases of B": ({"lora_bias": True}, {}, "lora_bias=True is not supported"),
    "megatron": ({"megatron_config": {"a": 1}}, {}, "megatron_config={'a': 1} is not supported"),
    "replicated": ({"layer_replication": [[0, 1]]}, {}, "layer_replication="),
    "pissa": ({"init_lora_weights": "pissa"}, {}, "init_lora_weights='pissa' is not supported"),
    "of tomorrow": ({"use_tomorrow": 3}, {}, "use_tomorrow=3 is not supported"),
    "experts": ({"target_parameters": ["mlp.experts.up"]}, {}, "target_parameters="),
    "rank of zero": ({"r": 0}, {}, "r=0 must be between 1"),
    "rank too large": ({"r": 10**6}, {}, "r=1000000 is more than 4,096"),
    "alpha no number": ({"lora_alpha": "8"}, {}, "lora_alpha='8' must be a number"),
    "alpha endless": ({"lora_alpha": float("inf")}, {}, "lora_alpha=inf must be a number"),
    "patterns no table": ({"rank_pattern": [1]}, {}, "rank_pattern must name up to"),
    "pattern for ever": ({"alpha_pattern": {"(a+)+": 1}}, {}, "alpha_pattern has '\\(a\\+\\)\\+', which is neither"),
    "pattern long": ({"rank_pattern": {".*.*.*.*q": 1}}, {}, "rank_pattern has"),
    "another rank": ({"r": 3}, {}, "of rank 3, for the base's of"),
    "own rank": ({"rank_pattern": {"q_proj": 1}}, {}, "q_proj has matrices of"),
    "narrow": ({}, {f"{Q}.lora_A.weight": (2, 23)}, "q_proj has matrices of"),
    "flat": ({}, {f"{Q}.lora_A.weight": (48,)}, "q_proj has matrices of"),
    "half": ({}, {f"{Q}.lora_B.weight": None}, "q_proj.lora_A.weight without its other matrix"),
    "other half": ({}, {f"{Q}.lora_A.weight": None}, "q_proj.lora_B.weight without its other matrix"),
    "not there": (
        {},
        {f"{BEFORE}model.layers.7.o.lora_A.weight": (2, 24), f"{BEFORE}model.layers.7.o.lora_B.weight": (24, 2)},
        "changes model.layers.7.o, which the base does not have",
    ),
    "a norm": (
        {},
        {f"{BEFORE}model.norm.lora_A.weight": (2, 24), f"{BEFORE}model.norm.lora_B.weight": (24, 2)},
        "model.norm has matrices of",
    ),
    "a norm as a table": (
        {},
        {f"{BEFORE}model.norm.lora_embedding_A": (2, 24), f"{BEFORE}model.norm.lora_embedding_B": (1, 2)},
        "model.norm has matrices of",
    ),
    "two names of one": (
        {},
        {f"{Q}.lora_A.weight".replace("model.layers", "layers"): (2, 24)}
        | {f"{Q}.lora_B.weight".replace("model.layers", "layers"): (60, 2)},
        "changes layers.1.self_attn.q_proj.weight twice",
    ),
    "whole by two names": (
        {},
        {f"{BEFORE}model.norm.weight": (24,), f"{BEFORE}norm.weight": (24,)},
        "brings norm.weight twice",
    ),
    "magnitudes": ({}, {f"{Q}.lora_magnitude_vector": (60,)}, "lora_magnitude_vector, which the base does not have"),
    "not peft's": ({}, {"lora_A": (2, 2)}, "holds lora_A, which no LoRA adapter of peft has"),
    "twice": ({}, {f"{Q}.weight": (60, 24)}, "changes layers.1.self_attn.q_proj.weight and brings it whole"),
    "whole, narrow": ({}, {f"{BEFORE}model.norm.weight": (23,)}, "has shape \\(23,\\), the base's \\(24,\\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_change_numbers_otherwise_is_refused_by_name(adapter, case):
    settings, parts, sentence = REFUSED[case]
    write(adapter, settings, tensors(**parts))
    with pytest.raises(CheckpointError, match=sentence):
        load(adapter)


def test_numbers_that_are_none_are_refused(adapter):
    whole = tensors()
    write(adapter, parts=whole | {f"{Q}.lora_A.weight": whole[f"{Q}.lora_A.weight"].to(torch.int32)})
    with pytest.raises(CheckpointError, match=r"q_proj.lora_A.weight is I32, not one of"):
        load(adapter)
    write(adapter, parts=whole | {f"{Q}.lora_A.weight": torch.full((2, 24), torch.nan)})
    with pytest.raises(CheckpointError, match="not finite"):
        load(adapter)


def test_a_change_of_what_is_table_and_head_is_refused(tmp_path):
    written(hf.LlamaForCausalLM, GROUPED | {"tie_word_embeddings": True}, tmp_path / "Base-1")
    table = f"{BEFORE}model.embed_tokens"
    parts = {f"{table}.lora_embedding_A": torch.ones(2, 61), f"{table}.lora_embedding_B": torch.ones(24, 2)}
    with pytest.raises(CheckpointError, match=r"changes embed_tokens.weight, which its base uses as the head too"):
        load(write(tmp_path / "adapter", parts=parts))


def test_pickles_are_not_opened(adapter):
    write(adapter)
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(
        CheckpointError, match=r"adapter_model.safetensors is missing, and adapter_model.bin is a pickle"
    ):
        load(adapter)


@pytest.mark.parametrize("said", ["..", "a/..", ".", "", "/", "a/ ", "a\x00b", "x" * 300, None, 7, ["a"], "a/../."])
def test_names_that_lead_elsewhere_name_no_model(adapter, said):
    with pytest.raises(CheckpointError, match="names no model"):
        base_of(write(adapter, {"base_model_name_or_path": said}))


@pytest.mark.parametrize(
    "said", ["Base-1", "org/Base-1", "/etc/Base-1", "../../Base-1/", "C:\\models\\Base-1", "https://hf.co/a/Base-1"]
)
def test_the_last_part_of_the_name_is_looked_for_beside_the_adapter(adapter, tmp_path, said):
    assert base_of(write(adapter, {"base_model_name_or_path": said})).place == (tmp_path / "Base-1").resolve()


def test_a_base_that_is_not_there_is_said_with_its_place(adapter):
    write(adapter, {"base_model_name_or_path": "org/Other-2"})
    sentence = "adapter is an adapter of org/Other-2, which is not here: put the folder of that model beside it, into "
    with pytest.raises(CheckpointError, match=f"{sentence}the same folder, under the name Other-2"):
        estimate(adapter)


def test_links_are_not_followed_out_of_the_folder(adapter, tmp_path):
    write(adapter)
    inside, outside = tmp_path / "Base-1", tmp_path / "elsewhere" / "Base-1"
    outside.parent.mkdir()
    inside.rename(outside)
    inside.symlink_to(outside)
    with pytest.raises(CheckpointError, match="is a link that leads out of its folder"):
        load(adapter)
    inside.unlink()
    shutil.copytree(outside, inside)
    (inside / "config.json").unlink()
    (inside / "config.json").symlink_to(outside / "config.json")
    with pytest.raises(CheckpointError, match=r"config.json is a link that leads out of its folder"):
        load(adapter)


def test_an_adapter_of_an_adapter_is_refused(adapter):
    write(adapter, {"base_model_name_or_path": "adapter"})
    with pytest.raises(CheckpointError, match="adapter, which is an adapter itself"):
        load(adapter)


def test_a_real_model_is_found_by_its_name_on_the_hub(adapter, monkeypatch, tmp_path):
    write(adapter, {"base_model_name_or_path": "HuggingFaceTB/SmolLM2-135M-Instruct"})
    monkeypatch.setattr(real_models, "installed", lambda: {"smollm2": tmp_path / "there"})
    found = base_of(adapter)
    assert (found.place, found.name, found.is_real) == (tmp_path / "there", "smollm2", True)


def test_the_tokenizer_is_the_bases_unless_the_adapter_brings_one(tmp_path):
    own_folders.write(tmp_path, "gpt2", "llama")
    adapter = write(tmp_path / "adapter", {"base_model_name_or_path": "llama"}, {**_small(tmp_path / "llama")})
    _, tokenizer = load(adapter, device="cpu")
    _, bases = load(tmp_path / "llama", device="cpu")
    assert tokenizer.encode("The cat sat.") == bases.encode("The cat sat.")
    assert special_tokens(adapter, tokenizer) == special_tokens(tmp_path / "llama", bases)
    assert estimate(adapter).parameters == estimate(tmp_path / "llama").parameters
    shutil.copy(tmp_path / "gpt2" / "tokenizer.json", adapter)
    (adapter / "chat_template.jinja").write_text("{{ messages }}")
    _, own = load(adapter, device="cpu")
    _, others = load(tmp_path / "gpt2", device="cpu")
    assert own.encode("The cat sat.") == others.encode("The cat sat.")
    assert special_tokens(adapter, own).template == "{{ messages }}"


def _small(base):
    """An update of one matrix of a base."""
    name, weight = next((k, w) for k, w in load_file(base / "model.safetensors").items() if k.endswith("q_proj.weight"))
    module = BEFORE + name.removesuffix(".weight")
    return {
        f"{module}.lora_A.weight": torch.ones(2, weight.shape[1]),
        f"{module}.lora_B.weight": torch.ones(60, 2)[: weight.shape[0]],
    }


def test_what_is_told_of_it(adapter):
    norm = f"{BEFORE}model.norm.weight"
    write(adapter, {"alpha_pattern": {"q_proj": 1}}, tensors(**{norm: (24,)}))
    summary = adapter_summary(adapter)
    assert summary.layers == (0, 1)
    assert adapted(summary) == Adapted(
        base="Base-1",
        matrices=2,
        modules=("gate_proj", "q_proj"),
        layers=(0, 1),
        ranks=(2,),
        scales=(0.5, 3.0),
        parameters=2 * (24 + 60) + 2 * (24 + 40) + 24,
        whole=("norm.weight",),
    )
    assert str(adapted(summary)) == (
        "2 matrices of Base-1 (gate_proj, q_proj) in layers 0 to 1: to each it adds B A of rank 2, scaled by 0.5 to 3. "
        "The adapter has 320 numbers. It brings 1 tensor whole: norm.weight."
    )
    assert adapter_summary(adapter.parent / "Base-1") is None


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ((), "no layer"),
        ((4,), "layer 4"),
        ((2, 3), "layers 2 to 3"),
        ((0, 2, 5), "3 layers (0, 2, 5)"),
        (tuple(range(0, 20, 2)), "10 layers (0, 2, 4, 6, 8, 10, 12, 14, …)"),
    ],
)
def test_layers_are_named(layers, words):
    told = Adapted("a", 1, ("q",), layers, (1,), (1.0,), 4, ())
    assert (
        str(told)
        == f"1 matrix of a (q) in {words}: to each it adds B A of rank 1, scaled by 1. The adapter has 4 numbers."
    )
