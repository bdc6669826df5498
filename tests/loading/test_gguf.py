"""GGUF files against transformers' own reader: models of every architecture, every kind of numbers, tokenizers."""

import math

import gguf
import numpy as np
import pytest
import torch
import transformers as hf

import tfcore
from tests.loading import gguf_files
from tests.loading.gguf_files import (
    MODELS,
    QUANTISED,
    RAW,
    TEXT,
    blocks,
    byte_level,
    random_model,
    sentence_piece,
    tensors,
    write,
)
from tfcore import CheckpointError
from tfcore.loading import checkpoints, gguf_file
from tfcore.loading.gguf_file import GgufFile
from tfcore.loading.gguf_models import GgufWeights
from tfcore.loading.tokenizer_json import merges_of_scores

TOLERANCE = 1e-4
# Not Gemma's, which it does not know, nor Qwen 3 with heads that are not d_model / n_heads wide.
READ_BY_TRANSFORMERS = ("llama", "llama, tied", "mistral", "qwen2", "gpt2")
SPECIAL = "<|begin|>dog<|end|>"  # to a tokenizer of bytes this is text like any other: nobody can type a special token
TEXTS = (TEXT, "", " ", "a", "  two", "12345 6", "naïve\n\n\tcafé 東京🐱")


def theirs_of(path, **more):
    return hf.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32, **more)


def assert_same(path, expected, vocabulary=320):
    ours, _ = tfcore.load(path, device="cpu")
    ids = torch.randint(vocabulary, (2, 17), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        theirs = expected(ids).logits
        difference = (ours(ids).logits - theirs).abs().max()
    assert difference < TOLERANCE * max(1.0, theirs.abs().max())


@pytest.mark.parametrize("name", MODELS)
def test_every_architecture(name, tmp_path):
    model = random_model(name)
    path = tmp_path / "model.gguf"
    write(path, name, model, **byte_level("gpt-2"))
    assert_same(path, model)  # of which the file was made
    if name in READ_BY_TRANSFORMERS:
        assert_same(path, theirs_of(path))


@pytest.mark.parametrize(
    ("name", "joint"), [("deepseek2, lite", "attn_kv_b"), ("deepseek3", "attn_kv_b"), ("qwen3-next", "ssm_in")]
)
def test_an_older_file_has_one_matrix_where_newer_ones_have_two(name, joint, tmp_path):
    model, path = random_model(name), tmp_path / "model.gguf"
    write(path, name, model, apart=False, **byte_level("gpt-2"))
    with GgufFile(path) as file:
        assert f"blk.0.{joint}.weight" in file.tensors
    assert_same(path, model)


@pytest.mark.parametrize("name", ["qwen3.5", "nemotron-h mixture", "glm 4.5"])
def test_blocks_that_predict_further_tokens_are_left_out(name, tmp_path):
    """llama.cpp counts them as blocks of the model, the last ones."""
    model, path = random_model(name), tmp_path / "model.gguf"
    architecture, n = MODELS[name][0], model.config.num_hidden_layers
    said = {f"{architecture}.block_count": n + 1, f"{architecture}.nextn_predict_layers": 1}
    with pytest.MonkeyPatch.context() as patch:
        own = tensors(architecture, model)
        more = {f"blk.{n}.{one}.weight": np.ones(64) for one in ("attn_norm", "nextn.enorm", "attn_q")}
        patch.setattr(gguf_files, "tensors", lambda *_: own | more)
        write(path, name, model, **said, **byte_level("gpt-2"))
    assert_same(path, model)


def test_keys_of_latents_without_their_values_are_refused(tmp_path):
    model, path = random_model("deepseek2"), tmp_path / "model.gguf"
    every = [name for name in tensors("deepseek2", model) if name != "blk.1.attn_v_b.weight"]
    write(path, "deepseek2", model, only=every, **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match=r"holds 'blk\.1\.attn_k_b\.weight', without what goes with it"):
        tfcore.load(path)


HYBRIDS = {
    "counts that differ": (
        "lfm2",
        {"lfm2.attention.head_count_kv": [1, 2, 0]},
        "one whole number, or 0, for each layer",
    ),
    "one count": (
        "lfm2",
        {"lfm2.attention.head_count_kv": 2},
        r"has 2 in lfm2\.attention\.head_count_kv, where a list",
    ),
    "heads of a state": (
        "mamba2",
        {"mamba2.ssm.time_step_rank": 7},
        "has states of 128 values in 7 heads, which cannot",
    ),
    "width of a state": ("falcon-h1", {"falcon-h1.ssm.inner_size": 48}, r"conv1d\.weight has shape"),
    "a width that is no multiple": ("granite 4", {"granitehybrid.ssm.inner_size": 120}, "mamba_d_head=15"),
    "heads of values": (
        "qwen3.5",
        {"qwen35.ssm.time_step_rank": 5},
        "has states of 72 values in 5 heads, which cannot",
    ),
    "other heads of values": ("qwen3.5", {"qwen35.ssm.group_count": 4}, "n_key_heads=4"),
    "too many further blocks": (
        "qwen3.5",
        {"qwen35.nextn_predict_layers": 9},
        "has 4 blocks, 9 of which predict further tokens",
    ),
    "LongRoPE": (
        "qwen3.5",
        {"qwen35.rope.scaling.type": "longrope", "qwen35.rope.scaling.factor": 4.0},
        "scales its rotations by 'longrope'",
    ),
    "experts in a narrower space": (
        "nemotron-h mixture",
        {"nemotron_h_moe.moe_latent_size": 32},
        "moe_latent_size=32 is not supported",
    ),
    "wider values": ("nemotron-h", {"nemotron_h.attention.value_length": 24}, "has values of 24 and keys of 16"),
    "what nobody reads": ("mamba2", {"mamba2.ssm.dt_b_c_rms": True}, r"mamba2\.ssm\.dt_b_c_rms=True, which may change"),
}


@pytest.mark.parametrize(("name", "more", "words"), HYBRIDS.values(), ids=list(HYBRIDS))
def test_settings_of_hybrids_that_do_not_fit_are_refused(name, more, words, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, name, random_model(name), **more, **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match=words):
        tfcore.load(path)


def test_granite_4_whose_layers_all_attend_is_called_granite(tmp_path):
    """With settings of states that no layer has, and heads of keys in a list."""
    path, model = tmp_path / "model.gguf", random_model("granite")
    kept = {"conv_kernel": 4, "inner_size": 128, "state_size": 16, "time_step_rank": 8, "group_count": 1}
    said = {f"granite.ssm.{name}": value for name, value in kept.items()}
    said |= {"granite.attention.head_count_kv": [2, 2], "granite.expert_shared_feed_forward_length": 96}
    write(path, "granite", model, **said, **byte_level("gpt-2"))
    assert_same(path, model)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("xielu.alpha_p", [0.5], r"has no list of 2 numbers, one for each layer, in xielu\.alpha_p"),
        ("xielu.alpha_n", [0.5, math.nan], r"has no list of 2 numbers, one for each layer, in xielu\.alpha_n"),
        ("xielu.beta", [0.5, 0.7], r"layers\.1\.mlp\.act_fn\.beta is not 0\.5"),
    ],
)
def test_numbers_of_xielu_that_cannot_be_are_refused(key, value, words, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "apertus", random_model("apertus"), **{key: value}, **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match=words):
        tfcore.load(path)


def test_mistral_small_3_is_called_mistral3_and_scales_nothing(tmp_path):
    path, model = tmp_path / "model.gguf", random_model("ministral3")
    write(path, "ministral3", model, **{"mistral3.attention.temperature_scale": 0.0}, **byte_level("gpt-2"))
    assert tfcore.load(path)[0].config.max_seq_len == 256
    write(path, "ministral3", model, **byte_level("gpt-2"))
    assert tfcore.load(path)[0].config.max_seq_len == 32


def test_a_layer_of_no_kind_is_refused(tmp_path):
    model, path = random_model("nemotron-h"), tmp_path / "model.gguf"
    rest = [name for name in tensors("nemotron_h", model) if not name.startswith("blk.1.ffn")]
    write(path, "nemotron-h", model, only=rest, **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match=r"layers_block_type=.* is not supported; supported: for each layer one"):
        tfcore.load(path)


def test_states_add_to_variances_what_the_model_does(tmp_path):
    """Not what llama.cpp takes, where a file has both."""
    path = tmp_path / "model.gguf"
    said = {"nemotron_h.attention.layer_norm_rms_epsilon": 0.5}
    write(path, "nemotron-h", random_model("nemotron-h"), **said, **byte_level("gpt-2"))
    config = checkpoints.estimate(path).config
    assert config.norm.eps == pytest.approx(1e-3)
    assert config.mixer.least_step == 0.001  # the default of transformers, as no file says it


@pytest.mark.parametrize("kind", ["F16", "BF16", *QUANTISED])
def test_every_kind_of_numbers(kind, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), kind, **byte_level("gpt-2"))
    assert_same(path, theirs_of(path))


@pytest.mark.parametrize("kind", [kind for kind in RAW if kind.endswith("_K")])
def test_k_quants(kind, tmp_path, monkeypatch):
    """In blocks of 256."""
    architecture, model_class, settings = MODELS["llama"]
    wide = settings | {"hidden_size": 256, "intermediate_size": 256}
    monkeypatch.setitem(MODELS, "wide", (architecture, model_class, wide))
    path = tmp_path / "model.gguf"
    write(path, "wide", random_model("wide"), kind, **byte_level("gpt-2"))
    assert_same(path, theirs_of(path))


def test_a_tensor_is_read_as_its_blocks_say(tmp_path):
    """Q4_1: 32 numbers of four bits, a scale and a minimum; the low halves of the bytes are the first 16."""
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), "Q4_1", **byte_level("gpt-2"))
    with GgufFile(path) as file:
        entry = file.tensors["blk.1.ffn_down.weight"]
        found = file.read("blk.1.ffn_down.weight")
    raw = path.read_bytes()[entry.start : entry.start + entry.size]
    expected = []
    for block in range(0, len(raw), 20):
        scale, minimum = np.frombuffer(raw[block : block + 4], "<f2").astype(np.float32)
        numbers = raw[block + 4 : block + 20]
        expected += [float(scale) * (byte & 15) + float(minimum) for byte in numbers]
        expected += [float(scale) * (byte >> 4) + float(minimum) for byte in numbers]
    assert found.shape == (64, 96)
    assert found.flatten().tolist() == pytest.approx(expected)


def test_every_kind_is_read_row_by_row_as_the_package_reads_it_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_file, "BLOCK", 700)  # numbers at a time, which is no whole number of rows
    writer = gguf.GGUFWriter(tmp_path / "file.gguf", "llama")
    expected = {}
    for kind in RAW:
        quantisation = gguf.GGMLQuantizationType[kind]
        raw = blocks(kind, 6 * 512 // gguf.GGML_QUANT_SIZES[quantisation][0], 0).reshape(6, -1)
        writer.add_tensor(kind, raw, raw_dtype=quantisation)
        expected[kind] = gguf.quants.dequantize(raw, quantisation)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert set(RAW) | set(QUANTISED) | {"F32", "F16", "BF16"} == gguf_file.KINDS
    with GgufFile(tmp_path / "file.gguf") as file:
        for kind, numbers in expected.items():
            assert np.array_equal(file.read(kind).numpy(), numbers), kind
            assert 0.03 < numbers.std() < 0.13, kind  # random bytes that are no weights would show nothing


def with_factors(monkeypatch, factors):
    """Files are written with these tensors beside others of a name."""
    add = gguf_files._add

    def added(writer, name, numbers, kind):
        add(writer, name, numbers, kind)
        for beside in (".scale", ".input_scale"):
            if (there := name.replace(".weight", beside)) in factors:
                writer.add_tensor(there, np.array(factors[there], np.float32))

    monkeypatch.setattr(gguf_files, "_add", added)


@pytest.mark.parametrize(
    ("name", "factors", "matrices"),
    [
        ("llama", {"blk.1.ffn_up.scale": [0.25], "blk.1.ffn_up.input_scale": [9.0]}, {"layers.1.mlp.up_proj": 0.25}),
        (
            "qwen3 mixture",
            {"blk.0.ffn_gate_exps.scale": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "blk.0.attn_output.scale": [0.5]},
            {f"layers.0.mlp.experts.{i}.gate_proj": i + 1.0 for i in range(6)} | {"layers.0.self_attn.o_proj": 0.5},
        ),
    ],
)
def test_a_factor_beside_a_matrix_is_multiplied_with_it(name, factors, matrices, tmp_path, monkeypatch):
    """As NVFP4 has it, of all numbers or of each expert; one of what they are multiplied with changes nothing here."""
    model, path = random_model(name), tmp_path / "model.gguf"
    write(path, name, model, **byte_level("gpt-2"))
    with GgufWeights(path) as plain:
        before = {one: plain.read(one) for one in plain.shapes}
    with_factors(monkeypatch, factors)
    write(path, name, model, **byte_level("gpt-2"))
    with GgufWeights(path) as scaled:
        assert scaled.shapes.keys() == before.keys()
        for one, numbers in before.items():
            factor = matrices.get(one.removesuffix(".weight"), 1.0)
            assert torch.equal(scaled.read(one), numbers * factor), one
    assert tfcore.load(path, device="cpu")[0].config.n_layers == 2


def test_a_factor_of_another_length_is_refused(tmp_path, monkeypatch):
    with_factors(monkeypatch, {"blk.0.ffn_up.scale": [1.0, 2.0]})
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match=r"has blk\.0\.ffn_up\.scale of 2 numbers for blk\.0\.ffn_up\.weight"):
        tfcore.load(path, device="cpu")


def test_a_table_of_sixteen_steps(tmp_path):
    """IQ4_NL: 32 numbers of four bits and a scale; each is one of 16 that are closer together around 0."""
    steps = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), "IQ4_NL", **byte_level("gpt-2"))
    with GgufFile(path) as file:
        entry, found = file.tensors["blk.0.ffn_up.weight"], file.read("blk.0.ffn_up.weight")
    raw = path.read_bytes()[entry.start : entry.start + entry.size]
    expected = []
    for at in range(0, len(raw), 18):
        scale = float(np.frombuffer(raw[at : at + 2], "<f2")[0])
        numbers = raw[at + 2 : at + 18]
        expected += [scale * steps[byte & 15] for byte in numbers] + [scale * steps[byte >> 4] for byte in numbers]
    assert found.flatten().tolist() == pytest.approx(expected)


def test_a_head_of_its_own_and_one_that_is_the_table(tmp_path):
    for name, tied in (("llama", False), ("llama, tied", True)):
        write(tmp_path / "model.gguf", name, random_model(name), **byte_level("gpt-2"))
        assert checkpoints.estimate(tmp_path / "model.gguf").config.tie_embeddings is tied


@pytest.mark.parametrize("base", [500.0, 10_000.0])
def test_llama_3_scales_its_rotations(base, tmp_path):
    """The file has one factor for each pair of features."""
    rope = {
        "rope_type": "llama3",
        "rope_theta": base,
        "factor": 32.0,
        "original_max_position_embeddings": 8192,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    }
    model = random_model("llama")
    model = type(model)(type(model.config)(**(MODELS["llama"][2] | {"rope_parameters": rope}))).eval()
    path = tmp_path / "model.gguf"
    frequencies = base ** (-torch.arange(0, 16, 2) / 16)
    factors = torch.outer(frequencies, torch.ones(1)).flatten() / model.model.rotary_emb.inv_freq
    writer_add = gguf.GGUFWriter.write_header_to_file

    def with_factors(writer, *args, **kwargs):
        writer.add_tensor("rope_freqs.weight", factors.float().numpy())
        return writer_add(writer, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf.GGUFWriter, "write_header_to_file", with_factors)
        write(path, "llama", model, **byte_level("gpt-2"))
    assert_same(path, model)


# ---- tokenizers ----


@pytest.mark.parametrize("cut", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
def test_byte_level_tokenizers(cut, tmp_path):
    path = tmp_path / "model.gguf"
    more = {"tokenizer.ggml.add_bos_token": False}
    write(path, "llama", random_model("llama"), **byte_level(cut), **more)
    theirs = hf.AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    _, ours = tfcore.load(path)
    assert ours.vocab_size == 320
    assert 318 not in ours.encode(SPECIAL)
    for text in TEXTS:
        if cut == "smollm":  # transformers does not know that it cuts numbers into digits
            text = "".join(character for character in text if not character.isdigit())
        ids = theirs(text, add_special_tokens=False).input_ids
        assert ours.encode(text) == ids, text
        assert ours.decode(ids) == theirs.decode(ids), text


def test_smollm_cuts_numbers_into_digits(tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), **byte_level("smollm"))
    tokenizer = tfcore.load(path)[1]
    assert tokenizer.tokens(tokenizer.encode("1234567 days"))[:7] == list("1234567")


@pytest.mark.parametrize(
    ("cut", "said", "begins"), [("llama-bpe", None, True), ("gpt-2", None, False), ("gpt-2", True, True)]
)
def test_the_first_token(cut, said, begins, tmp_path):
    path = tmp_path / "model.gguf"
    more = {} if said is None else {"tokenizer.ggml.add_bos_token": said}
    write(path, "llama", random_model("llama"), **byte_level(cut), **more)
    ids = tfcore.load(path)[1].encode("dog")
    assert (ids[0] == 318) is begins


def test_the_last_token(tmp_path):
    path = tmp_path / "model.gguf"
    more = {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}
    write(path, "llama", random_model("llama"), **byte_level("gpt-2"), **more)
    tokenizer = tfcore.load(path)[1]
    ids = tokenizer.encode("dog")
    assert (ids[0], ids[-1]) == (318, 319)
    assert tokenizer.decode(ids) == "dog"


@pytest.mark.parametrize("prefix", [True, False])
def test_sentence_piece(prefix, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), **sentence_piece(**{"tokenizer.ggml.add_space_prefix": prefix}))
    theirs = hf.AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    _, ours = tfcore.load(path)
    for text in ("Once upon a time there was a dog", "a house by the sea", "été 🐱"):
        ids = ours.encode(text)
        assert ids[0] == 1
        assert ours.decode(ids) == text
        if prefix:
            assert ids == theirs(text).input_ids


def test_merges_come_in_the_order_of_scores():
    tokens = ["a", "b", "c", "ab", "bc", "abc"]
    found = list(merges_of_scores(tokens, [0.0, 0.0, 0.0, -2.0, -1.0, -3.0], [1] * 6))
    assert found == [["b", "c"], ["a", "b"], ["a", "bc"], ["ab", "c"]]


# ---- where a file may be ----


def test_a_folder_with_one_file(tmp_path):
    write(tmp_path / "anything.gguf", "llama", random_model("llama"), **byte_level("gpt-2"))
    model, tokenizer = tfcore.load(tmp_path)
    assert model.config.n_layers == 2
    assert tokenizer.tokens(tokenizer.encode("dog"))
    write(tmp_path / "another.gguf", "llama", random_model("llama"), **byte_level("gpt-2"))
    with pytest.raises(CheckpointError, match="has 2 GGUF files; name the one to open"):
        tfcore.load(tmp_path)
