"""Labels and keys of controls in earlier releases: links that carry them still open, without a word of correction.

Whoever renames an option of a control adds its old label here, under the key of the control; whoever renames a key adds
the old one, under the address of the page.
"""

import re

from tfcore.measures.token_text import visible

BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")  # of a token that is a part of a character

# address of a page -> {key once: key now}
KEYS: dict[str, dict[str, str]] = {"interventions": {"answers": "by", "token": "word"}, "stream": {"token": "word"}}

# key of a control -> {label once: label now}
FORMER: dict[str, dict[str, str]] = {
    "action": {"off": "zero ablation", "at its mean": "mean ablation", "scaled": "scaling"},
    "against": {
        "the mean of all tokens": "the mean of all logits",
        "nothing: the plain logit": "nothing: the raw logit",
    },
    "by": {
        "the guess at the end": "the next token",
        "all tokens of the text": "the whole text",
        "most faithful": "routing consistency",
        "most of its work": "share of its load",
    },
    "colour": {"what it holds": "state", "whose it is": "request"},
    "dtype": {"float32, as here": "float32"},
    "draft": {"single-token table": "bigram table"},
    "job": {"fill the blank": "predict a masked token"},
    "kind": {"stream": "residual stream"},
    "knock": {"as many others": "other heads (control)", "my choice": "heads you name"},
    "layout": {"in pieces": "contiguous"},
    "panel": {"Non-linearities": "Activation functions", "Two thirds": "Share of a block"},
    "look": {
        "A row on its grid": "One row",
        "Error by layer": "By layer",
        "Loss against bits": "Loss",
        "A GGUF block": "GGUF",
    },
    "part": {
        "encoder: the text at itself": "encoder",
        "encoder self-attention": "encoder",
        "decoder: the translation at itself": "decoder",
        "decoder self-attention": "decoder",
        "cross: the translation at the text": "cross-attention",
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
        "who takes what": "routing",
        "what experts like": "expert specialisation",
        "other rules": "other routing rules",
        "size and work": "parameters and compute",
        "One token": "Sampling a token",
        "Whole texts": "Decoding strategies",
        "Speculative": "Speculative decoding",
        "what each choice changes": "hyperparameters",
    },
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
    "task": {"induction: random tokens, twice": "induction: repeated random tokens"},
    "text_is": {
        "random tokens, twice": "repeated random tokens",
        "your text, twice": "your text, repeated",
        "your text, as it is": "your text, once",
    },
    "view": {"this one": "this remedy"},
    "who": {"tokens": "token choice", "experts": "expert choice"},
}


def present(key: str, label: object) -> object:
    """The label that stands now for what `label` meant in the control `key` of any release; others stay as they are.

    Of a feature its number: the words behind it are of the dictionary that shipped then. Parts of characters were named
    by their bytes.
    """
    if not isinstance(label, str):
        return label
    if key.rstrip("0123456789") == "feature":
        return label.split(" ")[0]
    label = BYTES.sub(lambda found: visible(found[0]), label)
    return {old.casefold(): new for old, new in FORMER.get(key, {}).items()}.get(label.casefold(), label)
