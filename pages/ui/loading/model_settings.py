"""Which models visitors may load, from where, and how large: settings of whoever runs the server.

Read from the environment whenever they are asked for. Unless something is set, nothing may be loaded, because nothing
tells a server behind a proxy from one for a single person; `make run`, which is for that person, sets both.

TFCORE_MODELS          off | public (any public model of the hub) | any (also those that this machine's hub token
                       opens) | a list of names: org/name, org/name/file.gguf, ./folder
TFCORE_MODEL_FOLDER    local folders are opened below this folder alone; empty: none are
TFCORE_MODEL_GB        4; what loaded models may take altogether, the shipped ones apart
TFCORE_DOWNLOAD_GB     4; the largest download
TFCORE_MODEL_DTYPE     bfloat16: matrices of models of more than a billion parameters are kept in 16 bits, and computed
                       in float32 | float32: they are kept in that
TFCORE_REAL_MODELS     read by tfcore.loading.real_models: the folder of the four real models; empty: they are left out
TFCORE_HUB_CACHE_GB    0: downloads are never removed; else what they may take altogether: the model looked at longest
                       ago makes room for the next
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from pages.ui.loading import run_models
from pages.ui.server.settings import number

if TYPE_CHECKING:
    import torch

    from tfcore.loading.hub import OnHub

Policy = Literal["off", "public", "any", "list"]
LONGEST = 200  # characters of a name
REMEMBERED = 8  # names of one visitor's models
GIGABYTES = {"TFCORE_MODEL_GB": 4.0, "TFCORE_DOWNLOAD_GB": 4.0, "TFCORE_HUB_CACHE_GB": 0.0}
CHARACTERS = "letters, digits, spaces and . _ + - alone"  # of the name of a local file or folder
_ADDRESS = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/([^/\s?#]+/[^/\s?#]+)"
    r"(?:/?|/(?:blob|resolve)/main(/[^/\s?#]+\.gguf)(?:\?download=true)?)"
)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings, checked.

    Args:
        names: of the models in a list.
        folder: below which local folders are; None: nowhere.
        kept, download: bytes.
        cached: bytes of all downloads together; 0: they are left alone.
        whole: whether large models are kept in float32, too.
    """

    policy: Policy
    names: frozenset[str]
    folder: Path | None
    kept: int
    download: int
    cached: int
    whole: bool = False

    @property
    def dtype(self) -> "torch.dtype | None":
        """The type to ask tfcore.load for."""
        import torch  # here, because the settings need not wait for it

        return torch.float32 if self.whole else None

    @property
    def token(self) -> bool | None:
        """How to ask the hub: as whoever is logged in here (None), or as a stranger (False)."""
        return False if self.policy == "public" else None

    def refusal(self, name: str) -> str | None:
        """Why a model with this name may not be loaded here, in a sentence; None if it may."""
        if run_models.is_run(name):  # trained here
            return None
        if self.policy == "off":
            return "This server shows the models that ship with it; whoever runs it has not allowed to load others."
        if self.policy == "list" and name not in self.names:
            return "This server loads only some models besides its own: " + ", ".join(sorted(self.names)) + "."
        if name.startswith("./") and self.folder is None:
            return "This server opens no folders; whoever runs it has set none (TFCORE_MODEL_FOLDER)."
        return None

    def place(self, name: str) -> "OnHub | Path":
        """Where tfcore finds it: on the hub, and never on the disk; or in a folder below the one allowed, or a GGUF
        file there.

        Raises:
            ValueError: there is no such folder there, or a file in it is a link that leads out of the folder.
        """
        from tfcore.loading.hub import OnHub, files_in

        if not name.startswith("./"):
            return OnHub(name)
        folder = None if self.folder is None else _resolved(self.folder / name[2:])
        root = None if self.folder is None else _resolved(self.folder)
        # A link may lead out of it.
        kind = "file" if name.endswith(".gguf") else "folder"
        if root is None or folder is None or not folder.is_relative_to(root) or not folder.exists():
            raise ValueError(
                f"There is no {kind} {name} in the folder for models; links that lead out of it are not followed"
            )
        if kind == "file" and folder.is_file():
            return folder
        if not folder.is_dir():
            raise ValueError(f"{name} is neither a folder nor a GGUF file")
        for file in files_in(folder):
            there = _resolved(file)
            if there is None or not there.is_relative_to(folder):
                raise ValueError(
                    f"{file.relative_to(folder)} is a link that leads out of the folder; put the file itself there"
                )
        return folder


def read() -> ModelSettings:
    """The settings of now.

    Raises:
        ValueError: a setting that makes no sense, in a sentence that names it.
    """
    words = os.environ.get("TFCORE_MODELS", "off").replace(",", " ").split() or ["off"]
    policy: Policy = "list"
    names: frozenset[str] = frozenset()
    if words in (["off"], ["public"], ["any"]):
        policy = words[0]  # type: ignore[assignment]
    elif wrong := [word for word in words if named(word) is None]:
        raise ValueError(f"TFCORE_MODELS names {wrong[0]!r}: use off, public, any, or names such as org/name, ./folder")
    else:
        names = frozenset(named(word) or "" for word in words)
    folder = os.environ.get("TFCORE_MODEL_FOLDER", "")
    kept, download, cached = (_bytes(setting, default) for setting, default in GIGABYTES.items())
    if (dtype := os.environ.get("TFCORE_MODEL_DTYPE", "") or "bfloat16") not in ("bfloat16", "float32"):
        raise ValueError(f"TFCORE_MODEL_DTYPE={dtype!r} is neither bfloat16 nor float32")
    place = Path(folder).expanduser() if folder else None
    return ModelSettings(policy, names, place, kept, download, cached, dtype == "float32")


def _resolved(path: Path) -> Path | None:
    """Where links lead to; None where they go round in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def _bytes(setting: str, default: float) -> int:
    return int(number(setting, default, 0, 1_000_000, "number of gigabytes") * 1e9)


def named(said: object) -> str | None:
    """The name of a model that is not shipped, in its one form, of what a person typed or a link says; None if it is
    no such name.

    "org/name", "org/name/file.gguf" and the addresses of their pages on the hub are models there; "./folder" is one in
    the folder for models; "run:ID@STEP" was trained in the lab.
    """
    from tfcore.loading.hub import (
        is_hub_name,  # here, because with it comes torch, which the settings need not wait for
    )

    if not isinstance(said, str) or len(said) > LONGEST:
        return None
    said = said.strip()
    if run_models.is_run(said):
        return said
    if address := _ADDRESS.fullmatch(said):
        said = address[1] + (address[2] or "")
    if said.startswith("./"):
        parts = PurePosixPath(said[2:]).parts
        plain = parts and all(re.fullmatch(r"[\w .+-]+", part) and part not in (".", "..") for part in parts)
        return "./" + "/".join(parts) if plain and not said[2:].startswith("/") else None
    return said if is_hub_name(said) else None


def folders(settings: ModelSettings) -> list[str]:
    """Names of the folders with a model and of the GGUF files, directly in the folder for models, in order; the real
    models, which have names of their own, left out."""
    known = [name for name in map(named, (f"./{place.name}" for place in _places(settings))) if name is not None]
    return [name for name in known if settings.refusal(name) is None]


def misnamed(settings: ModelSettings) -> list[str]:
    """The same that cannot be opened, because a link could not hold their names."""
    if settings.policy not in ("public", "any"):
        return []
    return [place.name for place in _places(settings) if named(f"./{place.name}") is None]


def _places(settings: ModelSettings) -> list[Path]:
    """Folders with a model and GGUF files in the folder for models, by name."""
    if settings.folder is None or not settings.folder.is_dir():
        return []
    from tfcore.loading.gguf_models import is_later_part
    from tfcore.loading.hub import ADAPTER
    from tfcore.loading.real_models import installed

    root, real = _resolved(settings.folder), {folder.resolve() for folder in installed().values()}
    forms = ("*.gguf", "*/*.gguf", "*/config.json", f"*/{ADAPTER}")
    files = [path for form in forms for path in settings.folder.glob(form)]
    places = {path if path.parent == settings.folder else path.parent: _resolved(path) for path in files}
    return sorted(
        place
        for place, there in places.items()
        if root is not None and there is not None and there.is_relative_to(root) and place.resolve() not in real
        if not is_later_part(place)
    )
