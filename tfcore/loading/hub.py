"""Where a model is: shipped with tfcore, in a folder, or on the Hugging Face hub."""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcore.files import MAX_JSON_BYTES, MAX_TOKENIZER_BYTES, CheckpointError, size
from tfcore.loading import disk
from tfcore.loading.picture_settings import PROCESSOR
from tfcore.loading.sentence_vectors import MODULES, POOLING
from tfcore.loading.weights import INDEX, MAX_INDEX_BYTES, SINGLE, LoadProgress, Tell, shards

LARGEST_TOKENIZER_CONFIG = 4_000_000  # bytes; Gemma 3's has 1.2 million
LARGEST_VOCABULARY = 10_000_000
SMALL = {
    "config.json": MAX_JSON_BYTES,
    INDEX: MAX_INDEX_BYTES,
    "tokenizer.json": MAX_TOKENIZER_BYTES,
    "generation_config.json": MAX_JSON_BYTES,
    "tokenizer_config.json": LARGEST_TOKENIZER_CONFIG,
    "special_tokens_map.json": LARGEST_TOKENIZER_CONFIG,
    "chat_template.jinja": MAX_JSON_BYTES,
    **dict.fromkeys((MODULES, POOLING, PROCESSOR), MAX_JSON_BYTES),
}
# A tokenizer's files where there is no tokenizer.json; the largest in use are Gemma 3's (4.7 MB) and LaBSE's (5.2 MB).
TOKENIZER_FILES = {
    **dict.fromkeys(("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model"), LARGEST_VOCABULARY),
    "source.spm": LARGEST_VOCABULARY,
    **dict.fromkeys(("vocab.json", "merges.txt", "vocab.txt"), LARGEST_VOCABULARY),
    "added_tokens.json": MAX_JSON_BYTES,
}
ADAPTER = "adapter_config.json"
FILES = (
    *SMALL,
    ADAPTER,
    *TOKENIZER_FILES,
    "*.safetensors",
    "*.gguf",
)  # all that is opened in a model's folder, and nothing else
# org/name, and the name of a GGUF file after it
HUB_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96})(?:/(\w[\w.-]{0,150}\.gguf))?", re.ASCII)
FORMS = "org/name, or org/name/file.gguf"
MOST_NAMED = 5  # files that a message names
TIMEOUT = 10.0  # seconds until the hub counts as out of reach
SPARE_DISK = 10**9  # bytes that a download leaves free


def files_in(folder: Path) -> list[Path]:
    """The files in a model's folder that may be opened, links that lead nowhere included."""
    there = [*folder.iterdir(), folder / POOLING]
    return sorted(file for file in there if any(map(file.match, FILES)) and os.path.lexists(file))


def is_hub_name(name: str) -> bool:
    """Whether a name has the form org/name or org/name/file.gguf."""
    return HUB_NAME.fullmatch(name) is not None and ".." not in name


def parted(name: str) -> tuple[str, str | None]:
    """The repository, org/name, and the GGUF file in it, if the name is that of one."""
    match = HUB_NAME.fullmatch(name)
    return (match[1], match[2]) if match else (name, None)


@dataclass(frozen=True, slots=True)
class OnHub:
    """A model on the hub by its name, "org/name" or "org/name/file.gguf", whatever lies under that name here.

    Raises:
        CheckpointError: it is no such name.
    """

    name: str

    def __post_init__(self) -> None:
        if not is_hub_name(self.name):
            raise CheckpointError(f"{self.name!r} is no name of a model on the hub: such names are {FORMS}")

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

    @property
    def place(self) -> Path:
        """The path of the model, now or once it is fetched: the folder, or the GGUF file in it."""
        file = parted(self.name)[1]
        return self.folder / file if file else self.folder


def look(name: str, revision: str | None = None, token: bool | None = None) -> Remote:
    """Look up a name on the hub. Of its files only settings, the tokenizer's and the index are downloaded, and
    these only if they are no larger than such files are; nothing is where the name is that of a GGUF file.

    Args:
        name: "org/name", or "org/name/file.gguf".
        revision: a branch, a tag or a commit; None means the latest.
        token: see Remote.

    Raises:
        CheckpointError: why the hub did not give it.
    """
    sizes = None
    repository, file = parted(name)
    try:
        sizes, commit = _listing(repository, revision, token)
    except UnreachableError as error:
        if not (place := cached(name, revision)):
            raise UnreachableError(name) from error
        folder = place.parent if file else place
    else:
        if file and file not in sizes:
            raise CheckpointError(f"{repository} on the hub has no {file}; {_named_ggufs(sizes)}")
        if file and not sizes[file]:
            raise CheckpointError(f"{name} on the hub is empty")
        made = _commit_folder if file else _small_files
        folder = made(repository, revision, commit, sizes, token)
    with suppress(OSError):  # a cache that cannot be written to
        os.utime(_repository(folder))  # for make_room
    places = None if file else shards(folder)
    weights = tuple(sorted(set(places.values()))) if places else (file or SINGLE,)
    missing = 0
    if sizes is not None:
        if lacking := [file for file in weights if file not in sizes]:
            why = "weights are read from safetensors files alone, never from pickles"
            raise CheckpointError(f"{name} on the hub has no {lacking[0]}; {why}")
        missing = sum(sizes[file] for file in weights if not (folder / file).is_file())
    return Remote(name, folder, weights, sizes, missing, token)


def fetch(remote: Remote, tell: Tell | None = None, largest: int | None = None) -> Path:
    """The folder with the files of a model on the hub, or its GGUF file, downloaded unless it is there already.

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
            _download(remote.name, file, remote.folder.name, more, remote.token, remote.sizes[file])
            done += remote.sizes[file]
    return remote.place


def part(remote: Remote, start: int, n: int) -> bytes:
    """The `n` bytes of a GGUF file on the hub from `start` on; they are not kept.

    Raises:
        CheckpointError: the hub did not give them, or says now that the file has another size.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status  # type: ignore[attr-defined]

    (repository, _), (file,), got = parted(remote.name), remote.weights, bytearray()
    if remote.sizes is None:
        raise UnreachableError(remote.name)
    range_ = {"Range": f"bytes={start}-{start + n - 1}", "Accept-Encoding": "identity"}
    with _in_words(remote.name, None):
        url = hf_hub_url(repository, file, revision=remote.folder.name)
        headers = build_hf_headers(token=remote.token, headers=range_)
        with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
            hf_raise_for_status(response)
            expected = f"bytes {start}-{start + n - 1}/{remote.sizes[file]}"
            if response.status_code != 206 or response.headers.get("Content-Range") != expected:
                raise CheckpointError(f"the hub does not send the part of {file} that it was asked for")
            for chunk in response.iter_raw():
                got += chunk
                if len(got) > n:
                    break
    if len(got) != n:
        raise CheckpointError(f"the hub does not send the part of {file} that it was asked for")
    return bytes(got)


def make_room(needed: int, limit: int, loaded: Collection[str] = (), besides: str = "") -> None:
    """Remove downloaded models from the hub's cache until `needed` more bytes fit: those looked at longest ago first,
    and those in memory last, which need their files no more but would be downloaded again.

    Args:
        limit: bytes that all downloads together may have.
        loaded: names of models in memory.
        besides: the name of one that stays. Where that is a GGUF file that needs bytes, it is not there yet, and the
            other files of its repository may go.
    """
    from huggingface_hub import constants

    root = Path(constants.HF_HUB_CACHE)
    named, file = parted(besides)
    kept = "" if file and needed else named
    in_use = {parted(name)[0] for name in loaded}
    names = {folder: folder.name.removeprefix("models--").replace("--", "/") for folder in root.glob("models--*")}
    sizes = {folder: _size(folder) for folder in names}
    order = sorted(names, key=lambda folder: (names[folder] in in_use, folder.stat().st_mtime))
    for folder in (folder for folder in order if names[folder] != kept):
        fits = sum(sizes.values()) + needed <= limit
        if fits and needed + SPARE_DISK <= shutil.disk_usage(root).free:
            return
        # of the named one it is still to be known which commit its revisions are
        for gone in (folder / "blobs", folder / "snapshots") if names[folder] == named else (folder,):
            shutil.rmtree(gone, ignore_errors=True)
        sizes.pop(folder)


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, those of downloads that were stopped too; a link has none."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _repository(folder: Path) -> Path:
    """The folder in the cache of all that belongs to a model, of which `folder` is a commit."""
    return folder.parent.parent


def _told(file: str, expected: int, before: int, total: int, tell: Tell | None) -> Callable[[int], None]:
    """The function to call with the bytes of a file that have arrived. It refuses more than the hub said there are."""

    def more(arrived: int) -> None:
        if arrived > expected:
            raise CheckpointError(f"the hub sends more of {file} than the {size(expected)} it said")
        if tell is not None:
            tell(LoadProgress("download", before + arrived, total))

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
        info = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=TIMEOUT, token=token)
    sizes = {f.rfilename: f.size for f in info.siblings or [] if isinstance(f.size, int) and f.size >= 0}
    if not isinstance(info.sha, str) or re.fullmatch("[0-9a-f]{40}", info.sha) is None:
        raise CheckpointError(f"the hub does not say which commit of {name} it has")
    return sizes, info.sha


def _small_files(name: str, revision: str | None, commit: str, sizes: dict[str, int], token: bool | None) -> Path:
    """The folder of that commit in the cache, with the small files in it."""
    if "config.json" not in sizes:
        why = _named_ggufs(sizes, f"{name}/") if any(map(_is_gguf, sizes)) else "which says what model it is"
        if ADAPTER in sizes:
            why = "as it is an adapter: those are read from a folder, with the folder of their base beside it"
        raise CheckpointError(f"{name} on the hub has no config.json, {why}")
    small = SMALL if "tokenizer.json" in sizes else SMALL | TOKENIZER_FILES
    for file, largest in small.items():
        if sizes.get(file, 0) > largest:
            raise CheckpointError(f"{file} of {name} has {size(sizes[file])}, more than the {size(largest)} such may")
    # By the revision's own name, so that the cache remembers which commit it was when the hub is out of reach.
    counted = {file: _told(file, sizes[file], 0, 0, None) for file in sorted(small.keys() & sizes.keys())}
    first = "config.json"
    folder = _download(name, first, revision, counted.pop(first), token, sizes[first]).parent
    if folder.name != commit:
        raise CheckpointError(f"{name} on the hub was changed this very moment; try again")
    for file, more in counted.items():
        _download(name, file, commit, more, token, sizes[file])
    return folder


def _commit_folder(name: str, revision: str | None, commit: str, *_: Any) -> Path:
    """The folder of that commit in the cache, which remembers that it was this revision."""
    from huggingface_hub import constants

    repository = Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    folder, ref = repository / "snapshots" / commit, repository / "refs" / (revision or constants.DEFAULT_REVISION)
    with _in_words(name, revision):
        folder.mkdir(parents=True, exist_ok=True)
        if revision != commit and not (ref.is_file() and ref.read_text("ascii") == commit):
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(commit, "ascii")
    return folder


def _is_gguf(file: str) -> bool:
    return is_hub_name(f"a/b/{file}")


def _named_ggufs(files: Collection[str], before: str = "") -> str:
    """Which GGUF files are there, the first few of them."""
    ggufs = sorted(filter(_is_gguf, files))
    if not ggufs:
        return "it has no GGUF file"
    more = f" and {len(ggufs) - MOST_NAMED} more" if len(ggufs) > MOST_NAMED else ""
    return f"its GGUF files are {', '.join(before + file for file in ggufs[:MOST_NAMED])}{more}"


def cached(name: str, revision: str | None = None) -> Path | None:
    """The folder of a model that was downloaded before, or its GGUF file; None where there is none."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository, file = parted(name)
    try:
        path = Path(hf_hub_download(repository, file or "config.json", revision=revision, local_files_only=True))
        return path if file else path.parent
    except (LocalEntryNotFoundError, OSError, ValueError):
        return None


def _download(
    name: str, file: str, commit: str | None, more: Callable[[int], None], token: bool | None, needed: int
) -> Path:
    """One file of `needed` bytes, in the cache."""
    from huggingface_hub import hf_hub_download

    with _in_words(name, None, needed):
        counter = _counter(more)
        repository = parted(name)[0]
        path = hf_hub_download(repository, file, revision=commit, tqdm_class=counter, etag_timeout=TIMEOUT, token=token)
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
def _in_words(name: str, revision: str | None, needed: int = 0) -> Iterator[None]:
    """Complaints of the hub's library, in one sentence each; `needed` are the bytes that are to be written."""
    from huggingface_hub import constants, errors

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
        raise CheckpointError(f"{name!r} is no name of a model on the hub: such names are {FORMS}") from error
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
            if disk.is_full(error):
                why = disk.sentence("it", needed, Path(constants.HF_HUB_CACHE))
            raise CheckpointError(f"{where} could not be downloaded into the cache (HF_HOME): {why}") from error
        raise
