"""What visitors may load: read from the environment, off unless it is said, names checked, folders kept in theirs."""

import pytest

from pages.ui import model_settings as settings


@pytest.fixture
def say(monkeypatch):
    def said(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"TFCORE_{name}", value)
        return settings.read()

    for name in ("MODELS", "MODEL_FOLDER", "MODEL_GB", "DOWNLOAD_GB"):
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


def test_public_models_are_asked_for_as_a_stranger(say):
    assert say(MODELS="public").token is False
    assert say(MODELS="any").token is None
    assert settings.read().refusal("org/name") is None
    assert "opens no folders" in settings.read().refusal("./x")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("MODELS", "on", "TFCORE_MODELS names 'on': use off, public, any, or names"),
     ("MODELS", "any, org/name", "TFCORE_MODELS names 'any'"),
     ("MODEL_GB", "4 GB", "TFCORE_MODEL_GB='4 GB' is no number of gigabytes"),
     ("DOWNLOAD_GB", "nan", "TFCORE_DOWNLOAD_GB='nan' is no number"),
     ("DOWNLOAD_GB", "-1", "TFCORE_DOWNLOAD_GB='-1' is no number")],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_named(say, name, value, message):
    with pytest.raises(ValueError, match=message):
        say(**{name: value})


def test_sizes(say):
    assert (say().kept, say().download) == (4 * 10**9, 4 * 10**9)
    assert say(MODEL_GB="0.5", DOWNLOAD_GB="").kept == 5 * 10**8


GOOD = {
    "org/name": "org/name",
    " https://huggingface.co/org/na-me.2 ": "org/na-me.2",
    "hf.co/org/name/": "org/name",
    "./mine": "./mine",
    "./a b/c": "./a b/c",
    "./a//b/": "./a/b",
}
BAD = (
    "name", "stories", "", "./", ".", "..", "../x", "./..", "./../x", "./a/../../x", "/etc", ".//etc", "~/x", "./~x",
    "./a\0", "./a\nb", "a/b/c", "org/..", "file:///etc", "https://evil.example/org/name", "C:\\x", "./c:x",
    "./a\\..\\b", "x" * 99 + "/y", "./" + "a" * 300, "<script>/x", "nan", "-1e99", None, 3,
)  # fmt: skip


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
    assert found.place("org/name") == "org/name"


def test_folders_are_listed_as_far_as_they_may_be_loaded(say, tmp_path):
    for name in ("one", "two", "no model", "odd\nname"):
        (tmp_path / name).mkdir()
        if name != "no model":
            (tmp_path / name / "config.json").touch()
    assert settings.folders(say(MODELS="any", MODEL_FOLDER=str(tmp_path))) == ["./one", "./two"]
    assert settings.folders(say(MODELS="./two")) == ["./two"]
    assert settings.folders(say(MODELS="off")) == []
