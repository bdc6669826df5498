"""How a folder of sentence-transformers makes one vector of a text's last states: modules.json names the steps, and
1_Pooling/config.json says over which tokens the vector is taken (arXiv:1908.10084, section 3)."""

from pathlib import Path

from tfcore.files import read_json, read_json_list
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
    return all(str(step.get("type", "")).rpartition(".")[2] in PLAIN for step in read_json_list(path))
