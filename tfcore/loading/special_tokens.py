"""The tokens a checkpoint ends texts with, and its chat template: of GGUF files and of Hugging Face's folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcore.loading.checkpoints import folder_of
from tfcore.loading.gguf_file import GgufFile
from tfcore.loading.gguf_models import gguf_in
from tfcore.loading.hub import LARGEST_TOKENIZER_CONFIG, OnHub, cached
from tfcore.loading.weights import read_json, read_text
from tfcore.tokenizers.chat import LONGEST_TEMPLATE
from tfcore.tokenizers.tokenizer import SEPARATOR, Tokenizer

# Tokens that end a text or a turn, whichever of them a file calls its end.
ENDS = (SEPARATOR, "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "<eos>", "</s>")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a model was trained to see around its texts.

    Args:
        last: the token that ends a text; None where it has none. What begins one is ModelConfig.bos_id.
        ends: tokens after which it has no more to say.
        template: of conversations, in Jinja; empty where it has none.
    """

    last: int | None = None
    ends: tuple[int, ...] = ()
    template: str = ""


def special_tokens(name_or_path: str | Path | OnHub, tokenizer: Tokenizer) -> SpecialTokens:
    """Those of a model.

    Args:
        name_or_path: as tfcore.load takes it; one of the hub must have been loaded before.

    Raises:
        CheckpointError: a file that says of them what cannot be.
    """
    place = folder_of(name_or_path) or cached(str(name_or_path))
    template: Any = None
    last: Any = None
    if place is None or not (place.is_file() or (place / "config.json").is_file() or gguf_in(place)):
        pass
    elif (path := gguf_in(place)) is not None:
        with GgufFile(path) as file:
            said = file.settings
        last = said.number("tokenizer.ggml.eos_token_id")
        template = said.text("tokenizer.chat_template")
    else:
        last = read_json(place / "config.json").get("eos_token_id")
        template = _template(place)
    listed = last if isinstance(last, list) else [last]
    lasts = [i for i in listed if _is_token(i, tokenizer)]
    named = [i for text, i in tokenizer.special_tokens.items() if text in ENDS]
    return SpecialTokens(
        last=lasts[0] if lasts else None,
        ends=tuple(sorted({*lasts, *named})),
        template=template if isinstance(template, str) and len(template) <= LONGEST_TEMPLATE else "",
    )


def _is_token(said: Any, tokenizer: Tokenizer) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and 0 <= said < tokenizer.vocab_size


def _template(folder: Path) -> str:
    """The chat template of a folder of Hugging Face's."""
    path = folder / "chat_template.jinja"
    if path.is_file() and path.stat().st_size <= LONGEST_TEMPLATE:
        return read_text(path, LONGEST_TEMPLATE)
    if not (folder / "tokenizer_config.json").is_file():
        return ""
    said = read_json(folder / "tokenizer_config.json", LARGEST_TOKENIZER_CONFIG).get("chat_template")
    if isinstance(said, list):  # several, by name
        said = next((one.get("template") for one in said if isinstance(one, dict) and one.get("name") == "default"), "")
    return said if isinstance(said, str) else ""
