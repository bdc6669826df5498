"""Every page on the list, under one suite: each section as it opens and with each of its examples is as its snapshot
says; each night every choice and every slider at both ends shows what it did in the tree of a day before.

Damaged addresses and hostile texts are in test_hostile.py.

Of a long list, such as that of all published models, some are chosen, the first and the last among them: the tests of
what is listed go through all of it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from os import environ
from shutil import copy
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.reference.check.round import LENGTH
from pages.ui import finder
from pages.ui.session import KEY as SESSION
from pages.ui.work import filling, jobs, live
from tests import own_folders
from tests.comparison import differences, distinct, unmatched
from tests.nightly import nightly, often, often_of_several
from tests.pages.clicks import record_clicks
from tests.pages.day_before import WRITTEN, is_changed, shown_before, unversioned, write
from tests.pages.experiments_to_visit import LIVE_PAGES
from tests.pages.grammar import faults
from tests.pages.own_models import brought
from tests.pages.random_controls import set_all
from tests.pages.sights import ask_for_tables, drawn, places, said_and_set, set_by_buttons, sets
from tests.pages.snapshot import ANEW, EXAMPLE, compare, lines, new_lines
from tests.pages.snapshot import FOLDER as SNAPSHOTS
from tests.pages.visits import opened, plain, run, said
from tests.pages.waiting import wait_for_jobs
from tfcore.loading import checkpoints
from tfcore.views.model.your_model import measure as your_model

pytestmark = pytest.mark.usefixtures("short")

FACTS = {page.file: page.facts for page in pages().values()}
FILES = list(FACTS)
SECTIONS = [(file, section) for file in FILES for section in FACTS[file].sections.names or [""]]
FIRST_SECTIONS = [(file, next(iter(FACTS[file].sections.names), "")) for file in FILES]
WITHOUT_EXPERIMENTS = ("start/lessons/page.py", "reference/teachers/page.py")  # they lead to the others
TEACHING = [file for file in FILES if file not in ("start/home/page.py", *WITHOUT_EXPERIMENTS)]
CHOICES = ("segmented_control", "selectbox", "toggle", "pills")
TEXTS = ("", "A", "The cat")  # none, and such as have one token and two
DRAWS = 6  # times that all controls of a page are set at random
OF_JOBS = ("stop", "again", "anew")
FEW = 4
# Where every visit begins a training, it is a short one; where it asks something else, a round of its own.
BEGIN = {
    "block/pitfalls/page.py": {"steps": "40"},
    "experts/balance/page.py": {"steps": "40"},
    "reference/check/page.py": {"round": "11"},
}
ROUNDS = ("11", "12", "13")
# Drawn of numbers that rounding decides: which of equal paths is shown, gradients that explode, correlations of noise.
UNSTEADY = {
    "start/home/page.py": ("tf_river",),
    "inside/flow/page.py": ("tf_river",),
    "foundations/recurrence/page.py": ("gradient", "gradient as a table"),
    "inside/interventions/page.py": ("agreement",),
    "block/normalisation/page.py": ("gradients", "gradients as a table"),
}
EXPLODES = ("Of a gradient of norm 1", "Factor per step")  # how what is said of such gradients begins
# Examples that stand where those of smollm2 do not: of its draft models, and of the other model beside stories.
OF_SMALL_MODELS = {
    *("the same text in fill", "a bigram table as draft"),
    *("early exit: first 2 of 4 blocks", "early exit: first 3 of 4 blocks"),
}
# Words beside numbers that the machine decides, and lines for edges that come in no order as they do nothing.
DECIDED = (*EXPLODES, "times as long", "+0.00 logits", "-0.00 logits")

# Lines that say how a model is kept, or how long it took to load
OF_BYTES = (*DECIDED, "in 16 bits", "Memory of its weights", "from a folder", "Models here")

# With a choice that begins a training or a measurement.
PARTLY_LIVE = (
    *("foundations/masks/page.py", "foundations/recurrence/page.py", "foundations/linear/page.py"),
    *(
        "block/normalisation/page.py",
        "inside/induction/page.py",
        "inside/features/page.py",
        "inside/atlas/page.py",
        "inference/generation/page.py",
    ),
)


FILLING = (
    *("probing.steer", "probing.reads", "in_context.heads", "circuits.edges", "stream.skip"),
    *("interventions.patch", "interventions.switch", "interventions.sets"),
)


def some(options: Sequence[str]) -> list[str]:
    """All options where they are few; otherwise a few of them, evenly spread."""
    last = len(options) - 1
    return list(options) if last < FEW else [options[round(i * last / (FEW - 1))] for i in range(FEW)]


def choices(test: AppTest) -> dict[str, list[str]]:
    """Key of a control with a few values -> all of them, as the address says them."""
    found: dict[str, list[str]] = {}
    for kind in CHOICES:
        for element in getattr(test, kind):
            found[element.key] = ["true", "false"] if kind == "toggle" else some(element.options)
    return {key: options for key, options in found.items() if key}


def texts(test: AppTest) -> dict[str, list[str]]:
    """Key of a text -> those that it is tried with."""
    return {element.key: list(TEXTS) for element in test.text_area if element.key and not element.disabled}


def push(test: AppTest, end: str) -> AppTest:
    """All sliders to one end, one after the other: a range may depend on another slider."""
    for key in [slider.key for slider in test.slider if not slider.disabled]:
        for slider in [slider for slider in test.slider if slider.key == key and not slider.disabled]:
            slider.set_value(getattr(slider, end))
    for stops in [stops for stops in test.select_slider if not stops.disabled]:
        stops.set_value(stops.options[-1 if end == "max" else 0])
    return run(test)


def beginnings(visits: list[tuple[dict[str, str], dict[str, Any]]]) -> dict[str, str]:
    """What each control begins with where it is not in the address; `visits` are addresses and what was seen there."""
    found: dict[str, str] = {}
    for address, sight in visits:
        found |= {key: said for key, said in sight["controls"].items() if key not in {*found, *address}}
    return found


@pytest.fixture
def work(monkeypatch) -> Callable[[str], str]:
    """Says of a page what it has begun since it was last asked: nothing, work that comes to the same result whenever it
    is done, or what may be another next time: measurements, and long trainings."""
    begun = []
    start = jobs.Jobs.start

    def noted(*given: Any, **named: Any) -> jobs.Job:
        begun.append(given)
        return start(*given, **named)

    def asked(file: str) -> str:
        some = bool(begun)
        begun.clear()
        if file == "training/lab/page.py" or (file in {*LIVE_PAGES, *PARTLY_LIVE} and some):
            return "live"
        return "begun" if some else ""

    monkeypatch.setattr(jobs.Jobs, "start", noted)
    return asked


@pytest.fixture
def filled(monkeypatch) -> list[str]:
    """How much work the pages have filled in until now by their own count, and how far their bars go."""
    noted: list[str] = []
    bar = live.bar

    def fill(key: Any, operations: float, *given: Any, **more: Any) -> None:
        noted.append(f"{given[3]} times {given[4]}, {operations:.3g} operations")
        filling.fill(key, operations, *given, **more)

    def barred(key: Any, job: Any, done: int, total: int, again: dict[str, Any], **more: Any) -> None:
        if more.get("work") != "answer":  # which ends before its bar does
            noted.append(f"{total} {more.get('step', 'step')}s, then {again}")
        bar(key, job, done, total, again, **more)

    for name in FILLING:
        monkeypatch.setattr(f"pages.inside.{name}.fill", fill)
    monkeypatch.setattr(live, "bar", barred)
    return noted


@pytest.fixture
def clicked(monkeypatch) -> dict[str, set[str]]:
    """What clicks on the pages' figures would set, as far as they were shown."""
    return record_clicks(monkeypatch)


def seen(test: AppTest, live: bool) -> dict[str, Any]:
    """What a page says, what its controls are, and what its buttons set them to. A button that comes with a measurement
    comes when that is done."""
    found = said_and_set(test) | {"places": places(test)}
    buttons = {key: sets(values) for key, values in set_by_buttons(test).items()}
    for key in OF_JOBS:  # whether one has ended yet
        found["places"].pop(key, None)
    if live:
        buttons = {key: to for key, to in buttons.items() if key.startswith("try ")}
        return found | {"words": [], "buttons": buttons, "drawn": {}, "places": {}}
    return found | {"buttons": buttons, "drawn": drawn(test)}


def together(sights: list[dict[str, Any]], clicked: dict[str, set[str]]) -> dict[str, Any]:
    """What was seen in many visits to a page: its controls, its buttons, its words and its figures, and what clicks on
    them set."""
    found: dict[str, Any] = {
        kind: _by_key([sight[kind] for sight in sights]) for kind in ("controls", "buttons", "places")
    }
    found["words"] = list(dict.fromkeys(word for sight in sights for word in sight["words"]))
    names = sorted({name for sight in sights for name in sight["drawn"]})
    found["drawn"] = {k: distinct(part for sight in sights for part in sight["drawn"].get(k, ())) for k in names}
    return found | {"clicks": {key: sorted(sets) for key, sets in clicked.items()}}


def _by_key(sights: list[dict[str, str]]) -> dict[str, list[str]]:
    """Each key, and all that was seen under it."""
    return {key: sorted({sight[key] for sight in sights if key in sight}) for sight in sights for key in sight}


def visits(file: str) -> Iterator[tuple[AppTest, dict[str, str] | None]]:
    """A page with every choice, with short texts, with the sliders at both ends and with all controls at random; and
    the address, where it alone says what is set.
    """
    begin = BEGIN.get(file, {})
    todo, done, known = [("", "", begin)], set[tuple[str, str]](), set[frozenset[str]]()
    while todo:
        key, value, before = todo.pop()
        if (key, value) in done:
            continue
        done.add((key, value))
        address = {**before, key: value} if key else before
        jobs.JOBS.close()  # of the visit before: the next visitor has no use for its training
        test = opened(file, **address)
        yield test, address
        given = texts(test) | choices(test)
        if (sliders := frozenset(slider.key for slider in test.slider)) not in known:
            known.add(sliders)
            for end in ("min", "max"):
                yield push(test, end), None
            done -= {(key, text) for key in texts(test) for text in TEXTS}  # in each view anew
        todo += [(new, option, address) for new, options in given.items() for option in options]
    for i in range(DRAWS):
        jobs.JOBS.close()
        yield set_all(opened(file, **begin), f"{file} {i}"), None


def tries(test: AppTest) -> dict[str, dict[str, Any]]:
    """Key of each example's button -> what it sets."""
    found = set_by_buttons(test)
    keys = [button.key for button in test.button if (button.key or "").startswith("try ")]
    return {key: found.get(plain(key), {}) for key in keys}


def snapshot_of(file: str, section: str) -> str:
    """The name of a section's snapshot: a folder for each page, a file for each section."""
    words = re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")
    return "/".join(filter(None, [file.removesuffix("/page.py"), words]))


@pytest.fixture
def look(monkeypatch, work, filled, clicked) -> Callable[[str, Any], dict[str, Any]]:
    """Sees of a page in all these visits what is to be in its record."""
    monkeypatch.setattr(your_model, "free_memory", lambda _: 18 * 10**9)
    ask_for_tables(monkeypatch)

    def looked(file: str, made: Iterator[tuple[AppTest, dict[str, str] | None]]) -> dict[str, Any]:
        sights, opened_at = [], []
        for test, address in made:
            state = work(file)
            sights.append(seen(test, bool(state)))
            if address is not None:
                opened_at.append((address, sights[-1]))
                is_refused = set(address.values()) & set(TEXTS)  # may be, and then lacks what a page must have
                assert is_refused or file not in TEACHING or faults(test, file) == [], address
            if state == "begun":
                wait_for_jobs()
                sights.append(seen(run(test), False))
                work(file)
        found = {"beginnings": beginnings(opened_at), "visits": [urlencode(address) for address, _ in opened_at]}
        for sight in sights:
            for name in UNSTEADY.get(file, ()):
                sight["drawn"].pop(name, None)
            sight["words"] = [word for word in sight["words"] if not word.startswith(EXPLODES)]
        return found | together(sights, clicked) | ({"work": sorted(set(filled))} if filled else {})

    return looked


@nightly
@pytest.mark.parametrize("file", FILES)
def test_every_choice_shows_what_it_did_a_day_before(file, look, request):
    """With the sliders that come with it at both ends. A page with another snapshot than then was changed on purpose:
    what else it shows now is said, and is no failure."""
    found = unversioned(look(file, visits(file)))
    if WRITTEN in environ:
        write(found)
        return
    if (before := shown_before(request.node.nodeid)) is None:
        pytest.skip("there is no tree of a day before, or it does not write what it shows")
    differ = [*differences(found.pop("beginnings"), before.pop("beginnings")), *unmatched(found, before)]
    if differ and is_changed(f"tests/pages/snapshots/{file.removesuffix('/page.py')}"):
        pytest.skip("its snapshot is another, and so are: " + "; ".join(differ))
    assert differ == []


def test_each_page_has_a_snapshot_by_which_it_is_told_to_have_changed():
    """A folder or a text, see day_before.is_changed."""
    places = [SNAPSHOTS / file.removesuffix("/page.py") for file in FILES]
    assert [one for one in places if not (one.is_dir() or one.with_name(f"{one.name}.txt").is_file())] == []


def test_a_link_of_another_version_is_the_same_link():
    words = ["page_link Parameters v=5&model=gemma_7b", "page_link Walkthrough v=4", "where v=5&w=6"]
    same = ["page_link Parameters model=gemma_7b", "page_link Walkthrough ", "where w=6"]
    assert unversioned({"words": words}) == {"words": same}


def ended(test: AppTest, file: str, work, clicked) -> tuple[AppTest, list[str]]:
    """A page whose work has ended, and the lines that it shows."""
    state = work(file)
    if state == "begun":
        wait_for_jobs()
        test = run(test)
        work(file)
    return test, lines(test, clicked, live=state == "live", but=UNSTEADY.get(file, ()))


@nightly
@pytest.mark.parametrize(("file", "section"), SECTIONS)
def test_of_a_model_in_16_bits_a_section_shows_what_it_shows_of_it_in_float32(
    file, section, allowed, monkeypatch, work, clicked
):
    monkeypatch.setattr(your_model, "free_memory", lambda _: 18 * 10**9)
    class_, _, _ = own_folders.FAMILIES["llama"]
    rounded = class_.from_pretrained(allowed / "llama", dtype=torch.bfloat16)
    shown = []
    for name, limit in (("in-16", 0), ("in-32", checkpoints.HALF_FROM)):
        rounded.save_pretrained(allowed / name, max_shard_size="20KB")
        copy(allowed / "llama" / "tokenizer.json", allowed / name)
        monkeypatch.setattr(checkpoints, "HALF_FROM", limit)
        assert brought(f"./{name}").model.halved is (limit == 0)
        address = BEGIN.get(file, {}) | ({FACTS[file].sections.key: section} if section else {})
        test = opened(file, **address | {"model": f"./{name}", "of": f"./{name}"})
        if not any(name in line for line in lines(test, clicked)):
            pytest.skip("it shows no models but ours")
        _, said_now = ended(test, file, work, clicked)
        shown.append([line.replace(name, "model") for line in said_now if not any(words in line for words in OF_BYTES)])
    differ = differences(*shown)
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize("examples", [False, pytest.param(True, marks=nightly)], ids=["as it opens", "examples"])
@pytest.mark.parametrize(("file", "section"), often_of_several(SECTIONS, FIRST_SECTIONS))
def test_a_section_and_its_examples_are_as_in_their_snapshot(file, section, examples, monkeypatch, work, clicked):
    monkeypatch.setattr(your_model, "free_memory", lambda _: 18 * 10**9)
    ask_for_tables(monkeypatch)
    key = FACTS[file].sections.key

    def shown(test: AppTest) -> tuple[AppTest, list[str]]:
        test, said_now = ended(test, file, work, clicked)
        return test, [line for line in said_now if not any(words in line for words in DECIDED)]

    test = opened(file, **BEGIN.get(file, {}), **({key: section} if section else {}))
    if not section or section == next(iter(FACTS[file].sections.names)):
        assert file not in TEACHING or len(tries(test)) >= 3
        assert file not in TEACHING or "arXiv:" in said(test, "markdown", "caption", "code")
    test, found = shown(test)
    assert file not in TEACHING or faults(test, file) == []
    said_here = list(found)
    if ANEW not in environ:
        kept = finder.examples().get(FACTS[file].key, {}).get(section, [])
        offered = set(test.session_state[SESSION].visit.offered)  # without the real models there are fewer, or others
        assert offered <= {*kept, *OF_SMALL_MODELS}, "python -m tools.examples renews them"
    for example, values in tries(test).items() if examples else ():
        if values.get(key, section) == section and any(button.key == example for button in test.button):
            clicked.clear()
            test, then = shown(run(test.button(key=example).click()))
            said_here += ["", f"{EXAMPLE}{plain(example)}", *new_lines(then, found)]
    differ = compare(snapshot_of(file, section), said_here, whole=examples)
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize("number", often(ROUNDS, ROUNDS[:1]))
def test_every_question_of_a_round(number, clicked):
    said_here: list[str] = []
    for question in map(str, range(1, LENGTH + 1)):
        asked = lines(opened("reference/check/page.py", round=number, question=question), clicked)
        said_here += ["", f"== {question}", *new_lines(asked, said_here)]
    differ = compare(f"reference/check/round-{number}", said_here)
    assert not differ, "\n".join(differ)


def test_there_is_no_snapshot_of_what_is_gone():
    names = {snapshot_of(*one) for one in SECTIONS} | {f"reference/check/round-{number}" for number in ROUNDS}
    assert {str(file.relative_to(SNAPSHOTS).with_suffix("")) for file in SNAPSHOTS.rglob("*.txt")} == names


def test_of_a_long_list_the_first_the_last_and_some_between_are_chosen():
    assert some("abcd") == list("abcd")
    assert some("abcdefghij") == list("adgj")
