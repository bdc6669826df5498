"""tokenizer_config.json of a checkpoint's folder: what it declares of the tokenizer, and the chat template in it; and
special_tokens_map.json, in which older tokenizers name their tokens."""

from pathlib import Path
from typing import Any

from tfcore.files import CheckpointError, read_json
from tfcore.loading.hub import LARGEST_TOKENIZER_CONFIG
from tfcore.tokenizers.declared import Declared, declared

NAME = "tokenizer_config.json"
MAP = "special_tokens_map.json"


def read(folder: Path) -> dict[str, Any]:
    """The contents of a folder's tokenizer_config.json; an empty dict where there is no such file.

    Raises:
        CheckpointError: it is damaged or too large.
    """
    return _contents(folder / NAME)


def _contents(path: Path) -> dict[str, Any]:
    return read_json(path, LARGEST_TOKENIZER_CONFIG) if path.is_file() else {}


def declared_in(folder: Path) -> Declared:
    """The declarations of a folder's file; where it does not list its added tokens, those of special_tokens_map.json
    count before its own, as in `transformers`.

    Raises:
        CheckpointError: a file is damaged, or a field is not what it should be.
    """
    said, where = read(folder), folder / NAME
    if "added_tokens_decoder" not in said and (named := _contents(folder / MAP)):
        said, where = said | named, folder / MAP
    try:
        return declared(said)
    except ValueError as error:
        raise CheckpointError(f"{where}: {error}") from error


def template_in(folder: Path) -> object:
    """The chat template in it, of several the default one; None where there is none."""
    said = read(folder).get("chat_template")
    if isinstance(said, list):  # several, by name
        by_name = (one for one in said if isinstance(one, dict) and one.get("name") == "default")
        said = next((one.get("template") for one in by_name), None)
    return said
