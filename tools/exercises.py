"""The notebooks of docs/exercises, from the exercises of tfcore; `python -m tools.exercises` writes them anew."""

from pathlib import Path

from tfcore.exercises import IN_ORDER
from tfcore.exercises.notebook import file_name, notebook

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "exercises"


def files() -> dict[str, str]:
    """Name of a file -> its content."""
    return {file_name(i, one): notebook(i, one) for i, one in enumerate(IN_ORDER, 1)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.ipynb"):
        old.unlink()
    for name, content in files().items():
        (FOLDER / name).write_text(content, "utf-8")
