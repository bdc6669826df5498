"""The tokens a checkpoint ends texts with, and its chat template: of GGUF files and of Hugging Face's folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcore.files import read_json, read_text
from tfcore.loading.adapters import base_of, is_adapter
from tfcore.loading.checkpoints import folder_of, tokenizer_place
from tfcore.loading.families.text_parts import settings_of_texts
from tfcore.loading.gguf_file import GgufFile
from tfcore.loading.gguf_models import gguf_in
from tfcore.loading.hub import OnHub, cached
from tfcore.loading.tokenizer_config import template_in
from tfcore.loading.tokenizer_files import declared_of
from tfcore.tokenizers.chat import LONGEST_TEMPLATE
from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.tokenizer import SEPARATOR, Tokenizer

# Tokens that end a text or a turn, whichever of them a file calls its end.
_IN_CONFIG = ("bos_token", "eos_token", "pad_token")
_IN_GGUF = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}
ENDS = (SEPARATOR, "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "<eos>", "</s>")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Tokens that a model was trained to see around its texts.

    Args:
        names: what a template may call tokens, "bos_token", "eos_token" and so on, and the text of each.
        ends: tokens after which it has no more to say.
        template: of conversations, in Jinja; empty where it has none.
    """

    names: tuple[tuple[str, str], ...] = ()
    ends: tuple[int, ...] = ()
    template: str = ""


def special_tokens(name_or_path: str | Path | OnHub, tokenizer: Tokenizer) -> SpecialTokens:
    """The special tokens of a model.

    Args:
        name_or_path: as tfcore.load takes it; one of the hub must have been loaded before.

    Raises:
        CheckpointError: a file that says of them what cannot be.
    """
    place = folder_of(name_or_path) or cached(str(name_or_path))
    template: Any = None
    numbers: dict[str, Any] = {}
    said, written = Declared(), None
    adapter = place if place is not None and is_adapter(place) else None
    if adapter is not None:
        place = base_of(adapter).place
    if place is None or not (place.is_file() or (place / "config.json").is_file() or gguf_in(place)):
        pass
    elif (path := gguf_in(place)) is not None:
        with GgufFile(path) as file:
            settings = file.settings
        numbers = {name: settings.number(f"tokenizer.ggml.{key}_token_id") for name, key in _IN_GGUF.items()}
        template = settings.text("tokenizer.chat_template")
    else:
        config = settings_of_texts(read_json(place / "config.json"))
        numbers = {name: config.get(f"{name}_id") for name in _IN_CONFIG}
        template, said, written = _template(place), declared_of(place), _end_of_writing(place)
    if adapter is not None and tokenizer_place(adapter) == adapter:
        template, said = _template(adapter) or template, declared_of(adapter)
    known = {name: _tokens(number, tokenizer) for name, number in numbers.items()}
    names = {name: tokenizer.token_bytes(ids[0]).decode("utf-8", "replace") for name, ids in known.items() if ids}
    special = tokenizer.special_tokens
    named = [i for text, i in special.items() if text in ENDS or text in said.ends]
    ends = _tokens(written, tokenizer) or [*known.get("eos_token", ()), *named]
    return SpecialTokens(
        names=tuple((names | dict(said.names)).items()),  # a tokenizer's own word counts, as to transformers
        ends=tuple(sorted(set(ends))),
        template=template if isinstance(template, str) and len(template) <= LONGEST_TEMPLATE else "",
    )


def _tokens(said: Any, tokenizer: Tokenizer) -> list[int]:
    """The ids of a setting, one or a list, that are tokens."""
    listed = said if isinstance(said, list) else [said]
    return [i for i in listed if isinstance(i, int) and not isinstance(i, bool) and 0 <= i < tokenizer.vocab_size]


def _end_of_writing(folder: Path) -> Any:
    """The tokens after which `generate` of transformers stops: what generation_config.json says of them counts alone;
    None where it says nothing."""
    path = folder / "generation_config.json"
    return read_json(path).get("eos_token_id") if path.is_file() else None


def _template(folder: Path) -> str:
    """The chat template of a folder of Hugging Face's."""
    path = folder / "chat_template.jinja"
    if path.is_file() and path.stat().st_size <= LONGEST_TEMPLATE:
        return read_text(path, LONGEST_TEMPLATE)
    said = template_in(folder)
    return said if isinstance(said, str) else ""
