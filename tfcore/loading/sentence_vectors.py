"""How a folder of sentence-transformers makes one vector of a text's last states: modules.json names the steps, and
1_Pooling/config.json says over which tokens the vector is taken (arXiv:1908.10084, section 3)."""

import json
from pathlib import Path
from typing import Any

from tfcore.files import MAX_JSON_BYTES, CheckpointError, check_values, read_json, read_text
from tfcore.part_configs import SentencePooling

MODULES, POOLING = "modules.json", "1_Pooling/config.json"
MODES: dict[str, SentencePooling] = {
    "pooling_mode_cls_token": "first",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",  # another length of the same direction
    "pooling_mode_lasttoken": "last",
}
PLAIN = ("Transformer", "Pooling", "Normalize")  # steps after which a cosine is one of what was pooled


def pooling_of(folder: Path) -> SentencePooling:
    """How the model in a folder makes sentence vectors: "mean" where nothing is said, "unread" where it is said and not
    read here: the maximum, weights by place, several at once, a layer behind.

    Raises:
        CheckpointError: one of the two files is damaged or too large.
    """
    if not (folder / POOLING).is_file():
        return "mean"
    said = read_json(folder / POOLING)
    chosen = [name for name, value in said.items() if name.startswith("pooling_mode_") and value is True]
    if len(chosen) != 1 or chosen[0] not in MODES or not _ends_plainly(folder / MODULES):
        return "unread"
    return MODES[chosen[0]]


def _ends_plainly(path: Path) -> bool:
    """Whether nothing but a change of length follows the pooling."""
    if not path.is_file():
        return True
    text = read_text(path, MAX_JSON_BYTES)
    check_values(path, text)
    try:
        steps: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise CheckpointError(f"{path} must hold a JSON list of objects")
    return all(str(step.get("type", "")).rpartition(".")[2] in PLAIN for step in steps)
