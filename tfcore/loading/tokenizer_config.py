"""tokenizer_config.json of a checkpoint's folder: what it declares of the tokenizer, and the chat template in it; and
special_tokens_map.json and added_tokens.json, in which older tokenizers name and number their tokens."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfcore.files import CheckpointError, read_json
from tfcore.loading.hub import LARGEST_TOKENIZER_CONFIG
from tfcore.tokenizers.declared import NAMED, Declared, declared

NAME = "tokenizer_config.json"
MAP = "special_tokens_map.json"
NUMBERS = "added_tokens.json"


def read(folder: Path) -> dict[str, Any]:
    """The contents of a folder's tokenizer_config.json; an empty dict where there is no such file.

    Raises:
        CheckpointError: it is damaged or too large.
    """
    return _contents(folder / NAME)


def _contents(path: Path) -> dict[str, Any]:
    return read_json(path, LARGEST_TOKENIZER_CONFIG) if path.is_file() else {}


def declared_in(folder: Path, usual: Mapping[str, str] | None = None) -> Declared:
    """The declarations of a folder's file; where it does not list its added tokens, those of special_tokens_map.json
    count before its own, as in `transformers`.

    Args:
        usual: "bos_token" and so on, and the text of each where nothing else is said, of a folder without
            tokenizer.json, whose added_tokens.json counts, too; None of one that has it.

    Raises:
        CheckpointError: a file is damaged, or a field is not what it should be.
    """
    stated, where = read(folder), folder / NAME
    said = {**(usual or {}), **stated}
    if "added_tokens_decoder" not in said:
        if named := _contents(folder / MAP):
            said, stated, where = said | named, stated | named, folder / MAP
        if usual is not None and (numbers := _contents(folder / NUMBERS)):
            said["added_tokens_decoder"] = _numbered(folder / NUMBERS, numbers, said, stated)
    try:
        return declared(said)
    except ValueError as error:
        raise CheckpointError(f"{where}: {error}") from error


def _numbered(
    path: Path, numbers: Mapping[str, Any], said: Mapping[str, Any], stated: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The tokens of added_tokens.json as added_tokens_decoder has them: those that have a name are special, and where a
    file states it, found before the text is normalised."""
    if any(isinstance(i, bool) or not isinstance(i, int) or i < 0 for i in numbers.values()):
        raise CheckpointError(f"{path} must have an id for each token")
    named, in_files = ({_text(one) for one in map(names.get, NAMED)} for names in (said, stated))
    return {str(i): {"content": t, "special": t in named, "normalized": t not in in_files} for t, i in numbers.items()}


def _text(token: object) -> object:
    """The text of a token, which may stand in an object."""
    return token.get("content") if isinstance(token, dict) else token


def template_in(folder: Path) -> object:
    """The chat template in it, of several the default one; None where there is none."""
    said = read(folder).get("chat_template")
    if isinstance(said, list):  # several, by name
        by_name = (one for one in said if isinstance(one, dict) and one.get("name") == "default")
        said = next((one.get("template") for one in by_name), None)
    return said
