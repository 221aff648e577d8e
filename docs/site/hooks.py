"""Two things that MkDocs does not do by itself: links out of docs/, and equations without a script.

Links. A page may link to any file of the repository (`../benchmarks/speed/results/arrays.md`), so that it also reads
well where people browse the repository. Such a file is carried along into the site, under `beyond/`, with the pictures
and pages that it links to in turn.

Equations. LaTeX between dollars becomes MathML when the site is built. Few systems have a font for mathematics, so the
site brings the one that ziamath carries, STIX Two Math, and a browser needs nothing else.
"""

from __future__ import annotations

import html
import importlib.resources
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LINK = re.compile(r'(\]\(|src=")(?!\w+:|#)([^)#"\s]+)')
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
BEYOND = "beyond"  # where files from outside docs/ stand in the site
MATH_FONT = "STIXTwoMath-Regular.ttf"
ALWAYS = ("CHANGELOG.md",)  # in the navigation, whoever links to it


def place_in_repository(uri: str) -> str:
    """From a place in the site's sources to the file's place in the repository."""
    beyond = uri.removeprefix(f"{BEYOND}/")
    return beyond if beyond != uri else f"docs/{uri}"


def place_in_site(name: str) -> str:
    """The other way round."""
    inside = name.removeprefix("docs/")
    return inside if inside != name else f"{BEYOND}/{name}"


def links(text: str, name: str) -> list[str]:
    """The files of the repository that a page links to. `name` is the page's own place in the repository."""
    found = LINK.findall(FENCED.sub("", text))
    return [normpath(str(PurePosixPath(name).parent / target)) for _, target in found]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Carries along every file outside docs/ that some page links to, and the font for equations."""
    root = Path(config.config_file_path).parent
    pages = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    waiting, seen = [*ALWAYS, *pages], set(pages)
    while waiting:
        name = waiting.pop()
        path = root / name
        if name not in seen and not name.startswith(("docs/", "../")) and path.is_file():
            files.append(File.generated(config, f"{BEYOND}/{name}", abs_src_path=str(path)))
        seen.add(name)
        if path.suffix == ".md" and path.is_file():
            waiting.extend(target for target in links(path.read_text(), name) if target not in seen)
    font = importlib.resources.files("ziamath.fonts") / MATH_FONT
    files.append(File.generated(config, f"site/{MATH_FONT}", content=font.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between docs/ and the rest of the repository, as they are in the site."""
    here = place_in_repository(page.file.src_uri)

    def in_site(match: re.Match[str]) -> str:
        target = place_in_site(normpath(str(PurePosixPath(here).parent / match[2])))
        return match[1] + relpath(target, PurePosixPath(page.file.src_uri).parent)

    # Code keeps its brackets.
    parts = re.split(f"({FENCED.pattern})", markdown, flags=FENCED.flags)
    return "".join(part if part.startswith("```") else LINK.sub(in_site, part) for part in parts)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """LaTeX as MathML."""

    def mathml(match: re.Match[str]) -> str:
        return convert(html.unescape(match[2]).strip(), display="block" if match[1] == "div" else "inline")

    return EQUATION.sub(mathml, content)
