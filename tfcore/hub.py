"""Where a model is: shipped with tfcore, in a folder, or on the Hugging Face hub."""

import re
from collections.abc import Callable
from pathlib import Path

from tfcore.weights import INDEX, SINGLE, CheckpointError, shards

SMALL = ["config.json", INDEX, "tokenizer.json"]
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def is_hub_name(name: str) -> bool:
    """Whether a name has the form org/name."""
    return HUB_NAME.fullmatch(name) is not None and ".." not in name


def fetch(name: str, revision: str | None, check: Callable[[Path], None]) -> Path:
    """The folder with the files of a model on the hub, downloaded unless they are there already.

    First come the small files, then, if check has nothing against them, the weights. Only config.json,
    tokenizer.json, the index and the safetensors files it names: no pickle, no code.

    Args:
        name: "org/name".
        revision: a branch, a tag or a commit; None means the latest.
        check: called with the folder, before the weights are there.

    Raises:
        CheckpointError: why the hub did not give it.
    """
    folder = _snapshot(name, revision, SMALL)
    if not (folder / "config.json").is_file():
        raise CheckpointError(f"{name} on the hub has no config.json, which says what model it is")
    check(folder)
    places = shards(folder)
    weights = sorted(set(places.values())) if places else [SINGLE]
    folder = _snapshot(name, folder.name, [*SMALL, *weights])  # of the same commit
    if lacking := [file for file in weights if not (folder / file).is_file()]:
        raise CheckpointError(
            f"{name} on the hub has no {lacking[0]}; weights are read from safetensors files alone, never from pickles"
        )
    return folder


def _snapshot(name: str, revision: str | None, files: list[str]) -> Path:
    from huggingface_hub import errors, snapshot_download  # here, because it takes a while to import

    where = f"{name} on the hub" if revision is None else f"{name} on the hub at {revision!r}"
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=files))
    except errors.GatedRepoError as error:
        why = "is gated: accept its terms on its page, and log in with `hf auth login`"
        raise CheckpointError(f"{where} {why}") from error
    except errors.RevisionNotFoundError as error:
        raise CheckpointError(f"{where} does not exist, though the model does; give another revision") from error
    except errors.RepositoryNotFoundError as error:
        raise CheckpointError(f"{where} does not exist, or is private; there is no folder {name} either") from error
    except errors.HFValidationError as error:
        raise CheckpointError(f"{name!r} is no name of a model on the hub: such names are org/name") from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        why = "cannot be reached and is not in the cache; go online once, or give a folder"
        raise CheckpointError(f"{where} {why}") from error
    except OSError as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise CheckpointError(f"{where} could not be downloaded: {first}") from error
