"""Labels that choices had in earlier releases: links that carry them still open, without a word of correction.

Whoever renames an option of a control adds its old label here, under the key of the control.
"""

# key of a control -> {label once: label now}
FORMER: dict[str, dict[str, str]] = {
    "panel": {"Non-linearities": "Activation functions", "Two thirds": "Share of a block"},
    "part": {
        "encoder: the text at itself": "encoder self-attention",
        "decoder: the translation at itself": "decoder self-attention",
        "cross: the translation at the text": "cross-attention",
    },
    "job": {"fill the blank": "predict a masked token"},
    "stage": {
        "letters": "characters",
        "norm of Q and K": "qk-norm",
        "rotate": "RoPE",
        "divide": "scaled scores",
        "mix values": "weighted sum of values",
        "join heads": "concatenate heads",
        "mix heads": "output projection",
        "first add": "first residual add",
        "widen": "up-projection",
        "activate": "activation function",
        "narrow": "down-projection",
        "second add": "second residual add",
        "last norm": "final norm",
        "answer": "prediction",
    },
}


def present(key: str, label: object) -> object:
    """The label that stands now for what `label` meant in the control `key` of any release; others stay as they are."""
    if not isinstance(label, str):
        return label
    return {old.casefold(): new for old, new in FORMER.get(key, {}).items()}.get(label.casefold(), label)
