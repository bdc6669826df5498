"""`info`: what a checkpoint is, and whether it can be read here, from its headers alone."""

from pathlib import Path

from tfcore.loading import checkpoints
from tfcore.measures.quantities import both, gigabytes
from tfcore.views.model import your_model
from tfcore.views.model.your_model import say


def described(name: str) -> str:
    """What a model is, in lines: family, how it is built, what it takes, and all its settings.

    Args:
        name: of a model that is here, a folder, a GGUF file, or a name on the hub.

    Raises:
        CheckpointError: why it cannot be read.
    """
    found = checkpoints.estimate(name)
    place = checkpoints.folder_of(name)
    settings = your_model.settings(found.config)
    width = max(map(len, settings["setting"]))
    rows = [f"  {label:{width}}  {value}" for label, value in settings.itertuples(index=False)]
    kept = str(say.kept(found.parameters, found.memory, found.halved))
    files = f"{both(_bytes(place))} in {place}." if place is not None else f"{gigabytes(found.download)} to download."
    free = "" if found.free is None else f" {gigabytes(found.free)} are free where it would go."
    can = f"It can be read here: python -m tfcore view SUBJECT.NAME --model {name}"
    return "\n".join([f"{found.family}: {say.Built(found.config)}", f"{kept}{free}", files, *rows, can])


def _bytes(place: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = [place] if place.is_file() else [one for one in place.iterdir() if one.is_file()]
    return sum(one.stat().st_size for one in files)
