"""Words of our own that stood where the field has a term, and the term that takes their place.

A learner can search for the field's term, and an expert need not translate it.
"""

import re

_UNIT = (
    r"nats?|bits?|bytes?|numbers?|experts?|parameters?|[GMT]?FLOPs?|operations|ms|milliseconds|seconds|characters|"
    r"[GMTk]i?B|tokens?|scores|samples|letters|rows|sequences|texts|heads|layers|choices|guesses"
)
_EACH = (
    r"token|byte|letter|layer|parameter|number|character|step|user|sample|feature|pass|second|block|symbol|word|group|"
    r"day|hour|year|head|text|sequence|expert|row|position|replica|session|request|query|weight|value"
)
# what is not to be read -> what stands in its place
WORDS: dict[str, str] = {
    r"\b(?:tokens?|quer(?:y|ies)|words?|rows?) that looks?\b": "query token (and key token for what is looked at)",
    r"\blong texts?\b": "long context, long sequence",
    r"\bask, offer\b": "project to Q, K and V",
    r"\b(?:mix(?:es|ed)?(?: the)? \**values)\b": "weighted sum of values",
    r"\b(?:ask many|small questions)\b": "up-projection",
    r"\b(?:what fires|neurons? that fires?)\b": "activation function, active neurons",
    r"\bboth ways\b": "bidirectional (attention), in both directions, either way",
    r"\bhidden (?:anew|tokens?, anew)\b": "dynamic masking",
    r"\bms to read\b": "prefill latency (ms)",
    r"\b(?:ms|seconds?) (?:a|per) tokens? written\b": "decode latency (ms per token)",
    r"^numbers (?:kept )?as$|\bkind of number\b|\bbytes a number\b": "data type, bytes per value",
    r"\bguess(?:es)? a pass\b": "draft length",
    r"\bguesses kept\b": "accepted draft tokens, acceptance rate",
    r"\btokens to write\b": "max new tokens",
    r"\bmoved by\b(?! [\d{%])": "KL divergence",
    r"\bat its mean\b": "mean ablation",
    r"\bharm(?:s|ed)?\b": "loss increase",
    r"\b(?:clos(?:e|es|ed|ing) (?:one|a|the) (?:door|way)|(?:door|way)s? closed|one door)\b": "path patching",
    r"\blikings?\b|\bexperts? likes?\b|\bwhat expert .{0,40} likes\b": "expert specialisation",
    r"\bmost faithful\b": "routing consistency",
    r"\bby heart\b": "memorises (then generalises: grokking)",
    r"\bfree running\b": "free-running (autoregressive)",
    r"\bfor(?:e)?told\b|\bforetells?\b": "predicted (by the fit), extrapolated",
    r"\btokens? of use\b": "inference tokens",
    r"\brows a step\b": "sequences per step (batch size)",
    rf"\b(?:{_UNIT}) an? (?:{_EACH})\b": "per: nats per token, bytes per parameter, experts per layer",
    r"\bheads? of (?:keys|key)(?: and|/)? ?values?\b|\bkey/value heads?\b": "KV heads",
    r"\bheads? of quer(?:y|ies)\b": "query heads",
    r"\bsaid twice\b": "repeated",
    r"\btellers?\b|\bbrothers?\b": "model",
    r"\btwins?(?:'s)?\b": "baseline",
    r"\bplain way\b": "standard attention",
}
PATTERNS = {re.compile(words, re.IGNORECASE): term for words, term in WORDS.items()}


def found(text: str) -> list[tuple[str, str]]:
    """Every homemade word in a text, with the term that stands in its place."""
    return [(match.group(), term) for pattern, term in PATTERNS.items() for match in pattern.finditer(text)]
