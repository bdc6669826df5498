"""The families of published checkpoints that can be loaded: for each a small table of settings and weight names."""

from collections.abc import Mapping
from difflib import get_close_matches

from tfcore.config import ModelConfig
from tfcore.loading.families.alibi import BLOOM, MPT
from tfcore.loading.families.apertus import APERTUS
from tfcore.loading.families.arcee import ARCEE
from tfcore.loading.families.bart import BART, MBART
from tfcore.loading.families.bert import BERT, DISTILBERT
from tfcore.loading.families.classifiers import with_classes
from tfcore.loading.families.cohere import COHERE, COHERE2
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.deberta import DEBERTA, DEBERTA_V2
from tfcore.loading.families.deepseek import DEEPSEEK_V2, DEEPSEEK_V3
from tfcore.loading.families.exaone import EXAONE4
from tfcore.loading.families.falcon import FALCON
from tfcore.loading.families.falcon_h1 import FALCON_H1
from tfcore.loading.families.gemma import GEMMA, GEMMA2, GEMMA3
from tfcore.loading.families.glm import GLM, GLM4, GLM4_MOE
from tfcore.loading.families.gpt2 import GPT2, GPT_BIGCODE
from tfcore.loading.families.gpt_neo import GPT_NEO
from tfcore.loading.families.gpt_neox import GPT_NEOX
from tfcore.loading.families.gpt_oss import GPT_OSS
from tfcore.loading.families.gptj import CODEGEN, GPTJ
from tfcore.loading.families.granite import GRANITE, GRANITE_HYBRID, GRANITE_MOE, GRANITE_MOE_SHARED
from tfcore.loading.families.lfm2 import LFM2, LFM2_MOE
from tfcore.loading.families.llama import ERNIE4_5, HELIUM, LLAMA, MINISTRAL, MINISTRAL3, MISTRAL, QWEN2, QWEN3, SMOLLM3
from tfcore.loading.families.mamba2 import MAMBA2
from tfcore.loading.families.mapping import Family
from tfcore.loading.families.marian import M2M100, MARIAN, PEGASUS
from tfcore.loading.families.mixtures import MIXTRAL, OLMOE, QWEN2_MOE, QWEN3_MOE
from tfcore.loading.families.modernbert import MODERNBERT
from tfcore.loading.families.narrow import ALBERT, ELECTRA
from tfcore.loading.families.nemotron import NEMOTRON
from tfcore.loading.families.nemotron_h import NEMOTRON_H
from tfcore.loading.families.nomic import NOMIC_BERT
from tfcore.loading.families.olmo import OLMO, OLMO2, OLMO3
from tfcore.loading.families.opt import OPT
from tfcore.loading.families.phi import PHI, PHI3
from tfcore.loading.families.qwen3_next import QWEN3_5, QWEN3_5_MOE, QWEN3_NEXT
from tfcore.loading.families.roberta import CAMEMBERT, MPNET, ROBERTA, XLM_ROBERTA
from tfcore.loading.families.stablelm import STABLELM
from tfcore.loading.families.starcoder2 import STARCODER2
from tfcore.loading.families.t5 import MT5, T5, UMT5
from tfcore.loading.families.text_parts import COMPOSITES, ONLY_WITHIN, decoder_within
from tfcore.loading.families.vit import DEIT, DINOV2, DINOV2_WITH_REGISTERS, VIT
from tfcore.loading.families.whisper import WHISPER
from tfcore.loading.families.xglm import XGLM

_TRUNKS: dict[str, Family] = {
    "gpt2": GPT2,
    "llama": LLAMA,
    "arcee": ARCEE,
    "mistral": MISTRAL,
    "ministral": MINISTRAL,
    "ministral3": MINISTRAL3,
    "mixtral": MIXTRAL,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "lfm2": LFM2,
    "lfm2_moe": LFM2_MOE,
    "mamba2": MAMBA2,
    "qwen3_next": QWEN3_NEXT,
    "qwen3_5_text": QWEN3_5,
    "qwen3_5_moe_text": QWEN3_5_MOE,
    "falcon_h1": FALCON_H1,
    "nemotron_h": NEMOTRON_H,
    "qwen2_moe": QWEN2_MOE,
    "qwen3_moe": QWEN3_MOE,
    "deepseek_v2": DEEPSEEK_V2,
    "deepseek_v3": DEEPSEEK_V3,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "phi": PHI,
    "phi3": PHI3,
    "gptj": GPTJ,
    "codegen": CODEGEN,
    "gpt_neox": GPT_NEOX,
    "gpt_oss": GPT_OSS,
    "olmo": OLMO,
    "olmo2": OLMO2,
    "olmo3": OLMO3,
    "olmoe": OLMOE,
    "smollm3": SMOLLM3,
    "starcoder2": STARCODER2,
    "granite": GRANITE,
    "granitemoe": GRANITE_MOE,
    "granitemoeshared": GRANITE_MOE_SHARED,
    "granitemoehybrid": GRANITE_HYBRID,
    "stablelm": STABLELM,
    "exaone4": EXAONE4,
    "opt": OPT,
    "xglm": XGLM,
    "gpt_neo": GPT_NEO,
    "gpt_bigcode": GPT_BIGCODE,
    "bloom": BLOOM,
    "mpt": MPT,
    "falcon": FALCON,
    "cohere": COHERE,
    "cohere2": COHERE2,
    "nemotron": NEMOTRON,
    "glm": GLM,
    "glm4": GLM4,
    "glm4_moe": GLM4_MOE,
    "helium": HELIUM,
    "ernie4_5": ERNIE4_5,
    "apertus": APERTUS,
    "bert": BERT,
    "distilbert": DISTILBERT,
    "roberta": ROBERTA,
    "xlm-roberta": XLM_ROBERTA,
    "camembert": CAMEMBERT,
    "electra": ELECTRA,
    "albert": ALBERT,
    "mpnet": MPNET,
    "deberta": DEBERTA,
    "deberta-v2": DEBERTA_V2,
    "modernbert": MODERNBERT,
    "nomic_bert": NOMIC_BERT,
    "t5": T5,
    "mt5": MT5,
    "umt5": UMT5,
    "bart": BART,
    "mbart": MBART,
    "marian": MARIAN,
    "m2m_100": M2M100,
    "pegasus": PEGASUS,
    "whisper": WHISPER,
    "vit": VIT,
    "deit": DEIT,
    "dinov2": DINOV2,
    "dinov2_with_registers": DINOV2_WITH_REGISTERS,
}
FAMILIES = {model_type: with_classes(model_type, family) for model_type, family in _TRUNKS.items()}
UNSUPPORTED = ("quantization_config", "pruned_heads", "per_layer_config")  # fields that would change every family
# Fields that change the numbers of the families that know them, which are those with a default for them, and the values
# that change nothing. A file of another family that says one of them was made for another program than it names.
OF_OTHERS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("attn_logit_softcapping", "final_logit_softcapping", "clip_qkv", "query_pre_attn_scalar"), ()),
    **dict.fromkeys(("logit_scale", "logits_scaling", "attention_multiplier", "embedding_multiplier"), (1,)),
    **dict.fromkeys(("residual_multiplier", "residual_scale", "scale_emb", "rotary_pct"), (1,)),
    **dict.fromkeys(("scale_depth", "dim_model_base", "rotary_dim", "no_rope_layers", "no_rope_layer_interval"), ()),
    **dict.fromkeys(("qk_layernorm", "use_qk_norm", "alibi", "parallel_attn", "use_parallel_residual"), (False,)),
    **dict.fromkeys(("attn_temperature_tuning", "num_kv_shared_layers", "n_shared_experts"), (False,)),
    "norm_topk_prob": (True,),
}


def family_of(values: Mapping[str, object]) -> Family:
    """The family whose settings these are.

    Raises:
        ValueError: naming the field that has no counterpart here.
    """
    if values.get("model_type") in [*COMPOSITES]:
        return decoder_within(values, lambda of_texts: _checked(of_texts, FAMILIES | ONLY_WITHIN))
    return _checked(values, FAMILIES)


def _checked(values: Mapping[str, object], families: Mapping[str, Family]) -> Family:
    """The one of these families whose settings these are."""
    kind = values.get("model_type")
    if not isinstance(kind, str) or kind not in families:
        every = [*FAMILIES, *COMPOSITES]
        near = get_close_matches(kind, every) if isinstance(kind, str) else []
        known = "docs/models.md has those that are"
        if near:
            known = f"of the {len(every)} that are, the nearest by name: {', '.join(near)}; docs/models.md has them all"
        raise ValueError(f"model_type={short(kind)} is not supported; {known}")
    family = families[kind]
    for name in UNSUPPORTED:
        if (value := values.get(name)) and not _is_read(family, name, value):
            raise ValueError(f"{name}={short(value)} is not supported; supported: no such field")
    settings = ConfigValues(values)
    for name, without_effect in OF_OTHERS.items():
        if name not in family.defaults:
            settings.only(name, *without_effect)
    classes = values.get("architectures") or []
    if not isinstance(classes, list) or any(name not in family.architectures for name in classes):
        raise ValueError(
            f"architectures={short(classes)} is not supported; supported: {', '.join(family.architectures)}"
        )
    return family.scaled(values)


def _is_read(family: Family, name: str, value: object) -> bool:
    """Whether a field says how tensors are stored, in a way that this family's are read."""
    method = value.get("quant_method") if name == "quantization_config" and isinstance(value, Mapping) else None
    return method is not None and method == family.quantised


def config_of(family: Family, values: Mapping[str, object], tensors: Tensors) -> ModelConfig:
    """Our config of their settings; the weights decide whether there is a head, a pooler.

    Raises:
        ValueError: naming the field that does not fit.
    """
    return family.config(family.settings(values), tensors)
