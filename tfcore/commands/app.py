"""`app`: the app on this machine, from a clone or from what the wheel brings along beside tfcore.

It runs as a program of its own: torch reads some of the settings of app.py when it is first imported.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

SYSTEM = os.name
PORT = 8501
NEEDED = ("streamlit", "uvicorn")
FOLDER = "tfcore_app"  # of the wheel; see setup.py
# As `make run` sets them: for one person on their own machine, who may load any model.
OF_ONE_PERSON = {"TFCORE_MODELS": "any", "TFCORE_MODEL_GB": "16", "TFCORE_DOWNLOAD_GB": "16"}
MODELS = "TFCORE_MODEL_FOLDER"


def serve(port: int, host: str) -> int:
    """Serve until somebody stops it; the exit status of the server.

    Args:
        port: 0 for any that is free.
        host: the address to listen on; empty for this machine alone, whose person may load any model.

    Raises:
        ValueError: there is no app here, or it lacks what it needs.
    """
    command = [sys.executable, str(app_folder() / "app.py")]
    environment = settings(os.environ, port, host)
    if SYSTEM != "nt":  # where a program cannot take the place of another
        os.execve(sys.executable, command, environment)
    return subprocess.call(command, env=environment)


def app_folder() -> Path:
    """The folder with app.py and its pages.

    Raises:
        ValueError: there is none, or a package is missing.
    """
    here = Path(__file__).resolve().parents[2]
    found = [root for root in (here / FOLDER, here) if (root / "app.py").is_file() and (root / "pages").is_dir()]
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing or not found:
        what = ", ".join(missing) or "its pages"
        raise ValueError(
            f"the app needs {what}, which this installation lacks: pip install .[app] in a clone brings all"
        )
    return found[0]


def settings(environment: Mapping[str, str], port: int, host: str) -> dict[str, str]:
    """The environment of the server: what is set already stays as it is; a folder of models is below the one that the
    command is called in."""
    if not 0 <= port <= 65_535:
        raise ValueError(f"--port {port} is no port; take one from 0, which is any that is free, to 65535")
    own = {} if host else {**OF_ONE_PERSON, "TFCORE_THREADS": str(os.cpu_count() or 1), MODELS: "models"}
    said = {**own, **environment, "PORT": str(port)} | ({"HOST": host} if host else {})
    return said | ({MODELS: str(Path(said[MODELS]).absolute())} if said.get(MODELS) else {})
