"""Labels that choices had in earlier releases: links that carry them still open, without a word of correction.

Whoever renames an option of a control adds its old label here, under the key of the control.
"""

# key of a control -> {label once: label now}
FORMER: dict[str, dict[str, str]] = {
    "action": {
        "off": "zero ablation",
        "at its mean": "mean ablation",
        "scaled": "scaling",
    },
    "against": {
        "the mean of all tokens": "the mean of all logits",
        "nothing: the plain logit": "nothing: the raw logit",
    },
    "by": {
        "the guess at the end": "the next token",
        "all tokens of the text": "the whole text",
    },
    "colour": {
        "what it holds": "state",
        "whose it is": "request",
    },
    "kind": {
        "stream": "residual stream",
    },
    "knock": {
        "as many others": "other heads (control)",
        "my choice": "heads you name",
    },
    "part": {
        "How large it is": "Cache size",
        "Memory in blocks": "Paged cache",
        "Beyond the best": "Over-training",
    },
    "score": {
        "token before": "previous token",
        "same token": "duplicate token",
        "loss without it": "loss when ablated",
    },
    "show": {
        "how two heads do it": "the induction circuit",
        "watch it appear": "the phase change",
        "grow one yourself": "train one yourself",
        "Who wrote it": "Direct logit attribution",
        "Length and direction": "Norm and cosine",
        "Switch off and scale": "Ablate and scale",
        "Patch from another text": "Activation patching",
    },
    "text_is": {
        "random tokens, twice": "repeated random tokens",
        "your text, twice": "your text, repeated",
        "your text, as it is": "your text, once",
    },
}


def present(key: str, label: object) -> object:
    """The label that stands now for what `label` meant in the control `key` of any release; others stay as they are."""
    if not isinstance(label, str):
        return label
    return {old.casefold(): new for old, new in FORMER.get(key, {}).items()}.get(label.casefold(), label)
