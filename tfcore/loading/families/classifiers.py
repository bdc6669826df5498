"""Models fine-tuned to tell classes apart: the trunk is that of their family, the head is one of a few kinds.

`...ForSequenceClassification` gives a text one class, or judges several, or gives it numbers;
`...ForTokenClassification` gives each token a class; `...ForQuestionAnswering` gives it two scores: that an answer
starts, and that it ends there. `...ForImageClassification` gives a picture one class.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import MOST_CLASSES, ClassActivation, ClassesConfig, ClassMeaning, ClassPlace, WritingConfig

LONGEST = 200  # characters of the name of a class
OF_TEXTS = "ForSequenceClassification"
OF_TOKENS = "ForTokenClassification"
OF_SPANS = "ForQuestionAnswering"
OF_PICTURES = "ForImageClassification"
SPAN = ("start", "end")
PROBLEMS: dict[str, ClassMeaning] = {
    "single_label_classification": "one",
    "multi_label_classification": "several",
    "regression": "number",
}


@dataclass(frozen=True, slots=True)
class ClassHeadNames:
    """How a family's head reads a state, and what its tensors are called.

    Args:
        place: see ClassesConfig; or a function of the settings.
        score, dense, norm: their names of the linear layer, and of the dense layer and the norm before it.
        activation: of the dense layer: its name, or a function of the settings.
        bias: of the linear layer, and dense_bias of the dense one: the name of a setting, or what it is in any case.
        at_end: whether a text's last token has to be the one that ends texts, as it is what the published code looks
            for.
        starts_with_it: whether the decoder starts with that one, too.
    """

    place: ClassPlace | Callable[[ConfigValues], ClassPlace]
    score: str
    dense: str | None = None
    norm: str | None = None
    activation: ClassActivation | Callable[[ConfigValues], ClassActivation] | None = None
    bias: bool = True
    dense_bias: bool | str = True
    at_end: bool = False
    starts_with_it: bool = False

    def config(self, s: ConfigValues, kind: str) -> ClassesConfig:
        """The settings of the head, by those of a file; `kind` is the end of its name."""
        act = self.activation(s) if callable(self.activation) else self.activation
        labels = _labels(s)
        meaning = "span" if kind == OF_SPANS else _meaning(s, len(labels), kind)
        if meaning == "span" and len(labels) != len(SPAN):
            raise ValueError(f"id2label has {len(labels)} classes; a head for answers has two scores per token")
        return ClassesConfig(
            labels=SPAN if meaning == "span" else labels,
            meaning=meaning,
            place=self.place(s) if callable(self.place) else self.place,
            dense=act,
            dense_bias=s.flag(self.dense_bias) if isinstance(self.dense_bias, str) else self.dense_bias,
            normed=self.norm is not None,
            bias=self.bias,
            end_id=s.whole("eos_token_id", low=0) if self.at_end else None,
        )


def _labels(s: ConfigValues) -> tuple[str, ...]:
    """The names of the classes in the order of their scores.

    Raises:
        ValueError: there are none, or too many.
    """
    named = s.get("id2label")
    if named is None:
        return "LABEL_0", "LABEL_1"  # which transformers leaves out of the file
    wanted = [str(i) for i in range(len(named))] if isinstance(named, dict) else []
    if not isinstance(named, dict) or not named or {str(key) for key in named} != {*wanted}:
        raise ValueError(f"id2label={short(named)} must name the classes 0, 1, ...")
    if len(named) > MOST_CLASSES:
        raise ValueError(f"id2label has {len(named):,} classes; supported: up to {MOST_CLASSES:,}")
    by_id = {str(key): str(label)[:LONGEST] for key, label in named.items()}
    return tuple(by_id[key] for key in wanted)


def _meaning(s: ConfigValues, n: int, kind: str) -> ClassMeaning:
    """The meaning of n scores: as transformers has it, one score alone is a number where nothing else is said."""
    if kind == OF_TOKENS:
        s.only("problem_type", "single_label_classification")
    s.only("problem_type", *PROBLEMS)
    said = s.get("problem_type")
    meaning = PROBLEMS[str(said)] if said is not None else "number" if n == 1 else "one"
    if n == 1 and meaning == "one":
        raise ValueError("id2label has one class, of which nothing is to be told")
    return meaning


def with_classes(model_type: str, family: Family) -> Family:
    """The family with its heads that tell classes apart, where it has some."""
    if model_type not in HEADS:
        return family
    trunk, heads = HEADS[model_type]
    by_name = {f"{trunk}{kind}": kind for kind in heads}

    def config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
        base, names = family.config(s, tensors), s.get("architectures")
        kind = next((by_name[name] for name in by_name if isinstance(names, list) and name in names), None)
        if kind is None:
            return base
        classes = heads[kind].config(s, kind)
        start = classes.end_id if heads[kind].starts_with_it and classes.end_id is not None else base.start_id
        # the pooler of BERT is the dense layer of this head; what is done to the scores of tokens is not done to these
        plain = replace(base, pooler=False, logit_bias=None, logit_scale=1.0, logit_softcap=None)
        return replace(plain, head="classes", classes=classes, start_id=start, writing=WritingConfig())

    rows = {
        "classes.score": dict.fromkeys(head.score for head in heads.values()),
        "classes.dense": dict.fromkeys(head.dense for head in heads.values() if head.dense),
        "classes.ln": dict.fromkeys(head.norm for head in heads.values() if head.norm),
    }
    return replace(
        family,
        architectures=(*family.architectures, *by_name),
        config=config,
        rows={**family.rows, **{ours: sum((of(name) for name in theirs), ()) for ours, theirs in rows.items()}},
    )


def _modern_place(s: ConfigValues) -> ClassPlace:
    s.only("classifier_pooling", "cls", "mean")
    return "mean" if s.get("classifier_pooling") == "mean" else "first"


def _modern(s: ConfigValues) -> ClassActivation:
    return cast("ClassActivation", s.activation("classifier_activation"))


def _deberta(s: ConfigValues) -> ClassActivation:
    name = "pooler_hidden_act"
    return "tanh" if s.get(name) == "tanh" else cast("ClassActivation", s.activation(name))


_LAST = ClassHeadNames("last", "score", bias=False)
_EACH, _SCORE_EACH = ClassHeadNames("each", "classifier"), ClassHeadNames("each", "score")
_ENDS = ClassHeadNames("each", "qa_outputs")
_PICTURE = ClassHeadNames("first", "classifier")
_BERT = ClassHeadNames("first", "classifier", dense="pooler.dense", activation="tanh")
_DISTIL = ClassHeadNames("first", "classifier", dense="pre_classifier", activation="relu")
_ROBERTA = ClassHeadNames("first", "classifier.out_proj", dense="classifier.dense", activation="tanh")
_ELECTRA = ClassHeadNames("first", "classifier.out_proj", dense="classifier.dense", activation="gelu")
_ALBERT = ClassHeadNames("first", "classifier", dense="pooler", activation="tanh")
_DEBERTA = ClassHeadNames("first", "classifier", dense="pooler.dense", activation=_deberta)
_BART = ClassHeadNames(
    "last", "classification_head.out_proj", dense="classification_head.dense", activation="tanh", at_end=True
)
_MODERN = ClassHeadNames(_modern_place, "classifier", "head.dense", "head.norm", _modern, dense_bias="classifier_bias")
Heads = dict[str, ClassHeadNames]
_TRUNKS = {
    "gemma": "Gemma",
    "gemma2": "Gemma2",
    "gemma3_text": "Gemma3Text",
    "phi3": "Phi3",
    "gpt_oss": "GptOss",
    "olmo2": "Olmo2",
    "olmo3": "Olmo3",
    "starcoder2": "Starcoder2",
    "stablelm": "StableLm",
    "phi": "Phi",
    "olmo": "Olmo",
    "glm": "Glm",
    "glm4": "Glm4",
    "helium": "Helium",
}
_ANSWERING = {  # with a head for answers within a text
    "llama": "Llama",
    "mistral": "Mistral",
    "mixtral": "Mixtral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "qwen2_moe": "Qwen2Moe",
    "qwen3_moe": "Qwen3Moe",
    "smollm3": "SmolLM3",
    "exaone4": "Exaone4",
    "ministral": "Ministral",
    "ministral3": "Ministral3",
    "opt": "OPT",
    "gptj": "GPTJ",
    "nemotron": "Nemotron",
    "arcee": "Arcee",
}
_OLDER = {  # whose head for each token is called otherwise
    "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX",
    "gpt_neo": "GPTNeo",
    "bloom": "Bloom",
    "mpt": "Mpt",
    "falcon": "Falcon",
}


def _heads(of_texts: ClassHeadNames, of_tokens: ClassHeadNames, of_spans: ClassHeadNames | None = None) -> Heads:
    heads = {OF_TEXTS: of_texts, OF_TOKENS: of_tokens}
    return heads if of_spans is None else {**heads, OF_SPANS: of_spans}


_MODERN_EACH = replace(_MODERN, place="each")
_MBART_ENDS = replace(_ENDS, at_end=True, starts_with_it=True)
_T5S = {"t5": "T5", "mt5": "MT5", "umt5": "UMT5"}
# model_type -> what the names of its classes begin with, and its heads by what these names end with
HEADS: dict[str, tuple[str, Heads]] = {
    **{model_type: (trunk, _heads(_LAST, _SCORE_EACH)) for model_type, trunk in _TRUNKS.items()},
    **{model_type: (trunk, _heads(_LAST, _SCORE_EACH, _ENDS)) for model_type, trunk in _ANSWERING.items()},
    **{model_type: (trunk, _heads(_LAST, _EACH, _ENDS)) for model_type, trunk in _OLDER.items()},
    "apertus": ("Apertus", {OF_TOKENS: _SCORE_EACH}),
    "gpt_bigcode": ("GPTBigCode", _heads(_LAST, _EACH)),
    "bert": ("Bert", _heads(_BERT, _EACH, _ENDS)),
    "distilbert": ("DistilBert", _heads(_DISTIL, _EACH, _ENDS)),
    "roberta": ("Roberta", _heads(_ROBERTA, _EACH, _ENDS)),
    "xlm-roberta": ("XLMRoberta", _heads(_ROBERTA, _EACH, _ENDS)),
    "camembert": ("Camembert", _heads(_ROBERTA, _EACH, _ENDS)),
    "electra": ("Electra", _heads(_ELECTRA, _EACH, _ENDS)),
    "albert": ("Albert", _heads(_ALBERT, _EACH, _ENDS)),
    "mpnet": ("MPNet", _heads(_ROBERTA, _EACH, _ENDS)),
    "deberta": ("Deberta", _heads(_DEBERTA, _EACH, _ENDS)),
    "deberta-v2": ("DebertaV2", _heads(_DEBERTA, _EACH, _ENDS)),
    "modernbert": ("ModernBert", _heads(_MODERN, _MODERN_EACH, _MODERN_EACH)),
    "bart": ("Bart", {OF_TEXTS: _BART, OF_SPANS: _ENDS}),
    "mbart": ("MBart", {OF_TEXTS: replace(_BART, starts_with_it=True), OF_SPANS: _MBART_ENDS}),
    **{model_type: (trunk, _heads(_BART, _EACH, _ENDS)) for model_type, trunk in _T5S.items()},
    **{model_type: (trunk, {OF_PICTURES: _PICTURE}) for model_type, trunk in (("vit", "ViT"), ("deit", "DeiT"))},
}
