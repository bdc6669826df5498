"""The settings in config.json: each field that `transformers` has for a family is read, or is known to change no number
of a trained model; fields of other families, which it reads over, are refused by name."""

import pytest
import transformers as hf

from tests.loading.test_families import SAID
from tfcore.loading.families import FAMILIES, OF_OTHERS, config_of, family_of
from tfcore.loading.families.config_values import ConfigValues, NoTensors

# Fields that matter in training alone, to the heads of other tasks, or to how a program is called.
WITHOUT_EFFECT = {
    *("initializer_range", "initializer_factor", "use_cache", "pretraining_tp", "pad_token_id", "bos_token_id"),
    "eos_token_id",  # ends texts: tfcore.loading.special_tokens
    *("resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout", "hidden_dropout_prob", "dropout", "dropout_rate"),
    *("attention_probs_dropout_prob", "classifier_dropout", "qa_dropout", "seq_classif_dropout"),
    *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout"),
    *("summary_last_dropout", "classifier_dropout_prob"),
    *("output_router_logits", "router_jitter_noise"),
    "reorder_and_upcast_attn",  # only how precisely; held against transformers in tests/parity
    "sinusoidal_pos_embds",  # which are among the weights
    *("hidden_dropout", "is_decoder", "embedding_dropout", "mlp_dropout", "initializer_cutoff_factor"),
    *("cls_token_id", "sep_token_id", "classifier_pooling", "sparse_prediction", "sparse_pred_ignore_index"),
    *("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "slow_but_exact"),  # only how precisely
    *("resid_dropout", "embed_dropout", "emb_pdrop", "layerdrop"),
    *("init_device", "embedding_fraction", "learned_pos_emb"),  # the last of which no code reads
    *("deterministic_flash_attn", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop", "init_std"),
    "residual_dropout",
    *(
        "pooler_dropout",
        "pooler_hidden_act",
    ),  # the latter of a head for classes, held against transformers in tests/parity
    "qk_head_dim",  # the sum of two others, whatever it says
    *("rescale_prenorm_residual", "time_step_rank", "time_step_max", "time_step_floor"),  # how weights begin
    *(
        "chunk_size",
        "mamba_chunk_size",
        "residual_in_fp32",
        "mamba_ssm_cache_dtype",
        "use_mamba_kernels",
    ),  # how sums run
    # which no code of a pass reads
    *("num_logits_to_keep", "mtp_layers_block_type", "moe_shared_expert_overlap", "n_ctx"),
    # drawn or written in training alone, or of other classes than are read: a decoder of pixels, a backbone
    *("encoder_stride", "drop_path_rate", "layerscale_value", "use_mask_token", "out_features", "out_indices"),
    *("stage_names", "apply_layernorm", "reshape_hidden_states"),
    *("use_weighted_layer_sum", "classifier_proj_size", "apply_spec_augment", "median_filter_width"),  # of Whisper: so
    *(f"mask_{of}_{what}" for of in ("time", "feature") for what in ("prob", "length", "min_masks")),
    "num_nextn_predict_layers",  # which predict further tokens: transformers leaves them out, too
}
# Read where use_sliding_window is true, with longrope, and where scale_decoder_outputs, no_rope_layers or layer_types
# say nothing.
ONLY_WITH_OTHERS = {"sliding_window", "max_window_layers", "tie_word_embeddings"}
ONLY_WITH_OTHERS |= {"no_rope_layer_interval", "sliding_window_pattern", "original_max_position_embeddings"}
ONLY_WITH_OTHERS |= {"max_relative_positions"}  # of relative attention
ONLY_WITH_OTHERS |= {"n_group", "topk_group"}  # of a choice of experts in groups
ONLY_WITH_OTHERS |= {"mamba_norm_before_gate", "mamba_expand"}  # of a norm, and where the values have no width
# Fields that a family has and that its code does not read, though another family's does.
UNREAD_BY = {
    "mamba2": {"time_step_min"},
    "nemotron_h": {"expand", "time_step_limit"},
    "xglm": {"decoder_start_token_id"},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_field_of_transformers_is_read_or_without_effect(name, monkeypatch):
    asked = set()
    get = ConfigValues.get

    def noted(settings, field):
        asked.add(field)
        return get(settings, field)

    monkeypatch.setattr(ConfigValues, "get", noted)
    values = hf.AutoConfig.for_model(name, **SAID.get(name, {})).to_dict()
    config_of(FAMILIES[name].scaled(values), values, NoTensors())
    refused = OF_OTHERS.keys() - FAMILIES[name].defaults.keys()
    read = asked | FAMILIES[name].aliases.keys() | ONLY_WITH_OTHERS | refused
    unread = values.keys() - hf.PretrainedConfig().to_dict().keys() - read
    assert unread <= WITHOUT_EFFECT | UNREAD_BY.get(name, set())


@pytest.mark.parametrize("field", OF_OTHERS)
def test_fields_of_other_families_are_refused_by_name(field):
    for value in (None, *OF_OTHERS[field]):
        assert family_of({"model_type": "llama", field: value}) is FAMILIES["llama"]
    with pytest.raises(ValueError, match=rf"^{field}=7\.5 is not supported; supported: \w"):
        family_of({"model_type": "llama", field: 7.5})


@pytest.mark.parametrize("place", ["rope_scaling", "rope_parameters"])
def test_a_setting_of_rotations_that_nothing_reads_is_refused(place):
    values = {place: {"rope_type": "linear", "factor": 2.0, "alpha": 3.0}}
    with pytest.raises(ValueError, match=rf"^{place}\.'alpha' is not supported; supported: attention_factor, "):
        config_of(FAMILIES["llama"], values, NoTensors())
    values[place]["alpha"] = None
    assert config_of(FAMILIES["llama"], values, NoTensors()).positions.scaling.factor == 2
