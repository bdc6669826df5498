"""Models that see pictures or hear sounds beside reading texts: of their parts the decoder of texts is read, which is
that of a family that stands alone. Without a picture or a sound nothing else takes part in what it computes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tfcore.loading.families.config_values import short
from tfcore.loading.families.llama import QWEN2, QWEN3
from tfcore.loading.families.mapping import Family

PART = "text_config"
_TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id")
# of positions in time, height and width, which are equal in a text (arXiv:2409.12191, section 2.1)
_THREEFOLD = {"mrope_section", "mrope_interleaved"}
_OTHERS = r"(vision_tower|vision_model|visual|audio_tower|multi_modal_projector|connector)\..*|image_newline"
_PLACES = {"language_model.model.": "", "language_model.": "", "text_model.": ""}

QWEN2_VL_TEXT = replace(
    QWEN2,
    defaults={
        **QWEN2.defaults,
        "vocab_size": 152_064,
        "hidden_size": 8192,
        "intermediate_size": 29_568,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1_000_000.0,
        "bos_token_id": 151_643,
        "max_window_layers": 80,
    },
)
QWEN3_VL_TEXT = replace(QWEN3, defaults={**QWEN3.defaults, "max_position_embeddings": 128_000, "rope_theta": 500_000.0})
_VOXTRAL = {
    "vocab_size": 131_072,
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 30,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131_072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100_000_000.0,
    "head_dim": 128,
}


@dataclass(frozen=True, slots=True)
class Composite:
    """One model_type of such models.

    Args:
        title: what they are called.
        name: of the class of `transformers`, before "ForConditionalGeneration".
        texts: the model_type of their decoder, one of FAMILIES or of ONLY_WITHIN.
        stated: whether text_config may name another family.
        tied: what tie_word_embeddings is where no part of the settings says it; None: what it is in the family.
        flat: whether files may have the decoder's settings among all others, as the first ones of Qwen2-VL do.
        defaults: what fields that text_config leaves out mean, where it is not what they mean to the family.
    """

    title: str
    name: str
    texts: str
    stated: bool = False
    tied: bool | None = None
    flat: bool = False
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def architecture(self) -> str:
        """The class whose weights are read."""
        return f"{self.name}ForConditionalGeneration"


ONLY_WITHIN = {"qwen2_vl_text": QWEN2_VL_TEXT, "qwen2_5_vl_text": QWEN2_VL_TEXT, "qwen3_vl_text": QWEN3_VL_TEXT}
COMPOSITES = {
    "gemma3": Composite("Gemma 3", "Gemma3", "gemma3_text"),
    "qwen2_vl": Composite("Qwen2-VL", "Qwen2VL", "qwen2_vl_text", flat=True),
    "qwen2_5_vl": Composite("Qwen2.5-VL", "Qwen2_5_VL", "qwen2_5_vl_text", flat=True),
    "qwen3_vl": Composite("Qwen3-VL", "Qwen3VL", "qwen3_vl_text"),
    "qwen3_5": Composite("Qwen3.5", "Qwen3_5", "qwen3_5_text"),
    "qwen3_5_moe": Composite("Qwen3.5-MoE", "Qwen3_5Moe", "qwen3_5_moe_text"),
    "mistral3": Composite("Mistral 3", "Mistral3", "mistral", stated=True, tied=True),
    "smolvlm": Composite("SmolVLM", "SmolVLM", "llama", stated=True),
    "idefics3": Composite("Idefics3", "Idefics3", "llama", stated=True),
    "llava": Composite("LLaVA", "Llava", "llama", stated=True),
    "llava_next": Composite("LLaVA-NeXT", "LlavaNext", "llama", stated=True),
    "llava_onevision": Composite("LLaVA-OneVision", "LlavaOnevision", "qwen2", stated=True),
    "internvl": Composite("InternVL", "InternVL", "qwen2", stated=True, tied=True),
    "lfm2_vl": Composite("LFM2-VL", "Lfm2Vl", "lfm2", stated=True),
    "qwen2_audio": Composite("Qwen2-Audio", "Qwen2Audio", "qwen2", stated=True),
    "voxtral": Composite("Voxtral", "Voxtral", "llama", stated=True, defaults=_VOXTRAL),
}


def settings_of_texts(values: Mapping[str, object]) -> Mapping[str, object]:
    """The settings of the decoder in such a model, as if it stood alone; of other models those that are given.

    Raises:
        ValueError: text_config is no object.
    """
    kind = values.get("model_type")
    composite = COMPOSITES.get(kind) if isinstance(kind, str) else None
    if composite is None:
        return values
    part = values.get(PART)
    if part is None and composite.flat:
        part = {name: value for name, value in values.items() if name != "model_type"}
    if not isinstance(part, dict):
        raise ValueError(f"{PART}={short(part)} must be an object with the settings of the decoder of texts")
    inner = dict(composite.defaults)
    inner |= {name: _of_a_text(value) if name.startswith("rope_") else value for name, value in part.items()}
    for name in (*_TOKENS, "quantization_config"):
        if inner.get(name) is None and values.get(name) is not None:
            inner[name] = values[name]
    said = [one.get("tie_word_embeddings") for one in (values, inner)]
    if any(isinstance(one, bool) for one in said):
        inner["tie_word_embeddings"] = True in said
    elif composite.tied is not None:
        inner["tie_word_embeddings"] = composite.tied
    stated = inner.get("model_type") if composite.stated else None
    return inner | {"model_type": composite.texts if stated is None else stated, "architectures": None}


def _of_a_text(value: object) -> object:
    """Settings of rotations without those of pictures."""
    if not isinstance(value, dict):
        return value
    left = {name: one for name, one in value.items() if name not in _THREEFOLD}
    return left | {name: "default" for name in ("type", "rope_type") if left.get(name) == "mrope"}


def decoder_within(values: Mapping[str, object], alone: Callable[[Mapping[str, object]], Family]) -> Family:
    """The family of the decoder in such a model, by the names that its tensors have there.

    Args:
        alone: the family of settings.

    Raises:
        ValueError: naming what is not supported.
    """
    composite = COMPOSITES[str(values["model_type"])]
    classes = values.get("architectures")
    if classes not in (None, [], [composite.architecture]):
        raise ValueError(
            f"architectures={short(classes)} is not supported; supported: {composite.architecture}, of which the "
            "decoder of texts is read"
        )
    inner = settings_of_texts(values)
    try:
        family = alone(inner)
    except ValueError as error:
        raise ValueError(f"{PART}: {error}") from error
    return replace(
        family,
        title=f"{composite.title} (its decoder of texts)",
        architectures=(composite.architecture,),
        config=lambda _, tensors: family.config(family.settings(inner), tensors),
        renamed=_PLACES | dict(family.renamed),
        ignored=f"{family.ignored}|{_OTHERS}",
        factors=None,  # which are in its rows
    )
