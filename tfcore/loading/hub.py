"""Where a model is: shipped with tfcore, in a folder, or on the Hugging Face hub."""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcore.loading.weights import (
    INDEX,
    MAX_INDEX_BYTES,
    MAX_JSON_BYTES,
    MAX_TOKENIZER_BYTES,
    SINGLE,
    CheckpointError,
    Progress,
    Tell,
    shards,
    size,
)

LARGEST_TOKENIZER_CONFIG = 4_000_000  # bytes; Gemma 3's has 1.2 million
SMALL = {
    "config.json": MAX_JSON_BYTES,
    INDEX: MAX_INDEX_BYTES,
    "tokenizer.json": MAX_TOKENIZER_BYTES,
    "tokenizer_config.json": LARGEST_TOKENIZER_CONFIG,
    "chat_template.jinja": MAX_JSON_BYTES,
}
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}", re.ASCII)
TIMEOUT = 10.0  # seconds until the hub counts as out of reach
SPARE_DISK = 10**9  # bytes that a download leaves free


def is_hub_name(name: str) -> bool:
    """Whether a name has the form org/name."""
    return HUB_NAME.fullmatch(name) is not None and ".." not in name


@dataclass(frozen=True, slots=True)
class OnHub:
    """A model on the hub by its name, "org/name", whatever lies under that name on this machine.

    Raises:
        CheckpointError: it is no such name.
    """

    name: str

    def __post_init__(self) -> None:
        if not is_hub_name(self.name):
            raise CheckpointError(f"{self.name!r} is no name of a model on the hub: such names are org/name")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Remote:
    """A model on the hub whose small files are here.

    Args:
        folder: of this commit in the cache; its name is the commit.
        weights: the files with its weights.
        sizes: file -> bytes, as the hub says; None where the hub was out of reach and the cache has to do.
        missing: bytes that are still to be downloaded.
        token: None to use the token of whoever is logged in here, False to ask as a stranger.
    """

    name: str
    folder: Path
    weights: tuple[str, ...]
    sizes: dict[str, int] | None
    missing: int
    token: bool | None = None


def look(name: str, revision: str | None = None, token: bool | None = None) -> Remote:
    """What the hub has under a name. Of its files only config.json, tokenizer.json and the index are downloaded, and
    these only if they are no larger than such files are.

    Args:
        name: "org/name".
        revision: a branch, a tag or a commit; None means the latest.
        token: see Remote.

    Raises:
        CheckpointError: why the hub did not give it.
    """
    sizes = None
    try:
        sizes, commit = _listing(name, revision, token)
    except UnreachableError as error:
        if not (folder := cached(name, revision)):
            raise error
    else:
        folder = _small_files(name, revision, commit, sizes, token)
    with suppress(OSError):  # a cache that cannot be written to
        os.utime(_repository(folder))  # for make_room
    places = shards(folder)
    weights = tuple(sorted(set(places.values()))) if places else (SINGLE,)
    missing = 0
    if sizes is not None:
        if lacking := [file for file in weights if file not in sizes]:
            why = "weights are read from safetensors files alone, never from pickles"
            raise CheckpointError(f"{name} on the hub has no {lacking[0]}; {why}")
        missing = sum(sizes[file] for file in weights if not (folder / file).is_file())
    return Remote(name, folder, weights, sizes, missing, token)


def fetch(remote: Remote, tell: Tell | None = None, largest: int | None = None) -> Path:
    """The folder with the files of a model on the hub, its weights downloaded unless they are there already.

    Args:
        remote: what look found.
        tell: is told how many bytes are there; what it raises stops the download.
        largest: bytes that may be downloaded at most.

    Raises:
        CheckpointError: too large for `largest` or for the disk, or the hub did not give it.
    """
    if lacking := [file for file in remote.weights if not (remote.folder / file).is_file()]:
        if remote.sizes is None:
            raise UnreachableError(remote.name)
        _check_room(remote, largest)
        done = 0
        for file in lacking:
            more = _told(file, remote.sizes[file], done, remote.missing, tell)
            more(0)
            _download(remote.name, file, remote.folder.name, more, remote.token)
            done += remote.sizes[file]
    return remote.folder


def make_room(needed: int, limit: int, loaded: Collection[str] = (), besides: str = "") -> None:
    """Remove downloaded models from the hub's cache until `needed` more bytes fit: those looked at longest ago first,
    and those in memory last, which need their files no more but would be downloaded again.

    Args:
        limit: bytes that all downloads together may have.
        loaded: names of models in memory.
        besides: the name of one that stays.
    """
    from huggingface_hub import constants

    root = Path(constants.HF_HUB_CACHE)
    names = {folder: folder.name.removeprefix("models--").replace("--", "/") for folder in root.glob("models--*")}
    sizes = {folder: _size(folder) for folder in names}
    order = sorted(names, key=lambda folder: (names[folder] in loaded, folder.stat().st_mtime))
    for folder in (folder for folder in order if names[folder] != besides):
        fits = sum(sizes.values()) + needed <= limit
        if fits and needed + SPARE_DISK <= shutil.disk_usage(root).free:
            return
        shutil.rmtree(folder, ignore_errors=True)
        sizes.pop(folder)


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, those of downloads that were stopped too; a link has none."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _repository(folder: Path) -> Path:
    """The folder in the cache of all that belongs to a model, of which `folder` is a commit."""
    return folder.parent.parent


def _told(file: str, expected: int, before: int, total: int, tell: Tell | None) -> Callable[[int], None]:
    """What to call with the bytes of a file that have arrived. It refuses more than the hub said there are."""

    def more(arrived: int) -> None:
        if arrived > expected:
            raise CheckpointError(f"the hub sends more of {file} than the {size(expected)} it said")
        if tell is not None:
            tell(Progress("download", before + arrived, total))

    return more


def _check_room(remote: Remote, largest: int | None) -> None:
    if largest is not None and remote.missing > largest:
        raise CheckpointError(
            f"{remote.name} would be a download of {size(remote.missing)}, and at most {size(largest)} are allowed here"
        )
    free = shutil.disk_usage(remote.folder).free
    if remote.missing + SPARE_DISK > free:
        raise CheckpointError(
            f"{remote.name} would be a download of {size(remote.missing)}, and the disk has {size(free)} left"
        )


class UnreachableError(CheckpointError):
    """The hub cannot be reached, and the model is not in the cache."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Hugging Face hub cannot be reached from here, and {name} is not in the cache; go online once, or "
            "give a folder"
        )


def _listing(name: str, revision: str | None, token: bool | None) -> tuple[dict[str, int], str]:
    """File -> bytes of those files that count, and the commit."""
    from huggingface_hub import HfApi  # here, because it takes a while to import

    with _in_words(name, revision):
        found = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=TIMEOUT, token=token)
    sizes = {f.rfilename: f.size for f in found.siblings or [] if f.size is not None}
    if not isinstance(found.sha, str) or re.fullmatch("[0-9a-f]{40}", found.sha) is None:
        raise CheckpointError(f"the hub does not say which commit of {name} it has")
    return sizes, found.sha


def _small_files(name: str, revision: str | None, commit: str, sizes: dict[str, int], token: bool | None) -> Path:
    """The folder of that commit in the cache, with the small files in it."""
    if "config.json" not in sizes:
        raise CheckpointError(f"{name} on the hub has no config.json, which says what model it is")
    for file, largest in SMALL.items():
        if sizes.get(file, 0) > largest:
            raise CheckpointError(f"{file} of {name} has {size(sizes[file])}, more than the {size(largest)} such may")
    # By the revision's own name, so that the cache remembers which commit it was when the hub is out of reach.
    counted = {file: _told(file, sizes[file], 0, 0, None) for file in sorted(SMALL.keys() & sizes.keys())}
    folder = _download(name, "config.json", revision, counted.pop("config.json"), token).parent
    if folder.name != commit:
        raise CheckpointError(f"{name} on the hub was changed this very moment; try again")
    for file, more in counted.items():
        _download(name, file, commit, more, token)
    return folder


def cached(name: str, revision: str | None = None) -> Path | None:
    """The folder of a model that was downloaded before; None where there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name, "config.json", revision=revision, local_files_only=True)).parent
    except (LocalEntryNotFoundError, OSError, ValueError):
        return None


def _download(name: str, file: str, commit: str | None, more: Callable[[int], None], token: bool | None) -> Path:
    """One file, in the cache."""
    from huggingface_hub import hf_hub_download

    with _in_words(name, None):
        counter = _counter(more)
        path = hf_hub_download(name, file, revision=commit, tqdm_class=counter, etag_timeout=TIMEOUT, token=token)
        return Path(path)


def _counter(more: Callable[[int], None]) -> type:
    """A progress bar of the hub's library that draws nothing and tells how many bytes have arrived."""
    from tqdm import tqdm

    class Counter(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.arrived = int(kwargs.get("initial") or 0)  # of a download that goes on where it was stopped
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            self.arrived += int(n or 0)
            more(self.arrived)

    return Counter


@contextmanager
def _in_words(name: str, revision: str | None) -> Iterator[None]:
    """What the hub's library complains of, in one sentence each."""
    from huggingface_hub import errors

    where = f"{name} on the hub" if revision is None else f"{name} on the hub at {revision!r}"
    try:
        yield
    except errors.GatedRepoError as error:
        why = "is gated: accept its terms on its page, and log in with `hf auth login`"
        raise CheckpointError(f"{where} {why}") from error
    except errors.RevisionNotFoundError as error:
        raise CheckpointError(f"{where} does not exist, though the model does; give another revision") from error
    except errors.RepositoryNotFoundError as error:
        raise CheckpointError(f"{where} does not exist, or is private; mind the spelling: org/name") from error
    except errors.HFValidationError as error:
        raise CheckpointError(f"{name!r} is no name of a model on the hub: such names are org/name") from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise UnreachableError(name) from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        raise CheckpointError(f"{where} was not given: the hub answered with status {status}") from error
    except Exception as error:
        # The library passes on whatever its HTTP client raises, which it changes from version to version.
        if type(error).__module__.partition(".")[0].startswith(("httpx", "httpcore", "requests", "urllib3")):
            raise UnreachableError(name) from error
        if isinstance(error, OSError):
            # Its own text names folders of this machine; without a number it is the library's, of a file cut short.
            why = error.strerror or "what arrived is not what the hub said it would send"
            raise CheckpointError(f"{where} could not be downloaded into the cache (HF_HOME): {why}") from error
        raise
