"""Settings and names of published checkpoints: what older files say, what absent fields mean, what is refused."""

import json
import re
from typing import Any

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from tests.architecture.sources import ROOT
from tests.own_folders import write
from tests.parity.checkpoints import COMPOSITES as WITHIN
from tests.parity.test_families import BOTH, DECODERS, ENCODERS, TOLERANCE, written
from tests.small import difference, ids
from tfcore import CheckpointError, load
from tfcore.config import ModelConfig
from tfcore.loading.families import FAMILIES, config_of, family_of
from tfcore.loading.families.config_values import ConfigValues, NoTensors
from tfcore.loading.families.text_parts import COMPOSITES
from tfcore.loading.special_tokens import special_tokens
from tfcore.part_configs import RopeScaling

EVERY: dict[str, tuple[Any, Any]] = DECODERS | ENCODERS | BOTH


def edit_config(folder, drop=(), **values):
    path = folder / "config.json"
    content = {name: value for name, value in json.loads(path.read_text()).items() if name not in drop}
    path.write_text(json.dumps(content | values))


def edit_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file({name: tensor.clone() for name, tensor in weights.items()}, folder / "model.safetensors")


def rename(weights, old, new):
    for name in list(weights):
        if re.search(old, name):
            weights[re.sub(old, new, name)] = weights.pop(name)


def old_gpt2(w):
    rename(w, r"^transformer\.", "")
    w["h.0.attn.bias"] = torch.ones(1, 1, 32, 32, dtype=torch.uint8).tril()
    w["h.1.attn.masked_bias"] = torch.tensor(-1e4)
    w["lm_head.weight"] = w["wte.weight"]


def old_bert(w):
    rename(w, r"LayerNorm\.weight$", "LayerNorm.gamma")
    rename(w, r"LayerNorm\.bias$", "LayerNorm.beta")
    w["bert.embeddings.position_ids"] = torch.arange(32)[None]
    w["cls.predictions.decoder.weight"] = w["bert.embeddings.word_embeddings.weight"]


def fused_mixtral(w):
    for i in range(2):
        layer = f"model.layers.{i}."
        rename(w, rf"{layer}block_sparse_moe.gate", f"{layer}mlp.gate")
        parts = {n: [w.pop(f"{layer}block_sparse_moe.experts.{e}.w{n}.weight") for e in range(3)] for n in (1, 2, 3)}
        gates = [torch.cat(pair) for pair in zip(parts[1], parts[3], strict=True)]
        w[f"{layer}mlp.experts.gate_up_proj"] = torch.stack(gates)
        w[f"{layer}mlp.experts.down_proj"] = torch.stack(parts[2])


def old_t5(w):
    w["encoder.embed_tokens.weight"] = w["decoder.embed_tokens.weight"] = w["lm_head.weight"] = w.pop("shared.weight")
    useless = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    w[useless] = torch.ones(32, 6)


OLD = {
    "gpt2 without prefix, with its mask and its head": ("gpt2", old_gpt2),
    "gpt2 with its head alone": ("gpt2", lambda w: w.update({"lm_head.weight": w.pop("transformer.wte.weight")})),
    "llama with its frequencies": (
        "llama",
        lambda w: w.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(5)}),
    ),
    "bert with gamma and beta": ("bert", old_bert),
    "bert without prefix": ("bert", lambda w: rename(w, r"^bert\.", "")),
    "distilbert without prefix": ("distilbert", lambda w: rename(w, r"^distilbert\.", "")),
    "mixtral fused": ("mixtral", fused_mixtral),
    "mixtral by today's name": ("mixtral", lambda w: rename(w, "block_sparse_moe", "mlp")),
    "t5 with every name but the first": ("t5 1.0", old_t5),
}


def answers(model, tokens):
    more = {"decoder_ids": tokens} if model.config.architecture == "encoder-decoder" else {}
    return model(tokens, **more).logits


@pytest.mark.parametrize(("name", "change"), OLD.values(), ids=list(OLD))
def test_older_names_are_the_same_model(tmp_path, name, change):
    kind, settings = EVERY[name]
    written(kind, settings, tmp_path)
    before = answers(load(tmp_path, device="cpu")[0], ids())
    edit_weights(tmp_path, change)
    after = load(tmp_path, device="cpu")[0]
    assert torch.equal(answers(after, ids()), before)


@pytest.mark.parametrize("name", ["gpt2", "gemma", "bert"])
def test_a_head_of_its_own_counts_even_where_the_settings_say_tied(tmp_path, name):
    kind, settings = EVERY[name]
    written(kind, settings, tmp_path)
    unembedding = FAMILIES[kind.config_class.model_type].head
    edit_weights(tmp_path, lambda w: w.update({unembedding: torch.randn(61, 24)}))
    ours, theirs = load(tmp_path, device="cpu")[0], kind.from_pretrained(tmp_path).eval()
    assert not ours.config.tie_embeddings
    assert difference(ours(ids()).logits, theirs(ids()).logits) < TOLERANCE


OLD_SETTINGS = {
    "linear": ({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 500.0}, "linear"),
    "llama 3": (
        {
            "rope_theta": 500_000,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
        "llama3",
    ),
    "yarn": ({"rope_theta": 100.0, "rope_scaling": {"type": "yarn", "factor": 2.0, "beta_fast": None}}, "yarn"),
    "yarn, its factor implied": (
        {
            "rope_theta": 100.0,
            "rope_scaling": {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 8},
        },
        "yarn",
    ),
    "a base alone": ({"rope_theta": 300.0, "rope_scaling": None}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize(("values", "kind"), OLD_SETTINGS.values(), ids=list(OLD_SETTINGS))
def test_older_settings_of_rotations(tmp_path, values, kind):
    written(*DECODERS["llama"], tmp_path)
    edit_config(tmp_path, drop=("rope_parameters", "head_dim"), head_dim=10, **values)
    ours, theirs = load(tmp_path, device="cpu")[0], hf.LlamaForCausalLM.from_pretrained(tmp_path).eval()
    scaling = ours.config.positions.scaling
    assert (scaling and scaling.kind) == kind
    assert ours.config.positions.base == values.get("rope_theta", 10_000)
    assert difference(ours(ids()).logits, theirs(ids()).logits) < TOLERANCE


@pytest.mark.parametrize("called", ["su", "yarn"])
def test_what_the_first_files_of_phi_3_call_longrope(tmp_path, called):
    written(*DECODERS["phi3, long, partly rotated, window"], tmp_path)
    theirs = hf.Phi3ForCausalLM.from_pretrained(tmp_path).eval()
    rope = theirs.config.rope_parameters
    older = {name: rope[name] for name in ("short_factor", "long_factor")} | {"type": called}
    flat = {name: rope[name] for name in ("rope_theta", "partial_rotary_factor")}
    edit_config(tmp_path, drop=("rope_parameters",), rope_scaling=older, **flat)
    ours = load(tmp_path, device="cpu")[0]
    assert ours.config.positions.scaling.kind == "longrope"
    assert difference(ours(ids()).logits, theirs(ids()).logits) < TOLERANCE


# Of families of whose defaults no model can be made: widths that fit, and positions that are rotations.
SAID = {
    "granitemoehybrid": {"intermediate_size": 512, "position_embedding_type": "rope"},
    "glm4_moe": {"head_dim": 128},
}


def settings_of(kind, **said):
    """What `transformers` takes for granted, written out, but for what is said."""
    config = hf.AutoConfig.for_model(kind, **said)
    return json.loads(json.dumps(config.to_dict(), default=str))


@pytest.mark.parametrize("kind", list(FAMILIES))
def test_absent_fields_mean_what_they_mean_to_transformers(kind):
    family = FAMILIES[kind]
    said = SAID.get(kind, {})
    bare = {"model_type": kind, **said}
    assert family_of(bare) == family.scaled(bare)
    assert config_of(family, bare, NoTensors()) == config_of(family, settings_of(kind, **said), NoTensors())


@pytest.mark.parametrize("kind", list(COMPOSITES))
def test_absent_fields_of_a_decoder_within_mean_what_they_mean_to_transformers(kind):
    bare = {"model_type": kind, "text_config": {}}
    full = json.loads(json.dumps(hf.AutoConfig.for_model(kind, text_config={}).to_dict(), default=str))
    assert full["text_config"].keys() > {"hidden_size", "vocab_size"}
    assert config_of(family_of(bare), bare, NoTensors()) == config_of(family_of(full), full, NoTensors())


def test_the_first_files_of_qwen2_vl_have_no_part_of_their_own_for_texts():
    """As published with Qwen2-VL-2B."""
    own = {"hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "num_hidden_layers": 28}
    own |= {"rms_norm_eps": 1e-6, "max_window_layers": 28, "tie_word_embeddings": True, "vocab_size": 151_936}
    rotated = {"rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}
    flat = {"model_type": "qwen2_vl", "vision_config": {"hidden_size": 1536}, **own, **rotated}
    nested = {"model_type": "qwen2_vl", "text_config": own | rotated, "vision_config": {}}
    config = config_of(family_of(flat), flat, NoTensors())
    assert config == config_of(family_of(nested), nested, NoTensors())
    assert (config.d_model, config.positions.base, config.positions.scaling) == (1536, 1e6, None)
    theirs = hf.AutoConfig.for_model(**flat).text_config
    assert (theirs.hidden_size, theirs.rope_parameters["rope_theta"]) == (1536, 1e6)


@pytest.mark.parametrize("before", ["model.language_model.", "language_model.model.", "model.text_model."])
def test_a_decoder_within_is_found_under_each_name_it_has_had(tmp_path, before):
    kind, settings = WITHIN["llava"]
    written(kind, settings, tmp_path)
    first = load(tmp_path, device="cpu")[0]
    edit_weights(tmp_path, lambda w: rename(w, r"^language_model\.model\.", before))
    again = load(tmp_path, device="cpu")[0]
    for name, weights in first.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name]), name


def test_a_text_ends_where_the_settings_of_the_decoder_within_say_so(tmp_path):
    write(tmp_path, "gemma3 that sees")
    folder = tmp_path / "gemma3 that sees"
    edit_config(
        folder, text_config=json.loads((folder / "config.json").read_text())["text_config"] | {"eos_token_id": 9}
    )
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokenizer = load(folder, device="cpu")[1]
    assert 9 in special_tokens(folder, tokenizer).ends


def test_aliases_and_nulls():
    values = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6, "n_inner": None}
    config = config_of(FAMILIES["gpt2"], values, NoTensors())
    assert (config.d_model, config.n_layers, config.attention.n_heads, config.ff_size) == (24, 3, 6, 96)
    config = config_of(FAMILIES["mistral"], {"num_key_value_heads": None, "head_dim": None}, NoTensors())
    assert (config.attention.kv_heads, config.head_size, config.window_of(0)) == (32, 128, 4096)
    config = config_of(FAMILIES["t5"], {"n_positions": 8192, "pad_token_id": 7}, NoTensors())
    assert (config.max_seq_len, config.start_id) == (8192, 7)


def test_published_settings_of_llama_3_1():
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3"}
    scaling["original_max_position_embeddings"] = 8192
    values = {"rope_theta": 500000.0, "rope_scaling": scaling, "max_position_embeddings": 131072}
    config = config_of(FAMILIES["llama"], values, NoTensors())
    assert config.positions.scaling == RopeScaling(kind="llama3", factor=8, original_len=8192, low_freq=1, high_freq=4)
    assert config.max_seq_len == 131072


def test_apertus_whose_activation_has_other_numbers_is_refused(tmp_path):
    written(*DECODERS["apertus"], tmp_path)
    edit_weights(tmp_path, lambda w: w["model.layers.1.mlp.act_fn.beta"].fill_(0.6))
    with pytest.raises(CheckpointError, match=r"layers\.1\.mlp\.act_fn\.beta is not 0\.5"):
        load(tmp_path, device="cpu")


def test_ministral_3_ends_where_its_queries_would_grow():
    rope = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16_384}
    grown = {"rope_parameters": rope | {"llama_4_scaling_beta": 0.1}}
    for values, longest in ((grown, 16_384), ({}, 16_384), ({"rope_parameters": rope}, 262_144)):
        assert config_of(FAMILIES["ministral3"], values, NoTensors()).max_seq_len == longest


def test_older_names_of_the_layers_of_granite_4():
    stated = {"num_hidden_layers": 3, "num_local_experts": 0, "layers_block_type": ["mamba", "attention", "mamba"]}
    config = config_of(FAMILIES["granitemoehybrid"], stated, NoTensors())
    assert [config.mixer_of(layer) for layer in range(3)] == ["ssm", "attention", "ssm"]


def test_t5_scales_before_a_tied_head_alone():
    assert config_of(FAMILIES["t5"], {"d_model": 64, "num_heads": 4}, NoTensors()).logit_scale == 1 / 8
    for plain in ({"tie_word_embeddings": False}, {"scale_decoder_outputs": False, "tie_word_embeddings": True}):
        assert config_of(FAMILIES["t5"], {"d_model": 64, **plain}, NoTensors()).logit_scale == 1


REFUSED = {
    "nearly a family": (
        "qwen2_vla",
        {},
        f"model_type='qwen2_vla' is not supported; of the {len(FAMILIES | COMPOSITES)} that are, the nearest by name: ",
    ),
    "a decoder of no known family": (
        "llava",
        {"text_config": {"model_type": "fuyu"}},
        "text_config: model_type='fuyu' is not supported; docs/models.md has those that are",
    ),
    "no decoder": ("llava", {}, "text_config=None must be an object with the settings of the decoder of texts"),
    "a decoder in a list": ("gemma3", {"text_config": [7]}, "text_config=[7] must be an object"),
    "a setting of a decoder": (
        "gemma3",
        {"text_config": {"use_bidirectional_attention": True}},
        "use_bidirectional_attention=True is not supported; supported: False",
    ),
    "a decoder in few bits": (
        "gemma3",
        {"text_config": {}, "quantization_config": {"bits": 4}},
        "text_config: quantization_config={'bits': 4} is not supported",
    ),
    "another head than a decoder's": (
        "gemma3",
        {"architectures": ["Gemma3ForSequenceClassification"], "text_config": {}},
        "supported: Gemma3ForConditionalGeneration, of which the decoder of texts is read",
    ),
    "no family": ("llama", {"model_type": "mamba"}, "model_type='mamba' is not supported; of the "),
    "mamba2's norm": ("mamba2", {"rms_norm": False}, "rms_norm=False is not supported; supported: True"),
    "mamba2's width": ("mamba2", {"expand": 3}, "expand=3 is not supported; supported: 2.0"),
    "mamba2's largest step": ("mamba2", {"time_step_limit": [0.0, 0.1]}, "supported: [a number, Infinity]"),
    "qwen3-next's activation": (
        "qwen3_next",
        {"hidden_act": "gelu"},
        "hidden_act='gelu' is not supported; supported: ",
    ),
    "qwen3.5's shared expert": (
        "qwen3_5_moe_text",
        {"shared_expert_intermediate_size": 7},
        "shared_expert_intermediate_size=7 is not supported; supported: a multiple of moe_intermediate_size=512",
    ),
    "falcon-h1's norm before the gate": (
        "falcon_h1",
        {"mamba_rms_norm": True},
        "mamba_norm_before_gate=True is not supported; supported: False",
    ),
    "falcon-h1's biases": (
        "falcon_h1",
        {"projectors_bias": True},
        "projectors_bias=True is not supported; supported: False",
    ),
    "falcon-h1's heads": ("falcon_h1", {"mamba_n_heads": 3}, "mamba_n_heads=3 must divide the 1024 values of a token"),
    "falcon-h1's factors": ("falcon_h1", {"ssm_multipliers": [1, 2]}, "ssm_multipliers=[1, 2] must be a list of 5"),
    "nemotron-h's pattern": (
        "nemotron_h",
        {"hybrid_override_pattern": "M?"},
        "hybrid_override_pattern='M?' is not supported; supported: a letter for each layer, of M * - E",
    ),
    "nemotron-h's layers": (
        "nemotron_h",
        {"layers_block_type": ["mamba", "conv"]},
        "layers_block_type=['mamba', 'conv'] is not supported; supported: for each layer one of linear_attention, ",
    ),
    "nemotron-h's latents": ("nemotron_h", {"moe_latent_size": 8}, "moe_latent_size=8 is not supported; supported: no"),
    "nemotron-h's biases of experts": ("nemotron_h", {"mlp_bias": True}, "mlp_bias=True is not supported in a model"),
    "nemotron-h's biases": (
        "nemotron_h",
        {"attention_bias": True},
        "attention_bias=True is not supported; supported: F",
    ),
    "granite 4's layers": (
        "granitemoehybrid",
        {"num_hidden_layers": 2, "layer_types": ["mamba", "conv"]},
        "layer_types=['linear_attention', 'conv'] is not supported; supported: for each of the 2 layers",
    ),
    "granite 4's shared expert": (
        "granitemoehybrid",
        {"intermediate_size": 768},
        "shared_intermediate_size=1024 is not supported; supported: a multiple of intermediate_size=768",
    ),
    "granite 4's positions": (
        "granitemoehybrid",
        {"position_embedding_type": "alibi"},
        "position_embedding_type='alibi' is not supported; supported: 'rope', 'nope'",
    ),
    "codegen's heads": ("codegen", {"n_head": 6}, "n_head=6 is not supported; supported: a multiple of 4"),
    "a place without sines": ("xglm", {"pad_token_id": 3}, "pad_token_id=3 is not supported; supported: 0, 1"),
    "a PEGASUS of BART's": ("pegasus", {"normalize_before": False}, "normalize_before=False is not supported"),
    "a list for a family": ("llama", {"model_type": ["gpt2"]}, "model_type=['gpt2'] is not supported"),
    "choices": (
        "bert",
        {"architectures": ["BertForMultipleChoice"]},
        "architectures=['BertForMultipleChoice'] is not supported; supported: BertForMaskedLM",
    ),
    "answers of one score": (
        "bert",
        {"architectures": ["BertForQuestionAnswering"], "id2label": {"0": "stars"}},
        "id2label has 1 classes; a head for answers has two scores per token",
    ),
    "classes without a name": (
        "bert",
        {"architectures": ["BertForTokenClassification"], "id2label": {"0": "a", "2": "b"}},
        "id2label={'0': 'a', '2': 'b'} must name the classes 0, 1, ...",
    ),
    "classes in a list": (
        "llama",
        {"architectures": ["LlamaForSequenceClassification"], "id2label": ["a", "b"]},
        "id2label=['a', 'b'] must name the classes 0, 1, ...",
    ),
    "quantized": ("llama", {"quantization_config": {"bits": 4}}, "quantization_config={'bits': 4} is not supported"),
    "pruned": ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads={'0': [1]} is not supported"),
    "two lengths": (
        "qwen2",
        {"rope_scaling": {"type": "longrope", "factor": 4.0, "long_factor": [1.0]}},
        "rope_scaling.short_factor=None must be a list of numbers, one for each pair",
    ),
    "too few lengths": (
        "phi3",
        {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}},
        "short has 1 numbers for 48 rotated pairs",
    ),
    "other rotations": (
        "qwen2",
        {"rope_scaling": {"type": "proportional", "factor": 4.0}},
        "rope_scaling.rope_type='proportional' is not supported; supported: 'default', 'linear', 'dynamic'",
    ),
    "a sharpness without end": (
        "qwen2",
        {"rope_scaling": {"type": "yarn", "factor": 4.0, "mscale": 1e308, "mscale_all_dim": 1e-300}},
        "sharpness=",
    ),
    "a negative factor": (
        "qwen3",
        {"rope_scaling": {"type": "yarn", "factor": -4.0, "mscale": 1.0, "mscale_all_dim": 1.0}},
        "factor=-4.0 must be between 1 and 1,000,000",
    ),
    "rotations by layer": (
        "qwen3",
        {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
        "rope_parameters.full_attention={'rope_type': 'default'}, rotations by kind of layer, is not supported",
    ),
    "half a rotation": ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5 is not supported"),
    "rotations as a text": ("llama", {"rope_scaling": "llama3"}, "rope_scaling='llama3' must be an object"),
    "half of llama 3": (
        "llama",
        {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
        "low_freq_factor=None must be a number",
    ),
    "cross-attention": ("gpt2", {"add_cross_attention": True}, "add_cross_attention=True is not supported"),
    "a decoder of BERT's": ("bert", {"is_decoder": True}, "is_decoder=True is not supported; supported: False"),
    "relative BERT": (
        "bert",
        {"position_embedding_type": "relative_key"},
        "position_embedding_type='relative_key' is not supported; supported: 'absolute'",
    ),
    "an activation": ("llama", {"hidden_act": "mish"}, "hidden_act='mish' is not supported; supported: gelu,"),
    "no activation": ("gpt2", {"activation_function": 3}, "activation_function=3 is not supported"),
    "layers of another kind": (
        "qwen3",
        {"layer_types": ["full_attention", "chunked_attention"], "num_hidden_layers": 2},
        "layer_types=['full_attention', 'chunked_attention'] is not supported",
    ),
    "windows of no size": (
        "qwen2",
        {"layer_types": ["sliding_attention"] * 2, "num_hidden_layers": 2},
        "layer_types has 'sliding_attention', which needs use_sliding_window=True and sliding_window",
    ),
    "layers without a kind": ("qwen2", {"layer_types": ["full_attention"]}, "supported: for each of the 32 layers"),
    "both ways": ("gemma", {"use_bidirectional_attention": True}, "use_bidirectional_attention=True is not supported"),
    "two activations": (
        "gemma",
        {"hidden_act": "gelu", "hidden_activation": "relu"},
        "hidden_activation='relu' is not supported; supported: 'gelu_pytorch_tanh'",
    ),
    "t5's activation": ("t5", {"feed_forward_proj": "gated-mish"}, "feed_forward_proj='gated-mish' is not supported"),
    "t5 of three parts": ("t5", {"feed_forward_proj": "a-b-c"}, "feed_forward_proj='a-b-c' is not supported"),
    "a text for a number": ("llama", {"hidden_size": "24"}, "hidden_size='24' must be a whole number"),
    "true for a number": ("llama", {"num_hidden_layers": True}, "num_hidden_layers=True must be a whole number"),
    "half a layer": ("gpt2", {"n_layer": 1.5}, "n_layer=1.5 must be a whole number"),
    "no heads": ("llama", {"num_attention_heads": 0}, "num_attention_heads=0 must be between 1 and"),
    "huge": ("bert", {"hidden_size": 10**30}, "hidden_size=1000000000000000000000000000000 must be between 1 and"),
    "large": ("bert", {"hidden_size": 10**9}, "d_model=1000000000 must be between 1 and 65,536"),
    "endless": ("llama", {"rms_norm_eps": float("inf")}, "rms_norm_eps=inf must be a number"),
    "maybe": ("gpt2", {"tie_word_embeddings": "yes"}, "tie_word_embeddings='yes' must be true or false"),
    "heads that do not fit": ("llama", {"num_key_value_heads": 5}, "n_heads=32 is not divisible by n_kv_heads=5"),
    "a long text": ("llama", {"model_type": "x\n" * 10_000}, "model_type='x\\nx"),
    "clipped to nothing": ("olmo", {"clip_qkv": 0}, "attention: clip=0.0 must be between 0.001 and"),
    "norms of queries": ("phi", {"qk_layernorm": True}, "qk_layernorm=True is not supported"),
    "norms that Cohere 2 has not": ("cohere2", {"use_qk_norm": True}, "use_qk_norm=True is not supported"),
    "a convolution of the first DeBERTa": ("deberta", {"conv_kernel_size": 3}, "conv_kernel_size=3 is not supported"),
    "no window": ("cohere2", {"sliding_window": None}, "sliding_window=None is not supported; supported: a number"),
    "rotations of nothing": ("gptj", {"rotary_dim": 0}, "rotary_dim=0 must be between 1 and"),
    "logits over nothing": ("granite", {"logits_scaling": 0}, "logits_scaling=0 divides by nothing"),
    "no pattern": ("exaone4", {"sliding_window_pattern": "LLLG"}, "sliding_window_pattern='LLLG' must be a whole"),
    "groups of layers": ("albert", {"num_hidden_groups": 3}, "num_hidden_groups=3 is not supported; supported: 1"),
    "layers in a group": ("albert", {"inner_group_num": 2}, "inner_group_num=2 is not supported; supported: 1"),
    "projected embeddings": ("opt", {"word_embed_proj_dim": 512}, "word_embed_proj_dim=512 is not supported"),
    "a norm that was taken away": ("opt", {"_remove_final_layer_norm": True}, "_remove_final_layer_norm=True is not"),
    "norms without a scale": ("opt", {"layer_norm_elementwise_affine": False}, "layer_norm_elementwise_affine=False"),
    "a stream of norms": (
        "bloom",
        {"apply_residual_connection_post_layernorm": True},
        "apply_residual_connection_post_layernorm=True is not supported",
    ),
    "clipped by a text": ("mpt", {"attn_config": {"clip_qkv": "6"}}, "attn_config.clip_qkv='6' must be a number"),
    "slopes of nothing": ("mpt", {"attn_config": {"alibi_bias_max": 0}}, "positions: steepness=0.0 must be between"),
    "biases of MPT": ("mpt", {"no_bias": False}, "no_bias=False is not supported; supported: True"),
    "a text for attention": ("mpt", {"attn_config": "flash"}, "attn_config='flash' must be an object"),
    "two norms for one": ("falcon", {"num_ln_in_parallel_attn": 2}, "num_ln_in_parallel_attn=2 is not supported"),
    "kinds of attention": (
        "gpt_neo",
        {"attention_types": [[["global", "far"], 12]]},
        "attention_types=[[['global', 'far'], 12]] is not supported; supported: 'global' or 'local' for each of the 24",
    ),
    "too few kinds of attention": ("gpt_neo", {"attention_types": [["global"]]}, "attention_types=[['global']] is not"),
    "two numbers of keys": ("gpt_bigcode", {"num_key_value_heads": 3}, "num_key_value_heads=3 is not supported"),
    "an mBART of BART's": ("mbart", {"normalize_before": False}, "normalize_before=False is not supported"),
    "too many experts": ("mixtral", {"num_experts_per_tok": 9}, "top_k=9 is more than n_experts=8"),
}


@pytest.mark.parametrize(("kind", "values", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_we_cannot_do_is_refused_in_a_sentence(tmp_path, kind, values, message):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind} | values))
    save_file({"none": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError) as refused:
        load(tmp_path, device="cpu")
    sentence = str(refused.value)
    assert sentence.startswith(f"{tmp_path / 'config.json'}: ")
    assert message in sentence
    assert "\n" not in sentence
    assert len(sentence) < 600


def test_a_value_is_refused_and_not_read_as_another():
    for field in ("flag", "number", "whole"):
        with pytest.raises(ValueError, match="x="):
            getattr(ConfigValues({"x": [1]}), field)("x")
    assert ConfigValues({"x": 1.0}).number("x") == 1.0


def test_each_family_has_a_name_of_its_own_which_the_documentation_lists():
    titles = [family.title for family in FAMILIES.values()]
    assert len({*titles}) == len(titles)
    said = (ROOT / "docs" / "models.md").read_text("utf-8")
    assert [title for title in titles if title not in said] == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"normalize_before": True}, "normalize_before=True is not supported; supported: False"),
        ({"decoder_ffn_dim": 7}, "decoder_ffn_dim=7 is not supported; supported: 4096"),
        ({"bad_words_ids": [[3, 4]]}, "bad_words_ids=[[3, 4]] is not supported; supported: words of one token each"),
        ({"forced_eos_token_id": [2, 3]}, "forced_eos_token_id=[2, 3] is not supported; supported: one token"),
    ],
)
def test_what_bart_does_not_have_is_refused(values, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        config_of(FAMILIES["bart"], {"model_type": "bart"} | values, NoTensors())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings=False is not supported"),
        ({"decoder_vocab_size": 7}, "decoder_vocab_size=7 is not supported; supported: 58101"),
        ({"static_position_embeddings": False}, "static_position_embeddings=False is not supported; supported: True"),
    ],
)
def test_what_marian_does_not_have_is_refused(values, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        config_of(FAMILIES["marian"], {"model_type": "marian"} | values, NoTensors())


def test_stored_positions_of_marian_are_sines_or_refused(tmp_path):
    theirs = written(*BOTH["marian"], tmp_path)
    before, _ = load(tmp_path, device="cpu")
    name, table = "model.decoder.embed_positions.weight", theirs.model.decoder.embed_positions.weight
    edit_weights(tmp_path, lambda w: w.update({name: table.half()}))
    after, _ = load(tmp_path, device="cpu")
    assert torch.equal(answers(after, ids()), answers(before, ids()))
    edit_weights(tmp_path, lambda w: w.update({name: table.flip(1)}))
    with pytest.raises(CheckpointError, match=r"decoder\.embed_positions\.weight differs from the sines and cosines"):
        load(tmp_path, device="cpu")


def test_older_bart_files_ask_for_bos():
    config = config_of(FAMILIES["bart"], {"force_bos_token_to_be_generated": True, "bos_token_id": 3}, NoTensors())
    assert (config.writing.first, config.writing.last) == (3, 2)
    words = {"bad_words_ids": [[5], [2]], "eos_token_id": 2}
    config = config_of(FAMILIES["bart"], words, NoTensors())
    assert config.writing.never == (5,)  # the end may always be written
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"conv_kernel_size": 3, "conv_groups": 2}, "conv_groups=2 is not supported; supported: 1"),
        ({"conv_kernel_size": 4}, "width=4 must be odd"),
        ({"embedding_size": 20}, "embedding_size=20 is not supported; supported: 24"),
        ({"attention_head_size": 5}, "attention_head_size=5 is not supported; supported: 4"),
        ({"pooler_hidden_size": 20}, "pooler_hidden_size=20 is not supported; supported: 24"),
        ({"pos_att_type": "c2p|p2p"}, "pos_att_type has 'p2p', which is not supported; supported: 'c2p', 'p2c'"),
        ({"pos_att_type": 2}, "pos_att_type has '?', which is not supported"),
        ({"norm_rel_ebd": "rms"}, "norm_rel_ebd has 'rms', which is not supported; supported: 'layer_norm', 'none'"),
        ({"position_buckets": 62}, "distance=32 must be at least 33: with buckets=124"),
    ],
)
def test_what_deberta_has_that_is_not_read_is_refused(values, message):
    settings = ENCODERS["deberta"][1] | {"model_type": "deberta-v2"} | values
    with pytest.raises(ValueError, match=re.escape(message)):
        config_of(FAMILIES["deberta-v2"], settings, NoTensors())


@pytest.mark.parametrize(
    ("name", "value"),
    [("talking_head", True), ("position_buckets", 8), ("share_att_key", True), ("norm_rel_ebd", "layer_norm")],
)
def test_what_the_first_deberta_lacks_or_alone_has_is_refused(name, value):
    settings = ENCODERS["first deberta"][1] | {"model_type": "deberta", name: value}
    with pytest.raises(ValueError, match=rf"^{name}={value!r} is not supported; supported: "):
        config_of(FAMILIES["deberta"], settings, NoTensors())


def test_files_of_deberta_v3_have_the_head_for_masked_words_that_they_hold(tmp_path):
    """The published ones say nothing of `legacy`, and have the head that tells replaced tokens and unused places."""
    theirs = written(*ENCODERS["deberta, matrices of places, newer head"], tmp_path)
    before, _ = load(tmp_path, device="cpu")
    said = json.loads((tmp_path / "config.json").read_text())
    del said["legacy"]
    (tmp_path / "config.json").write_text(json.dumps(said))
    edit_weights(tmp_path, lambda w: w.update({"mask_predictions.dense.weight": torch.ones(24, 24)}))
    after, _ = load(tmp_path, device="cpu")
    assert torch.equal(answers(after, ids()), answers(before, ids()))
    assert difference(answers(after, ids()), theirs(ids()).logits) < 1e-4
