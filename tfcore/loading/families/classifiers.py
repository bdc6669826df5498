"""Models fine-tuned to tell classes apart: the trunk is that of their family, the head is one of a few kinds.

`...ForSequenceClassification` gives a text one class, `...ForTokenClassification` each token one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import MOST_CLASSES, ClassActivation, ClassesConfig, ClassPlace

LONGEST = 200  # characters of the name of a class


@dataclass(frozen=True, slots=True)
class ClassHeadNames:
    """How a family's head reads a state, and what its tensors are called.

    Args:
        place: see ClassesConfig.
        score, dense, norm: their names of the linear layer, and of the dense layer and the norm before it.
        activation: of the dense layer: its name, or a function of the settings.
        bias: of the linear layer, and dense_bias of the dense one: the name of a setting, or what it is in any case.
    """

    place: ClassPlace
    score: str
    dense: str | None = None
    norm: str | None = None
    activation: ClassActivation | Callable[[ConfigValues], ClassActivation] | None = None
    bias: bool = True
    dense_bias: bool | str = True

    def config(self, s: ConfigValues) -> ClassesConfig:
        """The settings of the head, by those of a file."""
        act = self.activation(s) if callable(self.activation) else self.activation
        return ClassesConfig(
            labels=_labels(s),
            place=self.place,
            dense=act,
            dense_bias=s.flag(self.dense_bias) if isinstance(self.dense_bias, str) else self.dense_bias,
            normed=self.norm is not None,
            bias=self.bias,
        )


def _labels(s: ConfigValues) -> tuple[str, ...]:
    """The names of the classes in the order of their scores.

    Raises:
        ValueError: there are none, or what is scored are no classes of which a text has one.
    """
    s.only("problem_type", "single_label_classification")
    named = s.get("id2label")
    if named is None:
        return "LABEL_0", "LABEL_1"  # which transformers leaves out of the file
    wanted = [str(i) for i in range(len(named))] if isinstance(named, dict) else []
    if not isinstance(named, dict) or not named or {str(key) for key in named} != {*wanted}:
        raise ValueError(f"id2label={short(named)} must name the classes 0, 1, ...")
    if len(named) == 1:
        raise ValueError("id2label has one class: the model gives a text a number (regression), which is not supported")
    if len(named) > MOST_CLASSES:
        raise ValueError(f"id2label has {len(named):,} classes; supported: up to {MOST_CLASSES:,}")
    by_id = {str(key): str(label)[:LONGEST] for key, label in named.items()}
    return tuple(by_id[key] for key in wanted)


def with_classes(model_type: str, family: Family) -> Family:
    """The family with its heads that tell classes apart, where it has some."""
    if model_type not in HEADS:
        return family
    trunk, of_texts, of_tokens = HEADS[model_type]
    heads = {f"{trunk}ForSequenceClassification": of_texts, f"{trunk}ForTokenClassification": of_tokens}

    def config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
        base, names = family.config(s, tensors), s.get("architectures")
        head = next((heads[name] for name in heads if isinstance(names, list) and name in names), None)
        if head is None:
            return base
        # the pooler of BERT is the dense layer of this head
        return replace(base, head="classes", classes=head.config(s), pooler=False, logit_bias=None)

    rows = {
        "classes.score": dict.fromkeys((of_texts.score, of_tokens.score)),
        "classes.dense": dict.fromkeys(name for name in (of_texts.dense, of_tokens.dense) if name),
        "classes.ln": dict.fromkeys(name for name in (of_texts.norm, of_tokens.norm) if name),
    }
    return replace(
        family,
        architectures=(*family.architectures, *heads),
        config=config,
        rows={**family.rows, **{ours: sum((of(name) for name in theirs), ()) for ours, theirs in rows.items()}},
    )


def _modern(s: ConfigValues) -> ClassActivation:
    s.only("classifier_pooling", "cls")
    return cast("ClassActivation", s.activation("classifier_activation"))


_LAST = ClassHeadNames("last", "score", bias=False)
_EACH, _SCORE_EACH = ClassHeadNames("each", "classifier"), ClassHeadNames("each", "score")
_BERT = ClassHeadNames("first", "classifier", dense="pooler.dense", activation="tanh")
_DISTIL = ClassHeadNames("first", "classifier", dense="pre_classifier", activation="relu")
_ROBERTA = ClassHeadNames("first", "classifier.out_proj", dense="classifier.dense", activation="tanh")
_ELECTRA = ClassHeadNames("first", "classifier.out_proj", dense="classifier.dense", activation="gelu")
_ALBERT = ClassHeadNames("first", "classifier", dense="pooler", activation="tanh")
_MODERN = ClassHeadNames("first", "classifier", "head.dense", "head.norm", _modern, dense_bias="classifier_bias")
_TRUNKS = {
    "llama": "Llama",
    "mistral": "Mistral",
    "mixtral": "Mixtral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "qwen2_moe": "Qwen2Moe",
    "qwen3_moe": "Qwen3Moe",
    "gemma": "Gemma",
    "gemma2": "Gemma2",
    "gemma3_text": "Gemma3Text",
    "phi3": "Phi3",
    "gpt_oss": "GptOss",
    "olmo2": "Olmo2",
    "olmo3": "Olmo3",
    "smollm3": "SmolLM3",
    "starcoder2": "Starcoder2",
    "stablelm": "StableLm",
    "exaone4": "Exaone4",
    "ministral": "Ministral",
    "opt": "OPT",
    "phi": "Phi",
    "gptj": "GPTJ",
    "olmo": "Olmo",
    "nemotron": "Nemotron",
    "glm": "Glm",
    "glm4": "Glm4",
    "helium": "Helium",
}
_OLDER = {  # whose head for each token is called otherwise
    "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX",
    "gpt_neo": "GPTNeo",
    "gpt_bigcode": "GPTBigCode",
    "bloom": "Bloom",
    "mpt": "Mpt",
    "falcon": "Falcon",
}
# model_type -> what the names of its classes begin with, the head for a text, and that for each token
HEADS: dict[str, tuple[str, ClassHeadNames, ClassHeadNames]] = {
    **{model_type: (trunk, _LAST, _SCORE_EACH) for model_type, trunk in _TRUNKS.items()},
    **{model_type: (trunk, _LAST, _EACH) for model_type, trunk in _OLDER.items()},
    "bert": ("Bert", _BERT, _EACH),
    "distilbert": ("DistilBert", _DISTIL, _EACH),
    "roberta": ("Roberta", _ROBERTA, _EACH),
    "xlm-roberta": ("XLMRoberta", _ROBERTA, _EACH),
    "camembert": ("Camembert", _ROBERTA, _EACH),
    "electra": ("Electra", _ELECTRA, _EACH),
    "albert": ("Albert", _ALBERT, _EACH),
    "mpnet": ("MPNet", _ROBERTA, _EACH),
    "modernbert": ("ModernBert", _MODERN, replace(_MODERN, place="each")),
}
