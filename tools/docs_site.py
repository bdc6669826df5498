"""What the documentation site holds besides docs/: texts from elsewhere in the repository, and a reference of tfcore.

A hook of MkDocs (`make docs`). Every text stays where readers of the repository look for it. A relative link of any of
them leads to the page made of that file; a file that is no page, such as a picture or a compose file, is carried along.
"""

import ast
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# page of the site: the file of the repository that it shows
TEXTS = {
    "index.md": "README.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "hosting.md": "deploy/README.md",
    **{
        f"models/{card.parent.name}.md": card.relative_to(ROOT).as_posix()
        for card in sorted((ROOT / "tfcore" / "pretrained").glob("*/CARD.md"))
    },
    **{
        f"models/{card.name}": card.relative_to(ROOT).as_posix()
        for card in sorted((ROOT / "tfcore" / "loading" / "cards").glob("*.md"))
    },
    **{f"{path.stem}.md": f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))},
}
CARRIED = "files"  # the folder of the site for files that are no pages
ALWAYS = ["assets/icon.svg"]  # the site's logo
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
REFERENCE = "reference"


def on_config(config: MkDocsConfig) -> None:
    """The entry `reference/` of the navigation becomes the tree of tfcore's modules."""
    assert config.nav is not None
    for entry in config.nav:
        if isinstance(entry, dict) and entry.get("Reference") == f"{REFERENCE}/":
            entry["Reference"] = navigation(ROOT / "tfcore")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Texts from outside docs/, the files they link to, and one page for each module."""
    for page, source in TEXTS.items():
        if not source.startswith("docs/"):
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    linked = (repository_path(source, link) for source in TEXTS.values() for link in links(source))
    for path in sorted({*ALWAYS, *linked} - set(TEXTS.values())):
        if (ROOT / path).is_file():
            files.append(File.generated(config, f"{CARRIED}/{path}", abs_src_path=str(ROOT / path)))
    for module in modules(ROOT / "tfcore"):
        files.append(File.generated(config, page_of(module), content=reference(module)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Links that lead to files of the repository lead to where the site has them."""
    source = TEXTS.get(page.file.src_uri)
    if source is None:
        return markdown
    here = Path(page.file.src_uri).parent
    return LINK.sub(lambda link: os.path.relpath(place(repository_path(source, link[1])), here), markdown)


def place(path: str) -> str:
    """Where the site has a file of the repository."""
    return next((page for page, source in TEXTS.items() if source == path), f"{CARRIED}/{path}")


def links(source: str) -> list[str]:
    """The relative links of a text, without what follows a #."""
    return LINK.findall((ROOT / source).read_text("utf-8"))


def repository_path(source: str, link: str) -> str:
    """Where a link in a text leads: deploy/README.md, ../docs/settings.md -> docs/settings.md."""
    return os.path.normpath(Path(source).parent / link)


def modules(package: Path) -> list[Path]:
    """The modules of a package that others import, packages before what they hold."""
    return [path for path in sorted(package.rglob("*.py")) if not path.stem.startswith("_") or path.stem == "__init__"]


def reference(path: Path) -> str:
    """The page of a module; that of a package lists what it holds."""
    name = module_name(path)
    text = f"# {name}\n\n::: {name}\n"
    if path.stem != "__init__":
        return text
    here, page = path.parent, Path(page_of(path))
    held = [other for other in modules(here) if other != path and here in (other.parent, package(other))]
    links = {other: f"[`{module_name(other)}`]({os.path.relpath(page_of(other), page.parent)})" for other in held}
    rows = (f"| {link} | {first_line(other)} |" for other, link in links.items())
    return "\n".join((text, "| module | what it holds |", "|---|---|", *rows, ""))


def package(path: Path) -> Path | None:
    """The folder that holds a package, given its __init__.py."""
    return path.parent.parent if path.stem == "__init__" else None


def first_line(path: Path) -> str:
    """The first sentence of a module's docstring, or its first line."""
    words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return re.split(r"(?<=\.)\s|\n\n|:\n", words.replace("|", "\\|"))[0].replace("\n", " ")


def module_name(path: Path) -> str:
    """tfcore/measures/leaks.py -> tfcore.measures.leaks; a package is its __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def page_of(path: Path) -> str:
    """reference/tfcore/measures/leaks.md; a package's page is the index of its folder."""
    page = path.with_name("index.md") if path.stem == "__init__" else path.with_suffix(".md")
    return f"{REFERENCE}/{page.relative_to(ROOT).as_posix()}"


def navigation(package: Path) -> list[Any]:
    """A package's own page, then its packages, then its modules."""
    own = [path for path in modules(package) if path.parent == package]
    packages = [folder for folder in sorted(package.iterdir()) if (folder / "__init__.py").is_file()]
    return [
        *(page_of(path) for path in own if path.stem == "__init__"),
        *({folder.name: navigation(folder)} for folder in packages),
        *({path.stem: page_of(path)} for path in own if path.stem != "__init__"),
    ]
