"""What deploy/ holds fits the app and itself; the files that need no engine to be tried are tried."""

import json
import os
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from streamlit.web.server.app_discovery import discover_asgi_app

import deploy.replicas
from deploy.replicas import Replicas, configuration
from tests.e2e.serving import get, serve
from tests.nightly import nightly

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
NAME = re.compile(r"\bTFCORE_[A-Z_]+\b")
NOT_PASSED_ON = {"TFCORE_SCHEDULER", "TFCORE_MODEL_FOLDER"}  # by compose, which says why
CACHE_SIZE = "STREAMLIT_SERVER_MAX_CACHE_DATA_SIZE"  # the one setting of Streamlit's own that is passed on
SAID = ((DEPLOY / "README.md").read_text("utf-8"), deploy.replicas.__doc__ or "")
COMMANDS = [one.strip() for text in SAID for one in re.findall(r"deploy/replicas\.py ([^#`>\n]+)", text)]


class Loader(yaml.SafeLoader):
    """YAML with the tag by which one compose file replaces what another says."""


Loader.add_constructor("!override", lambda loader, node: loader.construct_sequence(node))


def compose(name: str) -> dict:
    return yaml.load((DEPLOY / name).read_text("utf-8"), Loader)


def instructions(word: str) -> list[str]:
    return re.findall(rf"^{word} (.+)$", DOCKERFILE, re.MULTILINE)


# ---- the container ----


def test_the_container_is_slim_has_torch_for_the_cpu_and_runs_as_nobody_in_particular():
    assert instructions("FROM") == ["python:3.11-slim"]
    assert instructions("ARG") == ["TORCH_INDEX=https://download.pytorch.org/whl/cpu", "REAL=yes"]
    assert instructions("USER") == ["1000"]
    assert re.search(r"^torch==\d", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    assert "/healthz" in DOCKERFILE.partition("HEALTHCHECK")[2]


@nightly
def test_what_the_container_is_given_is_enough_and_nothing_is_written_there(tmp_path):
    """The app starts from the files that COPY names, alone; the rest of the repository is far away."""
    for line in instructions("COPY"):
        source, target = line.split()
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, tmp_path / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, tmp_path)
    files = sorted(tmp_path.rglob("*"))
    with serve(sys.executable, str(tmp_path / "app.py"), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1") as address:
        assert get(address, "/heads")[0].status == 200
    assert sorted(tmp_path.rglob("*")) == files


def test_the_builder_gets_what_the_container_copies():
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").split() if line.startswith("!")}
    assert {line.split()[0] for line in instructions("COPY")} == let_through


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_health_check_says_what_the_server_says(status, healthy):
    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    command = json.loads(DOCKERFILE.partition("HEALTHCHECK")[2].partition("CMD ")[2].splitlines()[0])
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        environment = os.environ | {"PORT": str(server.server_port)}
        result = subprocess.run([sys.executable, *command[1:]], env=environment, capture_output=True, text=True)
        server.shutdown()
    assert (result.returncode == 0) == healthy, result.stderr
    assert healthy or "HTTP Error 503" in result.stderr


# ---- compose ----


def test_compose_puts_every_replica_behind_the_proxy():
    services = compose("compose.yaml")["services"]
    proxy = services.pop("proxy")
    assert len(services) >= 2
    assert set(proxy["depends_on"]) == set(services)
    assert re.findall(r"server (\w+):8501 resolve", proxy["environment"]["REPLICAS"]) == list(services)
    for service in services.values():
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    for volume in [*proxy["volumes"], *compose("compose.tls.yaml")["services"]["proxy"]["volumes"]]:
        if volume.startswith("./"):
            assert (DEPLOY / volume.split(":")[0]).is_file()


def test_the_proxy_is_given_every_word_it_asks_for():
    wanted = set(re.findall(r"\$\{(\w+)\}", (DEPLOY / "nginx.conf").read_text("utf-8")))
    assert wanted == {"LISTEN", "TLS", "REPLICAS"}
    assert wanted <= set(compose("compose.yaml")["services"]["proxy"]["environment"])
    assert "${" not in configuration("8080", [8501])


# ---- settings ----


def test_every_setting_is_in_the_table_and_every_one_there_is_read():
    code = "".join(path.read_text("utf-8") for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")])
    table = re.findall(r"^\| `(TFCORE_\w+)` \|", (ROOT / "docs" / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert len(table) == len(set(table))
    assert set(table) == set(NAME.findall(code))
    services = compose("compose.yaml")["services"]
    passed_on = [set(services[name]["environment"]) for name in services if name != "proxy"]
    assert all(names - {CACHE_SIZE} == set(table) - NOT_PASSED_ON for names in passed_on)
    assert all(CACHE_SIZE in names for names in passed_on)
    assert set(NAME.findall((DEPLOY / "compose.yaml").read_text("utf-8"))) == set(table)


# ---- a Space, a unit of systemd, the script ----


def test_a_space_finds_its_port():
    _, matter, text = (DEPLOY / "spaces" / "README.md").read_text("utf-8").split("---\n")
    said = yaml.safe_load(matter)
    assert said["sdk"] == "docker"
    assert f"PORT={said['app_port']} " in DOCKERFILE
    assert len(said["short_description"]) <= 60  # more is refused there
    assert text.strip()


def test_systemd_understands_the_unit(tmp_path):
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed here")
    text = (DEPLOY / "transformer-explorer@.service").read_text("utf-8")
    there = text.replace("/opt/transformer-explorer/.venv/bin/python", sys.executable)
    unit = tmp_path / "transformer-explorer@8501.service"
    unit.write_text(there.replace("/opt/transformer-explorer", str(ROOT)), "utf-8")
    result = subprocess.run([verify, "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert [line for line in result.stderr.splitlines() if "transformer-explorer" in line] == []


def test_no_two_instances_of_systemd_share_a_directory():
    unit = (DEPLOY / "transformer-explorer@.service").read_text("utf-8")
    (folder,) = re.findall(r"^CacheDirectory=(\S+)$", unit, re.MULTILINE)
    assert "%i" in folder
    assert f"HF_HOME=/var/cache/{folder}\n" in unit


def test_without_nginx_the_script_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(FileNotFoundError, match="apt-get install nginx-light"):
        Replicas([8501]).serve("", "", tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_said_of_the_script_is_understood(command):
    call = [sys.executable, DEPLOY / "replicas.py", *command.split(), "--print"]
    assert "proxy_pass" in subprocess.run(call, capture_output=True, text=True, check=True).stdout


def test_the_script_prints_a_configuration_for_replicas_of_systemd():
    command = [sys.executable, DEPLOY / "replicas.py", "--replicas", "2", "--listen", "80", "--print"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "listen 80;" in said
    assert re.findall(r"server 127\.0\.0\.1:(\d+) ", said) == ["8501", "8502"]


# ---- setting up ----


@pytest.fixture
def make(tmp_path):
    """`make setup` in a folder of its own: what came of it, and what its Python was asked for."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed here")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()

    def program(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)
        return path

    def run(*settings: str, gpu: bool = False, system: str = "Linux", python: str | None = None):
        asked = tmp_path / "asked"
        program(tools / "uname", f"echo {system}")
        if gpu:
            program(tools / "nvidia-smi", "")
        if python is None:
            program(tmp_path / ".venv" / "bin" / "python", f'echo "$@" >> {asked}')
        else:
            settings = (*settings, f"PYTHON={program(tools / 'python', python)}")
        plain = [f for f in os.environ["PATH"].split(os.pathsep) if not Path(f, "nvidia-smi").exists()]
        path = os.pathsep.join([str(tools), *plain])
        call = ["make", "setup", *settings]
        # Below `make test`, this is no part of that make.
        inherited = {
            name: said for name, said in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        }
        done = subprocess.run(call, cwd=tmp_path, env={**inherited, "PATH": path}, capture_output=True, text=True)
        return done, asked.read_text("utf-8").splitlines() if asked.exists() else []

    return run


TORCH = re.search(r"^torch==\S+", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)[0]


@pytest.mark.parametrize(
    ("machine", "index"),
    [
        ({}, "https://download.pytorch.org/whl/cpu"),
        ({"gpu": True}, ""),
        ({"system": "Darwin"}, ""),
        ({"settings": "TORCH_INDEX="}, ""),
        ({"gpu": True, "settings": "TORCH_INDEX=https://example.org/cu"}, "https://example.org/cu"),
    ],
)
def test_torch_is_the_cpu_build_where_there_is_no_gpu(make, machine, index):
    machine = dict(machine)
    done, asked = make(*filter(None, [machine.pop("settings", "")]), **machine)
    assert done.returncode == 0, done.stderr
    installed = [line for line in asked if "pip install" in line]
    assert installed[-1].endswith("--requirement requirements.txt")
    first = [line for line in installed if TORCH in line]
    assert len(first) == bool(index)
    assert all(f"--no-deps --retries 0 --timeout 10 --extra-index-url {index} {TORCH}" in line for line in first)


NO_VENV = f"""exec {sys.executable} -c 'import sys; sys.modules["ensurepip"] = None; exec(sys.argv[2])' "$@" """
OLD = f"""exec {sys.executable} -c 'import sys; sys.version_info = (3, 10); exec(sys.argv[2])' "$@" """


@pytest.mark.parametrize("python", [NO_VENV, OLD, "exit 127"])
def test_a_python_that_will_not_do_is_one_sentence(make, python):
    done, asked = make(python=python)
    assert done.returncode != 0
    said, *others = done.stderr.strip().splitlines()
    assert "apt-get install python3-venv" in said
    assert all(line.startswith("make: ***") for line in others), "nothing else"
    assert not asked


def test_the_cloud_gets_torch_for_the_cpu_and_all_else_as_pinned():
    lines = (DEPLOY / "cloud" / "requirements.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "--find-links https://download.pytorch.org/whl/cpu/torch/",
        "-r ../../requirements.txt",
        f"{TORCH}+cpu",
    ]


def test_the_cloud_starts_the_very_same_app():
    """A link: Streamlit finds the app in it, and app.py finds the repository from there."""
    assert (DEPLOY / "cloud" / "app.py").resolve() == ROOT / "app.py"
    assert discover_asgi_app(DEPLOY / "cloud" / "app.py").import_string == "app:app"
    assert "ROOT = Path(__file__).resolve().parent\n" in (ROOT / "app.py").read_text("utf-8")
