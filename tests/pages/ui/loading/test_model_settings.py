"""What visitors may load: read from the environment, off unless it is said, names checked, folders kept in theirs."""

import os

import pytest
import torch

from pages.ui import cache
from pages.ui.loading import model_settings as settings
from pages.ui.loading import own_models
from tests import own_folders
from tfcore import CheckpointError, load
from tfcore.loading.hub import FILES, OnHub


@pytest.fixture
def say(monkeypatch):
    def said(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"TFCORE_{name}", value)
        return settings.read()

    for name in ("MODELS", "MODEL_FOLDER", "MODEL_GB", "MODEL_DTYPE", "DOWNLOAD_GB", "HUB_CACHE_GB"):
        monkeypatch.delenv(f"TFCORE_{name}", raising=False)
    return said


def test_nothing_may_be_loaded_until_it_is_said(say):
    found = say()
    assert (found.policy, found.folder) == ("off", None)
    for name in ("org/name", "./folder"):
        assert "has not allowed" in found.refusal(name)


def test_a_list_is_a_list(say):
    found = say(MODELS="openai-community/gpt2, ./mine")
    assert found.refusal("openai-community/gpt2") is None
    assert found.refusal("org/other").endswith(": ./mine, openai-community/gpt2.")
    assert "opens no folders" in found.refusal("./mine")
    assert say(MODEL_FOLDER="/models").refusal("./mine") is None
    assert found.refusal("openai-community/gpt2/x.gguf") is not None
    found = say(MODELS="org/name/x.gguf")
    assert found.refusal("org/name/x.gguf") is None
    assert found.refusal("org/name") is not None


def test_public_models_are_asked_for_as_a_stranger(say):
    assert say(MODELS="public").token is False
    assert say(MODELS="any").token is None
    assert settings.read().refusal("org/name") is None
    assert "opens no folders" in settings.read().refusal("./x")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MODELS", "on", "TFCORE_MODELS names 'on': use off, public, any, or names"),
        ("MODELS", "any, org/name", "TFCORE_MODELS names 'any'"),
        ("MODEL_GB", "4 GB", "TFCORE_MODEL_GB='4 GB' is no number of gigabytes"),
        ("DOWNLOAD_GB", "nan", "TFCORE_DOWNLOAD_GB='nan' is no number"),
        ("DOWNLOAD_GB", "-1", "TFCORE_DOWNLOAD_GB='-1' is no number"),
        ("MODEL_DTYPE", "float16", "TFCORE_MODEL_DTYPE='float16' is neither bfloat16 nor float32"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(say, name, value, message):
    with pytest.raises(ValueError, match=message):
        say(**{name: value})


def test_sizes(say):
    assert (say().kept, say().download, say().cached) == (4 * 10**9, 4 * 10**9, 0)
    assert say(HUB_CACHE_GB="1.5").cached == 15 * 10**8
    assert say(MODEL_GB="0.5", DOWNLOAD_GB="").kept == 5 * 10**8


def test_the_type_of_large_models(say):
    """None leaves it to tfcore.load, which keeps them in bfloat16."""
    assert say().dtype is say(MODEL_DTYPE="bfloat16").dtype is None
    assert say(MODEL_DTYPE="float32").dtype == torch.float32


GOOD = {
    "org/name": "org/name",
    " https://huggingface.co/org/na-me.2 ": "org/na-me.2",
    "hf.co/org/name/": "org/name",
    "org/name/a-Q4_K.gguf": "org/name/a-Q4_K.gguf",
    "https://huggingface.co/org/name/blob/main/a.gguf": "org/name/a.gguf",
    "https://huggingface.co/org/name/resolve/main/a.gguf?download=true ": "org/name/a.gguf",
    "./mine": "./mine",
    "./a b/c": "./a b/c",
    "./a//b/": "./a/b",
}
BAD = (
    "name",
    "stories",
    "",
    "./",
    ".",
    "..",
    "../x",
    "./..",
    "./../x",
    "./a/../../x",
    "/etc",
    ".//etc",
    "~/x",
    "./~x",
    "./a\0",
    "./a\nb",
    "a/b/c",
    "org/..",
    "org/name/../x.gguf",
    "org/name/sub/x.gguf",
    "org/name/x.gguf/",
    "https://huggingface.co/org/name/blob/main/x.bin",
    "https://huggingface.co/org/name/blob/main/sub/x.gguf",
    "https://huggingface.co/org/name/blob/main/%2e%2e.gguf",
    "https://huggingface.co/org/name/tree/main",
    "https://evil.example/org/name/blob/main/x.gguf",
    "file:///etc",
    "https://evil.example/org/name",
    "C:\\x",
    "./c:x",
    "./a\\..\\b",
    "x" * 99 + "/y",
    "./" + "a" * 300,
    "<script>/x",
    "nan",
    "-1e99",
    None,
    3,
)


def test_names_have_one_form():
    assert {said: settings.named(said) for said in GOOD} == GOOD


@pytest.mark.parametrize("said", BAD)
def test_no_name(said):
    assert settings.named(said) is None


def test_a_folder_lies_below_the_one_allowed(say, tmp_path):
    root, outside = tmp_path / "models", tmp_path / "secret"
    (root / "mine").mkdir(parents=True)
    outside.mkdir()
    (root / "way out").symlink_to(outside)
    found = say(MODELS="any", MODEL_FOLDER=str(root))
    assert found.place("./mine") == root / "mine"
    for name in ("./way out", "./none", "./../secret"):
        with pytest.raises(ValueError, match="There is no folder") as refused:
            found.place(name)
        assert str(tmp_path) not in str(refused.value)


def test_a_name_on_the_hub_is_never_a_folder(say, tmp_path, monkeypatch):
    """Whatever lies under that name in the folder that the server was started from."""
    (tmp_path / "secret").mkdir()
    own_folders.write(tmp_path / "secret", "gpt2")
    monkeypatch.chdir(tmp_path)
    assert load("secret/gpt2", device="cpu")[0].config.n_layers == 3  # what a text means to a user of the library
    for policy in ("public", "any", "secret/gpt2"):
        found = say(MODELS=policy)
        assert found.place("secret/gpt2") == OnHub("secret/gpt2")
        for look in (own_models.look, own_models.bring):
            (refused,) = [item for item in look("secret/gpt2", found) if item is not None]
            assert refused.offline, refused
    for name in ("secret", "/etc/passwd", "../secret/gpt2", "."):
        with pytest.raises(CheckpointError, match="is no name of a model on the hub"):
            OnHub(name)
    with pytest.raises(ValueError, match="no model of the name 'secret' is here"):
        cache.shipped_model("secret")


def test_a_gguf_file_on_the_hub_is_never_one_here(say, tmp_path, monkeypatch):
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "x.gguf").touch()
    monkeypatch.chdir(tmp_path)
    found = say(MODELS="any", MODEL_FOLDER=str(tmp_path))
    assert found.place("org/name/x.gguf") == OnHub("org/name/x.gguf")
    for look in (own_models.look, own_models.bring):
        (refused,) = [item for item in look("org/name/x.gguf", found) if item is not None]
        assert refused.offline
        assert "org/name/x.gguf is not in the cache" in refused.sentence


def test_no_folder_is_opened_where_none_is_set(say):
    with pytest.raises(ValueError, match="There is no folder"):
        say(MODELS="any").place("./pages")


LINKED = tuple(name.replace("*", "model") for name in FILES)


@pytest.mark.parametrize("file", LINKED)
@pytest.mark.parametrize("to", ["../../outside", "/dev/zero", "../other/{}", "{}", "/proc/self/environ", "../nowhere"])
def test_a_link_in_a_folder_that_leads_out_of_it_is_refused(say, tmp_path, file, to):
    for folder in ("models/mine", "models/other"):
        (tmp_path / folder / file).parent.mkdir(parents=True)
    (tmp_path / "outside").write_text("{}")
    (tmp_path / "models/other" / file).write_text("{}")
    mine, link = tmp_path / "models/mine", tmp_path / "models/mine" / file
    link.symlink_to(to if to.startswith("/") else os.path.relpath(mine / to.format(file), link.parent))
    found = say(MODELS="any", MODEL_FOLDER=str(tmp_path / "models"))
    with pytest.raises(
        ValueError, match="is a link that leads out of the folder; put the file itself there"
    ) as refused:
        found.place("./mine")
    assert str(refused.value).startswith(file)
    assert str(tmp_path) not in str(refused.value)


def test_a_link_that_stays_in_its_folder_is_followed(say, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings").write_text("{}")
    (tmp_path / "mine" / "config.json").symlink_to("settings")
    assert say(MODELS="any", MODEL_FOLDER=str(tmp_path)).place("./mine") == tmp_path / "mine"


def test_a_gguf_file_below_the_folder_for_models(say, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.gguf").touch()
    (tmp_path / "other.gguf").touch()
    (tmp_path / "models/away.gguf").symlink_to(tmp_path / "other.gguf")
    found = say(MODELS="any", MODEL_FOLDER=str(tmp_path / "models"))
    assert found.place("./mine.gguf") == tmp_path / "models/mine.gguf"
    for name in ("./away.gguf", "./none.gguf", "./../other.gguf"):
        with pytest.raises(ValueError, match="There is no file"):
            found.place(name)


def test_folders_are_listed_as_far_as_they_may_be_loaded(say, tmp_path):
    for name in ("one", "two", "no model", "odd\nname"):
        (tmp_path / name).mkdir()
        if name != "no model":
            (tmp_path / name / "config.json").touch()
    (tmp_path / "no model" / "one.gguf").touch()
    for name in ("three.gguf", "four (1).gguf"):
        (tmp_path / name).touch()
    (tmp_path / "away.gguf").symlink_to("/dev/null")
    everything = ["./no model", "./one", "./three.gguf", "./two"]
    assert settings.folders(say(MODELS="any", MODEL_FOLDER=str(tmp_path))) == everything
    assert settings.folders(say(MODELS="./two")) == ["./two"]
    assert settings.folders(say(MODELS="off")) == []
    assert settings.misnamed(say(MODELS="any")) == ["four (1).gguf", "odd\nname"]
    assert settings.misnamed(say(MODELS="./two")) == []
