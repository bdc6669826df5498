"""The command line: views equal the results of their functions, and whatever makes no sense is one sentence."""

import inspect
import io
import json
import sys
from dataclasses import fields, is_dataclass
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import pytest

from tests import small
from tests.architecture.sources import files, module_name
from tests.architecture.test_views import views as decorated
from tests.commands.typed import typed
from tests.loading import gguf_files
from tests.nightly import nightly, often_named
from tfcore import views
from tfcore.__main__ import main
from tfcore.commands import catalogue, drawing
from tfcore.commands.values import read, record_help, type_name
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load, save
from tfcore.loading.special_tokens import SpecialTokens
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.part_configs import LayerConfig, MixerConfig
from tfcore.presets import PRESETS
from tfcore.views import sources
from tfcore.views.foundations import attention, heads, masks
from tfcore.views.inference import generation
from tfcore.views.inference.generation.measure.conversation import ConversationPlan
from tfcore.views.inside import flow, stream
from tfcore.views.model import architectures, parts
from tfcore.views.reference import check
from tfcore.views.sources import Reading
from tfcore.views.start import walkthrough
from tfcore.views.view import View

TEXT = 'Once "upon" a time,\n--there = was'
CHEAP = {
    "of numbers": lambda: attention.temperature((1.0, 2.5, -1e-7), 0.7),
    "of a text": lambda: heads.portrait(Reading("stories", TEXT, bos=False, hide_sink=True), 1, 2, 3),
    "of a record": lambda: masks.allowed("stories", TEXT, MaskConfig(kind="window", window=3)),
}
PORTRAIT = ("view", "heads.portrait", "--model", "stories")
WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no command": ((), "are required: COMMAND; python -m tfcore --help says what there is"),
    "another command": (("draw",), "invalid choice: 'draw'"),
    "another subject": (("list", "head"), "there is no subject 'head' (do you mean heads?); there are architectures,"),
    "another view": (
        ("view", "heads.portrat"),
        "there is no view 'portrat' of heads (do you mean portrait?); there are",
    ),
    "a subject alone": (("view", "heads"), "there is no view '' of heads; there are cuts,"),
    "another argument": (
        (*PORTRAIT, "--lay", "1"),
        "unrecognized arguments: --lay 1; python -m tfcore view heads.portrait",
    ),
    "arguments that are missing": ((*PORTRAIT, "--text", "a"), "heads.portrait needs --layer INT, --head INT; python"),
    "no number": ((*PORTRAIT, "--text", "a", "--layer", "x", "--head", "0"), "--layer: 'x' is no INT"),
    "a layer too many": (
        (*PORTRAIT, "--text", "a", "--layer", "4", "--head", "0"),
        "--layer 4: stories has layers 0 to 3",
    ),
    "a head before the first": (
        (*PORTRAIT, "--text", "a", "--layer", "0", "--head", "-1"),
        "--head -1: stories has heads 0 to 5",
    ),
    "a token too many": (
        (*PORTRAIT, "--text", "a", "--layer", "0", "--head", "0", "--token", "9"),
        "heads.portrait cannot be made of these arguments (IndexError: index 9 is out of bounds",
    ),
    "a text without tokens": ((*PORTRAIT, "--text", "", "--layer", "0", "--head", "0"), "makes no token of this text"),
    "bytes that are no text": (
        (*PORTRAIT, "--text", "\udcff", "--layer", "0", "--head", "0"),
        "--text is no text in UTF-8",
    ),
    "another model": (
        ("view", "heads.portrait", "--model", "nobody", "--text", "a", "--layer", "0", "--head", "0"),
        "nobody is neither a model that is here (",
    ),
    "another ending": (
        (*PORTRAIT, "--text", "a", "--layer", "0", "--head", "0", "-o", "a.pdf"),
        "the ending of 'a.pdf'",
    ),
    "a folder that is not there": (
        ("view", "attention.temperature", "--scores", "1,2", "--temperature", "1", "-o", "/nowhere/a.csv"),
        "No such file or directory: '/nowhere/a.csv'",
    ),
    "two forms": ((*PORTRAIT, "--csv", "--json"), "not allowed with argument"),
    "a record's own refusal": (
        ("view", "masks.allowed", "--model", "stories", "--text", "a", "--mask", "window=0"),
        "--mask: ",
    ),
    "no such checkpoint": (("info", "/nowhere/model.gguf"), "/nowhere/model.gguf is neither a model that is here"),
    "no port": (("app", "--port", "70000"), "--port 70000 is no port; take one from 0"),
}


# Views that no visit of tests/pages/test_experiments.py shows: of questions, of two models beside each other, and such
# as stand outside a page's panels.
POINTS = ((1.0, 0.5), (-0.5, 2.0))
FIRST, SECOND = (Reading(name, "Once upon a time") for name in ("stories", "stories-learned"))
PRESET = PRESETS["gpt2_small"]()
HYBRID = TemporaryDirectory()


@lru_cache
def hybrid() -> str:
    """The folder of a small model whose first layer has a state, which no model that ships has."""
    _, tokenizer = load("stories")
    layers, size = (LayerConfig(mixer="delta"), LayerConfig()), tokenizer.vocab_size
    save(small.model(layers=layers, mixer=MixerConfig(n_heads=3), vocab_size=size), HYBRID.name, tokenizer)
    return HYBRID.name


SPECIAL = SpecialTokens(names=(("eos_token", "<e>"),), ends=(3,), template="{{ messages[0].content }}")
PLAN = ConversationPlan(system="", said=("a, b", "c=d"), sampling=Sampling(temperature=0), seed=1, tokens=3)
UNVISITED = {
    "architectures.stack": lambda: architectures.stack("encoder-decoder", 2),
    "attention.planes": lambda: attention.planes(POINTS, POINTS, POINTS, ("a, b", "c"), 1, 2.0, 0.1, 0.5),
    "check.likeliest_five": lambda: check.likeliest_five("stories", "Once upon", "five"),
    "check.round_map": lambda: check.round_map(3, ("Block", "Model"), ("right", "open"), None),
    "check.six_heads": lambda: check.six_heads("stories", "a b", 1, ((0, 1), (2, 3)), "entropy", "six"),
    "flow.beside": lambda: flow.beside(FIRST, None, SECOND, 0.1),
    "generation.beside": lambda: generation.beside(FIRST, SECOND),
    "generation.conversation": lambda: generation.conversation("stories", SPECIAL, PLAN),
    "heads.implied": lambda: heads.implied(Reading(hybrid(), "a b c"), 0, 1),
    "heads.two_models": lambda: heads.two_models(FIRST, SECOND, (1, 2), (0, 1), log=True),
    "parts.change": lambda: parts.change(PRESET, None, "GPT-2", "before"),
    "parts.parts": lambda: parts.parts("stories"),
    "stream.lens_beside": lambda: stream.lens_beside(FIRST, SECOND, (1, 2), (0, 1)),
    "stream.parts_beside": lambda: stream.parts_beside(FIRST, SECOND, (1, 2), (0, 1), "nothing"),
    "walkthrough.overview": lambda: walkthrough.overview("stories", "a b", "scores", 1),
}


@pytest.fixture(autouse=True)
def _without_an_application(monkeypatch):
    """Models are opened as in a program of its own, whatever other tests run the app in this process."""
    monkeypatch.setattr(sources, "_opener", [lru_cache(maxsize=2)(sources._load)])


def all_views() -> dict[str, catalogue.Drawing]:
    return {f"{of}.{name}": one for of in views.subjects() for name, one in catalogue.subject(of).items()}


@pytest.mark.parametrize("made", often_named(CHEAP | UNVISITED, *CHEAP))
def test_a_view_is_what_its_function_returns(made, capsys):
    view = made()
    line = ["view", *typed(view)]
    assert main(line) == 0
    assert capsys.readouterr().out == f"{view}\n"
    assert main([*line, "--csv"]) == (0 if view.table else 2)
    assert not view.table or sys.stdout.buffer.getvalue().decode() == view.csv()
    capsys.readouterr()
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(view.json())


def test_a_file_is_written_by_its_ending_and_the_findings_are_said(tmp_path, capsys):
    line = ["view", "attention.temperature", "--scores", "1,2,3", "--temperature", "0.7"]
    assert main([*line, "-o", str(tmp_path / "a.csv")]) == 0
    view = attention.temperature((1.0, 2.0, 3.0), 0.7)
    assert (tmp_path / "a.csv").read_bytes().decode() == view.csv()
    assert capsys.readouterr().out == f"{view}\n"


def test_a_terminal_is_told_how_far_a_model_is(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["view", "parts.parts", "--model", "stories"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{parts.parts('stories')}\n"
    assert err.startswith("\rload ")
    assert err.endswith("\rload 100%" + "\b \b" * 9)


def standard_input(content: bytes, monkeypatch, is_terminal: bool = False) -> None:
    given = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(given, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", given)


@pytest.mark.parametrize("more", [(), ("--text", "-")])
def test_a_text_comes_by_the_standard_input(more, monkeypatch, capsys):
    standard_input("Once upon\na tíme\n".encode(), monkeypatch)
    assert main([*PORTRAIT, "--layer", "1", "--head", "2", *more]) == 0
    shown = heads.portrait(Reading("stories", "Once upon\na tíme"), 1, 2)
    assert capsys.readouterr().out == f"{shown}\n"


@pytest.mark.parametrize(
    ("content", "is_terminal", "sentence"),
    [
        (b"a\xff", False, "the standard input is no text in UTF-8, at byte 1"),
        (b"a" * 1_000_001, False, "the standard input has more than 1,000,000 bytes"),
        (b"a", True, "heads.portrait needs --text TEXT;"),
    ],
)
def test_what_comes_by_it_is_bounded_and_a_terminal_is_not_waited_for(
    content, is_terminal, sentence, monkeypatch, capsys
):
    standard_input(content, monkeypatch, is_terminal)
    assert main([*PORTRAIT, "--layer", "1", "--head", "2"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(("line", "sentence"), WRONG.values(), ids=list(WRONG))
def test_what_makes_no_sense_is_refused_in_one_sentence(line, sentence, capsys):
    assert main(line) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert (out, err.count("\n"), "Traceback" in err) == ("", 1, False)


@nightly
def test_all_views_are_listed_each_with_a_parser_of_its_own(capsys):
    there = {
        f"{module_name(path).split('.')[3]}.{name}"
        for path in files("tfcore/views")
        for name in decorated(path.read_text("utf-8"))
    }
    assert main(["list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(there) == sorted(all_views())
    for name in listed:
        drawing.parser_of(name)  # argparse refuses an option that is there twice


@nightly
def test_the_arguments_of_all_views_are_of_types_that_can_be_typed():
    seen, odd = set[Any](), []

    def check(hint: Any, where: str) -> None:
        if hint in seen:
            return
        seen.add(hint)
        parts = list(get_type_hints(hint).values()) if is_dataclass(hint) else get_args(hint)
        try:
            type_name(hint)
            read("x", hint)
        except ValueError as problem:
            odd.extend([where] * ("nothing that is typed" in str(problem)))
        for part in parts:
            if isinstance(part, type) or get_args(part):
                check(part, f"{where}: {part}")

    for name, function in all_views().items():
        for option in catalogue.options(function):
            check(option.hint, f"{name} --{option.name}")
    assert {where.rsplit(": ", 1)[-1] for where in odd} == {"typing.Any"}, (
        "the content of a File, which is no part of it"
    )


def test_what_a_subject_offers_is_explained(capsys):
    assert main(["list", "masks"]) == 0
    said = capsys.readouterr().out
    for name, function in catalogue.subject("masks").items():
        assert f"masks.{name}: {catalogue.summary(function)}" in said
    assert record_help(MaskConfig) in said
    with pytest.raises(SystemExit, match="0"):
        main(["view", "masks.allowed", "--help"])
    assert "--mask MASKCONFIG" in capsys.readouterr().out


def test_a_second_text_is_read_as_the_first_where_nothing_else_is_said(capsys):
    line = ["--model", "stories", "--text", "a b c", "--layer", "1", "--head", "0", "--other-text", "c b a"]
    assert main(["view", "heads.two_texts", *line, "--hide-sink"]) == 0
    first, second = (Reading("stories", text, hide_sink=True) for text in ("a b c", "c b a"))
    assert capsys.readouterr().out == f"{heads.two_texts(first, second, 1, 0)}\n"


def test_what_docstrings_say_of_arguments_is_found():
    @views.view.view
    def own(one: int, two: int, three: int = 0) -> View:
        """It is.

        Args:
            one, two: both of them, of which
                a second line speaks.
            three: 100 % of it.

        Raises:
            ValueError: never.
        """
        raise ValueError

    said = {one.name: (one.help, one.usage) for one in catalogue.options(own)}
    both = "both of them, of which a second line speaks"
    assert said == {"one": (both, "--one INT"), "two": (both, "--two INT"), "three": ("100 % of it", "[--three INT]")}
    assert inspect.signature(own).return_annotation is View
    assert len(fields(catalogue.Option)) == 6


def test_a_checkpoint_is_described_by_what_its_headers_say(tmp_path, capsys):
    assert main(["info", "stories"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("tfcore: 4 layers of the decoder, 6 heads each, width 192")
    assert "2,164,416 parameters take 9 MB" in said
    assert "It can be read here: python -m tfcore view SUBJECT.NAME --model stories" in said


def test_who_reads_has_read_enough(monkeypatch, capsys):
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    with capsys.disabled():
        monkeypatch.setattr(sys, "stdout", Closed())
        assert main(["info", "stories"]) == 0
    monkeypatch.setattr("tfcore.__main__._done", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main([]) == 130


@nightly
def test_a_gguf_file_is_described(tmp_path, capsys):
    path = tmp_path / "model.gguf"
    gguf_files.write(path, "llama", gguf_files.random_model("llama"))
    assert main(["info", str(path)]) == 0
    assert f" in {path}." in capsys.readouterr().out
