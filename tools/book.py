"""The book: every page at its defaults as a static site in build/book, `make book`; some pages alone with
`python -m tools.book heads masks`.

Pages run under AppTest, without a browser, and what they show is written down from top to bottom: words, views, tables,
metrics, then formula, code and papers of the views. Figures and scenes are drawn by the scripts of the app. The site
needs no server: it can be opened from a folder, or lie on any host. Links lead to a running app, whose address
TFCORE_ADDRESS says (http://localhost:8501). A page begins with the picture that the app sends first, where it has one,
until the script of its figure is there.
"""

import inspect
import json
import os
import re
import shutil
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from html import escape
from importlib import import_module
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlencode

import pandas as pd
import torch
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from pages import facts
from pages.ui import links, streamlit_internals
from pages.ui.server import first_pictures, previews, seen
from pages.ui.work import jobs, runs
from pages.ui.work.workers import WithoutMain
from tests.pages.visits import opened, plain, press, run
from tests.pages.waiting import wait_for_jobs
from tfcore.charts import bundle, scenes
from tfcore.loading import real_models
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.views import addresses, programs
from tfcore.views.view import View

FOLDER = Path(__file__).resolve().parents[1] / "build" / "book"
HERE = Path(__file__).parent
LIMIT = 25 * 10**6  # bytes of all files
BEFORE_QUEUES = 100  # queues of multiprocessing close at 10, and no training can be told to end after that
ROWS = 30  # of a table; its page in the app has all
INDEX = "index"
DRAWER, ANSWER = "How it is computed", "Answer"
TRY = "try "  # how the names of the buttons of examples begin
EXAMPLES = 4  # of a section, at most: the first ones
PICTURES = 3  # of an example, at most
OWN = ("heads", "generation")  # pages on which a text of one's own can be typed, for the model that the book brings
MODEL = "stories"
OWN_TEXT = "Tom and Lily went to the park. Lily saw a big dog and she was"
LIVE = "Here this page trains or measures while you look. What follows is what it showed when this book was made."
SERVER = "Texts, models and settings of your own need the app:"
SERVER_BESIDES = "Other models and settings need the app:"  # where a text of one's own can be read
# Streamlit's own in Markdown: icons, and colours of words
DIRECTIVE = re.compile(r":(?:material/\w+:|[a-z-]+\[((?:[^\[\]\\]|\\.|\[[^\]]*\])*)\])")
FORMULA = re.compile(r"(?<!\\)(\$\$?)(?=\S)(.+?)(?<=[^\s\\])\1", re.DOTALL)
LINK = re.compile(r'href="/?([\w-]*)((?:\?[^"]*)?)"')  # to a page of the app, from its root or beside the page
CARTESIAN = "plotly-cartesian.min.js"
SCENES = (".tf-river", ".tf-planes", ".tf-parts", ".tf-bars", ".tf-map")  # that the app sends a picture of
STILLS = "first"  # the folder of pictures that pages begin with
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class Written(NamedTuple):
    """A file of the book.

    Args:
        name: of the file.
        library: the script that its first picture needs; empty for none.
    """

    name: str
    title: str
    html: str
    library: str


def file_of(key: str) -> str:
    """The file of a page in the book; the front page gives its own address to the index."""
    return f"{key or previews.HOME}.html"


def in_app(key: str, view: Mapping[str, str]) -> str:
    """The address of a view of a page in the app."""
    return f"{addresses.app()}/{key}?{urlencode({links.VERSION_KEY: links.VERSION, **view})}"


def address_of(link: Any) -> str:
    """Where a link of a page leads: to the page as the book has it, or with the settings that it names to the app."""
    return f"{addresses.app()}/{link.page}?{link.query_string}" if link.query_string else file_of(link.page)


def words(markdown: str) -> str:
    """Markdown of a page as HTML: formulas are drawn by the browser, links to pages lead to their files."""
    formulas: list[str] = []

    def kept(found: re.Match[str]) -> str:
        formulas.append(formula(found[2].strip(), display=len(found[1]) == 2, tag="span"))
        return f"\ue000{len(formulas) - 1}\ue001"

    text = FORMULA.sub(kept, DIRECTIVE.sub(lambda found: found[1] or "", markdown))
    html = LINK.sub(_led, MARKDOWN.render(text))
    return re.sub(r"\ue000(\d+)\ue001", lambda found: formulas[int(found[1])], html)


def _led(found: re.Match[str]) -> str:
    """A link within a text of the app: a page as the book has it, or with the settings that it names in the app."""
    key, settings = found.groups()
    return f'href="{addresses.app()}/{key}{settings}"' if settings else f'href="{file_of(key)}"'


def formula(latex: str, display: bool = True, tag: str = "div") -> str:
    """A formula that the browser draws; until then its LaTeX is seen."""
    return f'<{tag} class="math{" display" * display}">{escape(latex)}</{tag}>'


def still(key: str, figure: str) -> str:
    """The picture that the app sends first of a page, where it is one of this figure.

    Args:
        figure: its key; empty for a scene.
    """
    place, name = first_pictures.places().get(key), key or previews.HOME
    if place is None or place.figure != figure or (place.model and place.model not in real_models.installed()):
        return ""
    if not figure and not place.drawn.startswith(SCENES):
        return ""
    said = []
    for size, media, at in (("narrow", "max-width: 600px", place.narrow), ("wide", "min-width: 601px", place.wide)):
        for theme in first_pictures.THEMES:
            if at and (file := f"{name}-{size}-{theme}.webp") in first_pictures.pictures():
                wanted = f"({media}) and (prefers-color-scheme: {theme})"
                said.append(
                    f'<source media="{wanted}" srcset="{STILLS}/{file}" width="{at[2]:.0f}" height="{at[3]:.0f}">'
                )
    return f'<picture class="still">{"".join(said)}<img alt=""></picture>' if said else ""


def picture(module: str, data: Any, height: int, alt: str, library: str = "", first: str = "") -> str:
    """A place where a script draws these data, which stand before it.

    Args:
        first: what is seen there until then.
    """
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    needs = f' data-library="{library}"' if library else ""
    role = "img" if library else "group"
    return (
        f'<script type="application/json">{text}</script>'
        f'<div class="picture" data-module="{module}"{needs} role="{role}" aria-label="{escape(alt)}" '
        f'style="min-height:{height}px">{first}</div>'
    )


class _Reader:
    """What a page under AppTest shows, as HTML from top to bottom; controls and buttons are left to the app.

    Args:
        views: those that it shows, by key.
        heading: its level, below that of the page or of a section.
        page: the key of the page that begins with it; None within a page.
    """

    def __init__(self, views: Mapping[str, View], heading: str = "h3", page: str | None = None) -> None:
        self.views, self.heading, self.page = views, heading, page
        self.told: list[View] = []  # since the last drawer
        self.figures: list[str] = []

    def block(self, block: Any) -> Iterator[str]:
        for part in block.children.values():
            yield from self.box(part) if hasattr(part, "children") else self.element(part)

    def box(self, box: Any) -> Iterator[str]:
        if box.type == "popover" or _is_of_buttons(box):
            return
        label = box.label if box.type == "expander" else ""
        if label == DRAWER:
            yield from self.drawer()
            return
        if label:
            yield from _enclosed(f"<details><summary>{words_inline(label)}</summary>", self.block(box), "</details>")
        elif all(getattr(one, "type", "") == "column" for one in box.children.values()):
            yield from self.columns(box)
        elif box.type == "flex_container" and box.proto.flex_container.border:
            yield from _enclosed('<div class="question">', self.block(box), "</div>")
        else:
            yield from self.block(box)

    def columns(self, box: Any) -> Iterator[str]:
        filled = [(one.weight, html) for one in box.children.values() if (html := "".join(self.block(one)))]
        if len(filled) < 2:
            yield from (html for _, html in filled)
            return
        whole = sum(weight for weight, _ in filled)
        parts = [
            f'<div style="flex:{w / whole:.3f} 1 {max(16, 60 * w / whole):.0f}rem">{html}</div>' for w, html in filled
        ]
        yield f'<div class="columns">{"".join(parts)}</div>'

    def element(self, part: Any) -> Iterator[str]:
        match part.type:
            case "header" | "subheader":
                yield f"<{self.heading}>{words_inline(part.value)}</{self.heading}>"
            case "markdown":
                yield words(part.value)
            case "caption":
                yield f'<div class="small">{words(part.value)}</div>'
            case "latex":
                yield formula(part.value.strip().strip("$").strip())
            case "info" | "warning" | "success":
                yield f'<div class="note">{words(part.value)}</div>'
            case "code":
                yield f"<pre>{escape(part.value)}</pre>"
            case "metric":
                said = [f"<dd>{escape(one)}</dd>" for one in (part.value, part.delta) if one]
                yield f'<dl class="metric"><dt>{words_inline(part.label)}</dt>{"".join(said)}</dl>'
            case "dataframe" | "table":
                yield table(part.value)
            case "page_link":
                yield f'<a href="{escape(address_of(part.proto))}">{words_inline(part.proto.label)}</a> '
            case "bidi_component":
                yield from self.component(part.proto)

    def component(self, proto: Any) -> Iterator[str]:
        kind = proto.component_name.rpartition(".")[2]
        if kind == "tf_figure":
            first, _, rest = proto.bytes.partition(b"\n")
            head = json.loads(first)
            figure = json.loads(rest[: head["size"]])
            data = {"figure": figure, "height": head["height"], "least": head["minWidth"]}
            small = all(trace["type"] in bundle.TRACES for trace in figure["data"])
            library = CARTESIAN if small else "plotly.min.js"
            drawn = picture("plot", data, head["height"], head["alt"], library, self.first(head["key"]))
        elif kind == "tf_scene":
            sent = json.loads(proto.json)
            head = {**sent["head"], "caption": sent["caption"]}
            drawn = picture(sent["module"], sent["data"], sent["height"], head["alt"], first=self.first(""))
        elif kind == "token_chips":
            tokens = "".join(f"<span>{escape(one)}</span>" for one in json.loads(proto.json)["tokens"])
            yield f'<div class="chips">{tokens}</div>'
            return
        else:
            return
        view = self.views.get(head["key"])
        caption = view.caption if view else head["caption"]
        below = [escape(caption)]
        if view:
            self.told.append(view)
            below.append(escape(view.computed) + link(view))
        said = "".join(f"<figcaption>{one}</figcaption>" for one in below if one)
        self.figures.append(f"<figure>{drawn}{said}</figure>")
        yield self.figures[-1]

    def first(self, figure: str) -> str:
        """What is seen in the place of the first picture of a page until it is drawn; empty for any other."""
        page, self.page = self.page, None
        return "" if page is None else still(page, figure)

    def drawer(self) -> Iterator[str]:
        """Formula, code, papers and program of the views since the last one."""
        views, self.told = self.told, []
        code = dict.fromkeys(inspect.unwrap(one) for view in views for one in view.code)
        parts = [*(formula(latex) for latex in list(dict.fromkeys(view.formula for view in views if view.formula))[:1])]
        parts += [words(papers) for papers in dict.fromkeys(view.papers for view in views if view.papers)]
        parts += [
            f"<p><code>{escape(one.__module__)}.{escape(one.__qualname__)}</code></p>{source(one)}" for one in code
        ]
        parts += [f"<p>{escape(view.title)}, as a script:</p><pre>{escape(script(view))}</pre>" for view in views]
        if parts:
            yield f"<details><summary>{DRAWER}</summary>{''.join(parts)}</details>"


def link(view: View) -> str:
    """A link to the app with the settings of a view, where they can be said."""
    found = view.link()
    return f' <a href="{escape(found.url)}">in the app</a>' if found and found.is_exact else ""


def _is_of_buttons(box: Any) -> bool:
    """Whether a row is there to be clicked: examples, or what is worth seeing in a text."""
    row = [one for one in box.children.values() if not hasattr(one, "children")]
    return any(one.type in ("button", "page_link") for one in row) and any(one.type == "caption" for one in row)


def _enclosed(before: str, within: Iterator[str], after: str) -> Iterator[str]:
    if html := "".join(within):
        yield f"{before}{html}{after}"


def words_inline(markdown: str) -> str:
    """A line of Markdown without its paragraph."""
    return words(markdown).strip().removeprefix("<p>").removesuffix("</p>")


def table(frame: pd.DataFrame) -> str:
    """The first rows of a table."""
    more = f'<p class="small">and {len(frame) - ROWS} rows more</p>' if len(frame) > ROWS else ""
    rows = frame.head(ROWS).to_html(index=False, border=0, na_rep="", float_format=lambda value: f"{value:.4g}")
    return f'<div class="scroll">{rows}</div>{more}'


def source(thing: Callable[..., Any] | type) -> str:
    """The code of a function or a class."""
    try:
        return f"<pre>{escape(inspect.getsource(thing))}</pre>"
    except (OSError, TypeError):  # built in, or made at run time
        return ""


def script(view: View) -> str:
    """The lines of the program that makes a view."""
    parts = programs.program(view)
    return f"{parts.imports}\n\n{parts.call}\nprint(shown)"


class Shown(NamedTuple):
    """A page under AppTest, its views by their keys, and whether it began work that took a while."""

    test: AppTest
    views: dict[str, View]
    worked: bool


def shown(key: str, address: Mapping[str, str], example: str = "") -> Shown:
    """A page at an address once its work is done.

    Args:
        example: the key of its button, which is pressed.
    """
    views: dict[str, View] = {}

    def note(view: View) -> None:
        if links.visit().page == key:  # a test also visits the front page, to learn of the others
            views[view.key] = view

    really, began = jobs.JOBS.start, list[Any]()

    def start(job: Any, *given: Any, **named: Any) -> Any:
        if links.visit().page == key:
            began.append(job)
        return really(job, *given, **named)

    with patch.object(seen, "note", note), patch.object(jobs.JOBS, "start", start):
        test = opened(facts.pages()[key].file, **address)
        if example:
            test = press(test, example)
        if began:
            wait_for_jobs()
            test = run(test)
    return Shown(test, views, bool(began))


def examples(key: str, address: Mapping[str, str], first: Shown, figures: list[str]) -> Iterator[str]:
    """The examples of a section, each closed until it is asked for: the pictures that it changes. Where the section
    trains or measures, its examples would, too, and are left to the app.

    Args:
        figures: that stand there already.
    """
    if first.worked or facts.pages()[key].facts.live:
        return
    known = set(figures)
    buttons = [one for one in first.test.button if plain(one.key).startswith(TRY)]
    for button in buttons[:EXAMPLES]:
        example = shown(key, address, plain(button.key))
        reader = _Reader(example.views)
        list(reader.block(example.test.main))
        changed = [one for one in reader.figures if one not in known][:PICTURES]
        known |= set(changed)
        if changed and not example.worked:
            name = words_inline(button.proto.label)
            yield f"<details><summary>Example: {name}</summary>{''.join(changed)}</details>"


def own_text() -> str:
    """A box for a text of one's own, which the model of the book reads in the browser (stories.js)."""
    megabytes = len(weights()) / 1e6
    return (
        f"<details><summary>A text of your own, read by {MODEL} in this browser ({megabytes:.0f} MB)</summary>"
        f'<form class="stories"><p><textarea rows="3" maxlength="2000" aria-label="Text">{OWN_TEXT}</textarea></p>'
        '<button>Run</button><div aria-live="polite"></div></form></details><script src="stories.js" defer></script>'
    )


@cache
def weights() -> str:
    """A classic script with the checkpoint of the book's model: its config, its merges, and the safetensors file."""
    folder = PRETRAINED / MODEL
    bpe = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    config = json.loads((folder / "config.json").read_text("utf-8"))
    content = b64encode((folder / "model.safetensors").read_bytes()).decode()
    said = {"config": config, "bpe": {"vocab": bpe["vocab"], "merges": bpe["merges"]}, "weights": content}
    return f"window.tfStories = {json.dumps(said, ensure_ascii=False)}\n"


def page(key: str) -> Written:
    """A page with all its sections."""
    of = facts.pages()[key].facts
    parts = [f"<h1>{escape(of.question)}</h1>", words(of.claim)]
    if of.live:
        parts.append(f'<p class="note">{LIVE}</p>')
    needing = SERVER_BESIDES if key in OWN else SERVER
    parts.append(f'<p class="small">{needing} <a href="{escape(in_app(key, {}))}">open this page there</a>.</p>')
    if key in OWN:
        parts.append(own_text())
    figures: list[str] = []
    for section, name in (of.sections.names or {"": ""}).items():
        address = {of.sections.key: section} if section else {}
        first = shown(key, address)
        if name:
            link = f'<a class="small" href="{escape(in_app(key, address))}">in the app</a>'
            parts.append(f'<h2 id="{escape(section)}">{escape(name[:1].upper() + name[1:])} {link}</h2>')
        reader = _Reader(first.views, "h3" if section else "h2", None if figures else key)
        parts += reader.block(_after_claim(first.test.main))
        parts += reader.drawer()
        parts += examples(key, address, first, reader.figures)
        figures += reader.figures
    needed = re.search('data-library="([^"]+)"', figures[0]) if figures else None
    return Written(file_of(key), of.title, "\n".join(parts), needed[1] if needed else "")


class _Rest(NamedTuple):
    children: dict[int, Any]


def _after_claim(main: Any) -> _Rest:
    """A page without its title and claim, which its facts say."""
    parts = list(main.children.values())
    kinds = [getattr(one, "type", "") for one in parts]
    return _Rest(dict(enumerate(parts[kinds.index("markdown") + 1 :] if "markdown" in kinds else parts)))


def index() -> str:
    """All chapters with their pages, to be searched."""
    parts = [
        f"<h1>{escape(facts.NAME)}</h1>",
        '<input type="search" placeholder="Search pages" aria-label="Search pages">',
        '<p id="none" role="status" hidden>No page says all of these words.</p>',
    ]
    for chapter in facts.CHAPTERS:
        parts.append(f"<section><h2>{escape(chapter.title)}</h2><p>{escape(chapter.answers)}</p>")
        parts.append('<ul class="pages">')
        for of, *_ in facts.pages_of(chapter.folder):
            link = f'<a href="{file_of(of.key)}">{escape(of.title)}</a>'
            parts.append(f"<li>{link}<div>{escape(of.question)}</div><div class='small'>{words(of.claim)}</div></li>")
        parts.append("</ul></section>")
    return "\n".join(parts)


def whole(title: str, description: str, main: str, around: tuple[str, str] = ("", ""), library: str = "") -> str:
    """A file of the book, from the one template of all.

    Args:
        around: the keys' files of the pages before and after; empty for none.
        library: the script that its first picture needs, which is asked for at once.
    """
    turns = [
        f'<a rel="{rel}" href="{to}">{word}</a>'
        for rel, word, to in zip(("prev", "next"), ("Previous", "Next"), around, strict=True)
        if to
    ]
    return (
        (HERE / "book.html")
        .read_text("utf-8")
        .format(
            title=escape(title),
            description=escape(description),
            light=scenes.variables("light"),
            dark=scenes.variables("dark"),
            styles="\n".join(text for name, text in scenes.files().items() if name.endswith(".css")),
            top=f'<a href="{file_of(INDEX)}">{escape(facts.NAME)}</a>{"".join(turns)}',
            early=f'<link rel="preload" as="script" href="{library}">' if library else "",
            main=main,
            foot=f'<a href="{file_of(INDEX)}">All pages</a>{"".join(turns)}',
        )
    )


def katex() -> str:
    """A classic script that puts KaTeX, which comes with Streamlit, beside the scenes as a module.

    Raises:
        FileNotFoundError: this Streamlit has it elsewhere.
    """
    folder = streamlit_internals.FOLDER / "static" / "static" / "js"
    found = sorted(folder.glob("katex.*.js"))
    if not found:
        raise FileNotFoundError(f"no katex.*.js in {folder}: this release of Streamlit keeps KaTeX elsewhere")
    code = json.dumps(found[0].read_text("utf-8"))
    return f'tfScenes["katex.js"] = URL.createObjectURL(new Blob([{code}], {{ type: "text/javascript" }}))\n'


def build(keys: list[str], folder: Path) -> dict[str, int]:
    """Write these pages and the index into a folder, which is emptied before.

    Returns:
        Name -> size, of all files.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / STILLS).mkdir()
    (folder / CARTESIAN).write_text(bundle.CARTESIAN.read_text("utf-8"), "utf-8")
    names = [f"{name}.js" for name in (*scenes.NAMES, "plot")]
    (folder / "scenes.js").write_text(scenes.library(names), "utf-8")
    (folder / "katex.js").write_text(katex(), "utf-8")
    (folder / "book.js").write_text((HERE / "book.js").read_text("utf-8"), "utf-8")
    if not {*OWN}.isdisjoint(keys):
        (folder / "stories.js").write_text((HERE / "stories.js").read_text("utf-8"), "utf-8")
        (folder / "stories-weights.js").write_text(weights(), "utf-8")
    (folder / file_of(INDEX)).write_text(whole(facts.NAME, facts.NAME, index()), "utf-8")
    for i, (key, made) in enumerate(zip(keys, _pages(keys), strict=True)):
        around = file_of(keys[i - 1]) if i else "", file_of(keys[i + 1]) if key != keys[-1] else ""
        text = whole(f"{made.title} · {facts.NAME}", facts.pages()[key].facts.answers, made.html, around, made.library)
        (folder / made.name).write_text(text, "utf-8")
        for name in re.findall(f'srcset="{STILLS}/([^"]+)"', made.html):
            (folder / STILLS / name).write_bytes(first_pictures.pictures()[name])
        sys.stdout.write(f"{made.name}: {len(text.encode()):,} bytes\n")
        sys.stdout.flush()
    return sizes(folder)


def sizes(folder: Path) -> dict[str, int]:
    """Name -> size, of all files of a book."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _pages(keys: list[str]) -> Iterator[Written]:
    """The pages, each as soon as it and those before it are made, by a process for each core."""
    workers = min(len(keys), os.cpu_count() or 1)
    if workers == 1:
        yield from map(page, keys)
        return
    with ProcessPoolExecutor(workers, WithoutMain(), begin_worker) as pool:
        yield from pool.map(page, keys)


def begin_worker() -> None:
    """Let a process that runs pages use one core, and end the trainings that it began before it waits for them."""
    torch.set_num_threads(1)
    Finalize(None, runs.RUNS.close, exitpriority=BEFORE_QUEUES)


def main(keys: list[str]) -> None:
    """Write the book, and say how large it is."""
    found = build(["" if key == previews.HOME else key for key in keys] or list(facts.pages()), FOLDER)
    size = sum(found.values())
    sys.stdout.write(f"{len(found)} files in {FOLDER}, {size / 1e6:.1f} MB\n")
    if size > LIMIT:
        sys.exit(f"the book is to stay under {LIMIT / 1e6:.0f} MB")


if __name__ == "__main__":
    # By this name other processes find its functions: Streamlit puts the app in the place of __main__.
    import_module("tools.book").main(sys.argv[1:])
