"""The settings of a GGUF file: each is read, or changes no number, or is refused by its name."""

import struct
from dataclasses import replace

import gguf
import pytest
import torch

import tfcore
from tests.loading.gguf_files import MODELS, byte_level, random_model, tensors, write
from tfcore import CheckpointError
from tfcore.loading import checkpoints
from tfcore.loading.gguf_models import GgufWeights

LINEAR = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}
IDS = torch.arange(40)[None] * 7 % 320
TOLERANCE = 1e-4


def written(path, name="llama", **more):
    write(path, name, random_model(name), **byte_level("gpt-2"), **more)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a good file."""
    return written(tmp_path_factory.mktemp("good") / "model.gguf").read_bytes()


def logits(model):
    with torch.no_grad():
        return model(IDS).logits


def scaled(rope):
    """The same weights with rotations of another kind."""
    _, kind, settings = MODELS["llama"]
    model = kind(kind.config_class(**settings, rope_parameters=rope)).eval()
    model.load_state_dict(random_model("llama").state_dict())
    return model


LINEARLY = {
    "a factor alone": {"llama.rope.scaling.factor": 4.0},
    "a factor and its kind": {"llama.rope.scaling.factor": 4.0, "llama.rope.scaling.type": "linear"},
    "its older name": {"llama.rope.scale_linear": 4.0},
}
NOT_AT_ALL = {
    "none": {"llama.rope.scaling.factor": 4.0, "llama.rope.scaling.type": "none"},
    "by nothing": {"llama.rope.scaling.factor": 0.0},
    "by one": {"llama.rope.scaling.factor": 1.0, "llama.rope.scaling.type": "yarn"},
}


@pytest.mark.parametrize("said", [*LINEARLY.values(), *NOT_AT_ALL.values()], ids=[*LINEARLY, *NOT_AT_ALL])
def test_rotations_are_scaled_as_llama_cpp_does(said, tmp_path):
    ours = tfcore.load(written(tmp_path / "model.gguf", **said), device="cpu")[0]
    theirs = scaled(LINEAR) if said in LINEARLY.values() else random_model("llama")
    assert (logits(ours) - logits(theirs)).abs().max() < TOLERANCE
    other = random_model("llama") if said in LINEARLY.values() else scaled(LINEAR)
    assert (logits(ours) - logits(other)).abs().max() > 1  # which the text is long enough to show


BLENDED = {
    "of the file's length": ({}, {}),
    "of an earlier length": ({"original_context_length": 16}, {"original_max_position_embeddings": 16}),
    "from other pairs on": (
        {"original_context_length": 16, "yarn_beta_fast": 5.0, "yarn_beta_slow": 2.0},
        {"original_max_position_embeddings": 16, "beta_fast": 5.0, "beta_slow": 2.0},
    ),
}


@pytest.mark.parametrize(("said", "rope"), BLENDED.values(), ids=list(BLENDED))
def test_yarn_is_that_of_transformers(said, rope, tmp_path):
    file = {f"llama.rope.scaling.{key}": value for key, value in {"type": "yarn", "factor": 4.0, **said}.items()}
    ours = tfcore.load(written(tmp_path / "model.gguf", **file), device="cpu")[0]
    theirs = scaled({"rope_type": "yarn", "rope_theta": LINEAR["rope_theta"], "factor": 4.0, **rope})
    assert (logits(ours) - logits(theirs)).abs().max() < TOLERANCE


READ = {
    *("block_count", "context_length", "embedding_length", "feed_forward_length", "expert_count"),
    "nextn_predict_layers",  # of which there are fewer than blocks
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
    *("attention.layer_norm_rms_epsilon", "rope.dimension_count", "rope.freq_base"),
    *("rope.scaling.type", "rope.scaling.factor"),
}
WITHOUT_EFFECT = {"vocab_size", "pooling_type", "rope.scaling.finetuned", "rope.scaling.original_context_length"}
NAMED = {  # by the package
    key.removeprefix("{arch}.")
    for group in (gguf.Keys.LLM, gguf.Keys.Attention, gguf.Keys.Rope)
    for name, key in vars(group).items()
    if not name.startswith("_") and isinstance(key, str) and "{dense}" not in key
}


@pytest.mark.parametrize("name", sorted(NAMED - READ - WITHOUT_EFFECT | {"of_tomorrow", "rope.scaling.yarn_tomorrow"}))
def test_a_setting_that_nothing_reads_is_refused_by_name(name, good, tmp_path):
    """One more setting in the header of a good file: a number in single precision."""
    key = f"llama.{name}".encode()
    more = len(key).to_bytes(8, "little") + key + struct.pack("<If", 6, 7.5)
    n = int.from_bytes(good[16:24], "little")
    path = tmp_path / "model.gguf"
    path.write_bytes(good[:16] + (n + 1).to_bytes(8, "little") + more + good[24:] + bytes(64))
    with pytest.raises(CheckpointError, match=rf"has llama\.{name}=7\.5, which may change its numbers and cannot be"):
        GgufWeights(path)


OFF = {
    "llama.attention.causal": True,
    "llama.attention.sliding_window": 0,
    "llama.expert_count": 0,
    "llama.expert_used_count": 0,
    "llama.final_logit_softcapping": 0.0,
    "llama.logit_scale": 1.0,
    "llama.rope.scaling.attn_factor": 1.0,
    "llama.tensor_data_layout": "Meta AI original pth",
    "llama.vocab_size": 320,
    "llama.pooling_type": 3,
    "llama.rope.scaling.finetuned": True,
    "llama.rope.scaling.original_context_length": 64,
    "llama.attention.value_length": 16,
    "llama.rope.dimension_count": 16,
}


def test_settings_that_switch_nothing_on_are_read_over(tmp_path):
    found = tfcore.load(written(tmp_path / "model.gguf", **OFF), device="cpu")[0]
    assert (logits(found) - logits(random_model("llama"))).abs().max() < TOLERANCE


REFUSED = {
    "no mask": ({"llama.attention.causal": False}, r"has llama\.attention\.causal=False"),
    "another order of rows": ({"llama.tensor_data_layout": "other"}, r"has llama\.tensor_data_layout='other'"),
    "a window by layers": ({"llama.attention.sliding_window_pattern": [1, 0]}, r"sliding_window_pattern=a list"),
    "wider values": ({"llama.attention.value_length": 24}, "has values of 24 and keys of 16 numbers in a head"),
    "another scaling": (
        {"llama.rope.scaling.type": "longrope", "llama.rope.scaling.factor": 2.0},
        "scales its rotations by 'longrope'; linear, YaRN and",
    ),
    "lower case": ({"tokenizer.ggml.normalizer.lowercase": True}, r"has tokenizer\.ggml\.normalizer\.lowercase"),
    "a separator": ({"tokenizer.ggml.add_sep_token": True}, r"has tokenizer\.ggml\.add_sep_token, which may change"),
}


@pytest.mark.parametrize(("said", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_one_sentence_each(said, sentence, tmp_path):
    with pytest.raises(CheckpointError, match=sentence):
        tfcore.load(written(tmp_path / "model.gguf", **said))


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("attention.sliding_window_pattern", 3, "has windows in other layers than every second"),
        ("rope.freq_base_swa", 9.0, "rotates in layers with a window otherwise than in others"),
        ("rope.scaling.yarn_attn_factor", 0.5, "which may change its numbers and cannot be read"),
    ],
)
def test_of_gpt_oss_layers_that_are_otherwise_are_refused(key, value, sentence, tmp_path):
    with pytest.raises(CheckpointError, match=sentence):
        tfcore.load(written(tmp_path / "model.gguf", "gpt-oss", **{f"gpt-oss.{key}": value}))


OF_FAMILIES = {
    "another eps than OLMo's": (
        "olmo",
        "attention.layer_norm_epsilon",
        1e-3,
        "adds 0.001 to variances, where OLMo adds",
    ),
    "Granite without rotations": (
        "granite",
        "rope.scaling.finetuned",
        False,
        "rotates nothing, which is not supported",
    ),
    "MPT without ALiBi": ("mpt", "attention.max_alibi_bias", 0.0, "attn_config.alibi=False is not supported"),
    "MPT's grouped keys": ("mpt", "attention.head_count_kv", 2, "has 2 heads of keys for 4 of queries, which is not"),
    "an unknown order of Falcon's rows": ("falcon", "tensor_data_layout", "x", "rows of .* in the order 'x', which is"),
    "StarCoder with more keys": ("starcoder", "attention.head_count_kv", 2, "num_key_value_heads=2 is not supported"),
    "Granite's shared experts": (
        "granite mixture",
        "expert_shared_feed_forward_length",
        8,
        "shared_intermediate_size=8 is not supported; supported: a multiple of intermediate_size=96",
    ),
    "softmax where sigmoids are usual": (
        "glm 4.5",
        "expert_gating_func",
        1,
        r"by the function 1; 2 \(sigmoid\) can be",
    ),
    "sigmoids of the first LFM2": (
        "lfm2",
        "expert_gating_func",
        2,
        r"has lfm2\.expert_gating_func=2, which may change its numbers",
    ),
    "keys of every head": ("deepseek2", "attention.head_count_kv", 4, "has head_count_kv=4, where its latents have 1"),
    "another function": ("deepseek2", "expert_gating_func", 3, "chooses experts by the function 3; 1"),
    "YaRN, and no more": (
        "deepseek2",
        "rope.scaling.yarn_log_multiplier",
        0.0,
        "does not say what that does to scores",
    ),
    "groups that count": (
        "deepseek2",
        "expert_group_scale",
        0.5,
        r"has deepseek2\.expert_group_scale=0\.5, which may change its numbers",
    ),
    "softmax that adds up": ("deepseek2", "expert_weights_norm", True, "norm_topk_prob=True is not supported"),
    "a pattern of nobody": (
        "exaone4, windows",
        "attention.sliding_window_pattern",
        [True, False],
        "is not supported; supported: for each of the 5 layers",
    ),
}


@pytest.mark.parametrize(("name", "key", "value", "sentence"), OF_FAMILIES.values(), ids=list(OF_FAMILIES))
def test_what_a_family_does_not_do_is_refused(name, key, value, sentence, tmp_path):
    with pytest.raises(CheckpointError, match=sentence):
        tfcore.load(written(tmp_path / "model.gguf", name, **{f"{MODELS[name][0]}.{key}": value}))


def test_more_blocks_than_a_model_may_have_are_refused_before_they_are_counted(tmp_path):
    with pytest.raises(CheckpointError, match=r"has 1000000000 blocks, 0 of which .*; up to [\d,]+ blocks can be read"):
        tfcore.load(written(tmp_path / "model.gguf", **{"llama.block_count": 10**9}))


@pytest.mark.parametrize("name", ["olmo3", "cohere2"])
def test_windows_are_read_from_a_list_too(name, tmp_path):
    flags = [False, True, True, False, True]
    ours = tfcore.load(
        written(tmp_path / "model.gguf", name, **{f"{MODELS[name][0]}.attention.sliding_window_pattern": flags})
    )[0]
    assert [ours.config.window_of(i) is not None for i in range(5)] == flags


def test_mpt_is_cut_off_and_as_steep_as_its_file_says(tmp_path):
    said = {"mpt.attention.clamp_kqv": 6.0, "mpt.attention.max_alibi_bias": 16.0}
    config = tfcore.load(written(tmp_path / "model.gguf", "mpt", **said))[0].config
    assert (config.attention.clip, config.positions.steepness) == (6, 16)


def test_olmo_is_cut_off_as_its_file_says(tmp_path):
    said = {"olmo.attention.clamp_kqv": 8.0}
    assert tfcore.load(written(tmp_path / "model.gguf", "olmo", **said))[0].config.attention.clip == 8


def test_gpt2_is_asked_the_same(tmp_path):
    with pytest.raises(CheckpointError, match=r"has gpt2\.rope\.freq_base=1, which may change its numbers"):
        tfcore.load(written(tmp_path / "model.gguf", "gpt2", **{"gpt2.rope.freq_base": 1}))


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_no_default_stands_in_for_a_setting_that_a_file_must_have(name, tmp_path):
    """The family's own defaults are those of another model."""
    architecture = MODELS[name][0]
    path = written(tmp_path / "model.gguf", name)
    content = path.read_bytes()
    keys = ["block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count"]
    keys.append("attention.layer_norm_epsilon" if name == "gpt2" else "attention.layer_norm_rms_epsilon")
    for key in keys:
        stated = f"{architecture}.{key}".encode()
        assert content.count(stated + b"\x04\0\0\0") + content.count(stated + b"\x06\0\0\0") == 1
        elsewhere = stated.replace(architecture.encode(), b"x" * len(architecture))
        path.write_bytes(
            content.replace(stated + b"\x04", elsewhere + b"\x04").replace(stated + b"\x06", elsewhere + b"\x06")
        )
        with pytest.raises(CheckpointError, match=f"lacks the setting {architecture}.{key}$"):
            checkpoints.estimate(path)


# ---- a model in several files ----


def split(tmp_path, parts=3, **settings):
    """A model in several files, the settings in the first, as llama.cpp splits one; and the model in one file."""
    whole, model = tmp_path / "whole.gguf", random_model("llama")
    write(whole, "llama", model, **byte_level("gpt-2"))
    names = list(tensors("llama", model))
    paths = [tmp_path / "parts" / f"model-{i + 1:05}-of-{parts:05}.gguf" for i in range(parts)]
    paths[0].parent.mkdir()
    for i, path in enumerate(paths):
        more = {"split.no": i, "split.count": parts, **settings}
        write(path, "llama", model, only=names[i::parts], **(byte_level("gpt-2") if i == 0 else {}), **more)
    return whole, paths


def test_a_model_in_several_files_is_the_model(tmp_path):
    whole, (first, second, _) = split(tmp_path)
    expected, _ = tfcore.load(whole, device="cpu")
    for place in (first, first.parent):
        ours, tokenizer = tfcore.load(place, device="cpu")
        assert tokenizer.encode("a dog") == tfcore.load(whole, device="cpu")[1].encode("a dog")
        for name, value in ours.state_dict().items():
            assert torch.equal(value, expected.state_dict()[name]), name
    one, other = (replace(checkpoints.estimate(path), free=None) for path in (first, whole))  # what is free changes
    assert one == other
    with pytest.raises(CheckpointError, match=r"is part 2 of 3 .*; open the first, model-00001-of-00003\.gguf$"):
        tfcore.load(second)


def test_a_part_that_is_not_there_or_not_that_part_is_named(tmp_path):
    _, (first, second, third) = split(tmp_path)
    content = third.read_bytes()
    third.write_bytes(second.read_bytes())
    with pytest.raises(CheckpointError, match="says that it is another part than its name says"):
        tfcore.load(first)
    third.unlink()
    with pytest.raises(CheckpointError, match=r"is part 1 of 3 .*, and model-00003-of-00003\.gguf is not beside it$"):
        tfcore.load(first)
    (tmp_path / "elsewhere.gguf").write_bytes(content)
    third.symlink_to(tmp_path / "elsewhere.gguf")
    with pytest.raises(CheckpointError, match="is a link that leads out of its folder"):
        tfcore.load(first)
    alone = first.rename(tmp_path / "alone.gguf")
    with pytest.raises(CheckpointError, match=r"is part 1 of 3 .*; put all parts, named as llama\.cpp names them"):
        tfcore.load(alone)


def test_two_whole_files_named_like_parts_are_no_model(tmp_path):
    first, _ = (written(tmp_path / f"model-0000{i}-of-00002.gguf") for i in (1, 2))
    with pytest.raises(
        CheckpointError, match=r"-00002-of-00002\.gguf has token_embd\.weight, which another part of the model"
    ):
        tfcore.load(first)
    written(tmp_path / "another.gguf")
    with pytest.raises(CheckpointError, match="has 3 GGUF files; name the one to open"):
        tfcore.load(tmp_path)


def test_one_file_of_one_is_whole(tmp_path):
    path = written(tmp_path / "model-00001-of-00001.gguf", **{"split.no": 0, "split.count": 1})
    assert tfcore.load(path, device="cpu")[0].config.n_layers == 2
