"""What visitors are told of an error names no folder of this machine, whatever stands around it."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui import sentences

PATHS = (
    "/srv/secret/models/config.json",
    "/home/some.body/.cache/x-1/config.json",
    "~/secret/config.json",
    "~body/secret/config.json",
    "/srv/sécret/config.json",
    "C:\\Users\\secret\\config.json",
    "//secret/x/config.json",
    "\\\\secret\\share\\config.json",
    "file:///srv/secret/config.json",
    "C:/secret/config.json",
)
AROUND = (
    "{}",
    "'{}'",
    '"{}"',
    "`{}`",
    "‘{}’",
    "“{}”",
    "({})",
    "[{}]",
    "<{}>",
    "{{{}}}",
    "b'{}'",
    "PosixPath('{}')",
    "{}.",
    "{}: no",
    "{},",
    "{};",
    "name={}",
    "at:{}",
    "[Errno 13] Permission denied: '{}'",
    "|{}|",
    "\n{}\n",
    "-> {}",
    "\t{}",
    "'{}' -> '{}'",
    "*{}*",
    "{}'s",
    "!{}?",
)
KEPT = (
    "tiny/gpt2: it has no config.json",
    "./a/b has no tokenizer.json",
    "https://huggingface.co/org/name is not there",
    "cannot read '[MASK] <s> </s>'",
    "and/or 3/4",
    "it takes 4 / 2 of them",
    "2 MB/s",
    "http://127.0.0.1:9/x",
)


@pytest.mark.parametrize(("path", "around"), list(itertools.product(PATHS, AROUND)))
def test_of_a_path_its_last_part_is_left(path, around):
    said = sentences.without_paths(f"the file {around.format(path, path)} cannot be read")
    assert "config.json" in said
    for part in ("secret", "srv", "home", "body", "Users", "cache", "share"):
        assert part not in said, said
    assert "\n" not in said


@pytest.mark.parametrize("path", ["/srv/my secret/models/config.json", "C:\\my secret\\config.json"])
def test_spaces_in_quotes_belong_to_it(path):
    assert sentences.without_paths(f"cannot open '{path}' now") == "cannot open 'config.json' now"


def test_folders_that_are_known_may_have_spaces(monkeypatch):
    monkeypatch.setenv("HF_HOME", "/srv/my secret cache")
    said = sentences.without_paths("cannot write /srv/my secret cache/hub/models--a--b/x.json now")
    assert said == "cannot write x.json now"


def test_the_name_of_a_relative_folder_is_a_word(monkeypatch):
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", "models")
    assert sentences.without_paths("no file in the folder for models") == "no file in the folder for models"


@pytest.mark.parametrize("said", KEPT)
def test_what_is_no_path_stays(said):
    assert sentences.without_paths(said) == said


words = st.text(st.characters(categories=["L", "N"], include_characters="._-+@ ="), min_size=1, max_size=8)


@given(st.lists(words.filter(str.strip), min_size=1, max_size=5), st.sampled_from(["'", '"', "`"]))
def test_any_path_in_quotes(parts, quote):
    path = "/zzsecretzz/" + "/".join(parts)
    assert "zzsecretzz" not in sentences.without_paths(f"no {quote}{path}{quote}!")


def test_what_is_not_ours_is_its_kind_alone():
    assert sentences.told(OSError(13, "Permission denied", "/srv/x")) == "it ended with PermissionError"
    assert sentences.told(MemoryError()) == "there is not enough memory for it now"
    assert sentences.told(ValueError("")) == "ValueError"
    assert sentences.told(ValueError("/srv/a is\nbad")) == "a is bad"
