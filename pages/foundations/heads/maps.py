"""The page on heads: what all its sections compute and share."""

from dataclasses import dataclass
from typing import Any

from pages.ui import cache
from tfcore.analysis.foundations.attention_maps import AttentionMaps, Part, attention_maps, longest, parts
from tfcore.analysis.foundations.heads import repeated_tokens
from tfcore.analysis.model.translation import ends_with_separator, source_ids, written

DEFAULT_MODEL, CHARACTERS, SMALL_VOCABULARY = "stories", 2_000, 8_192
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
PARTS: dict[Part, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's attention on a text.

    Args:
        found: the maps.
        queries, keys: the query tokens and the key tokens.
        dropped: how many tokens of the text did not fit.
        model_name, pasted, part: what was read, of which model.
    """

    found: AttentionMaps
    queries: list[str]
    keys: list[str]
    dropped: int
    model_name: str
    pasted: str
    part: Part | None

    @property
    def within(self) -> bool:
        """Self-attention: queries and keys are the same tokens."""
        return self.queries == self.keys


@cache.data(max_entries=4)
def inducing(model_name: str) -> Any:
    """Induction score of each head of a decoder, on repeated random tokens; None of other models."""
    model = cache.model(model_name)[0]
    if model.config.architecture != "decoder" or model.config.head == "none" or model.config.max_seq_len < 4:
        return None
    rows = 8 if model.config.vocab_size <= SMALL_VOCABULARY else 1  # its scores of all tokens must fit into memory
    return repeated_tokens(model, rows=rows).induction


@cache.data(max_entries=8)
def read(model_name: str, pasted: str, part: Part | None = None) -> Reading | None:
    """Attention of one part of a model on a text; an encoder-decoder also writes its translation, and reads that.
    None where the tokenizer makes nothing of the text."""
    model, tokenizer = cache.model(model_name)
    room = longest(model.config)
    if model.config.architecture != "encoder-decoder":
        ids = tokenizer.encode(pasted)
        kept = ids[:room]
        tokens = tokenizer.tokens(kept)
        found = attention_maps(model, kept, inducing(model_name)) if kept else None
        return None if found is None else Reading(found, tokens, tokens, len(ids) - len(kept), model_name, pasted, part)
    ids, ends = source_ids(tokenizer, pasted), ends_with_separator(tokenizer)
    if not ids:
        return None
    dropped = max(0, len(ids) - room)
    ids = [*ids[: len(ids) - 1 - dropped], ids[-1]]
    translation = written(model, tokenizer, ids) if model.config.head != "none" else []
    decoder_ids = [model.config.start_id, *translation[:-1]][:room]
    source = [*tokenizer.tokens(ids[:-1]), "<end>"] if ends else tokenizer.tokens(ids)
    target = ["<start>", *tokenizer.tokens(decoder_ids[1:])]
    found = attention_maps(model, ids, part=part, decoder_ids=decoder_ids)
    keys = target if part == "decoder" else source
    queries = source if part == "encoder" else target
    return Reading(found, queries, keys, dropped, model_name, pasted, part)


def model_parts(model_name: str) -> tuple[Part, ...]:
    """Where this model has attention."""
    return parts(cache.model(model_name)[0].config)
