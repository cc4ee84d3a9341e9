"""Hooks of mkdocs: pages of the repository's root, the help of all commands, links to sources.

`pip install '.[docs]' && mkdocs build --strict` builds the site in build/site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "KERNELS.md")
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are in the root of the repository."""
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adapt the links of a page to the site, and fill in the help of all commands."""
    source = page.file.src_uri
    markdown = markdown.replace("<!-- commands -->", render_commands())
    markdown = _LINK.sub(lambda link: _adapt_link(link, source), markdown)
    # `y[r][c]` in the description of a kernel is not a reference.
    return markdown.replace("][", "]\\[") if source == "KERNELS.md" else markdown


def _adapt_link(link: re.Match[str], source: str) -> str:
    """Return a link for the site. Of a link to a file that is not a page only the text remains."""
    text, target, anchor = link[1], link[2], link[3] or ""
    folder = "" if source in PAGES else posixpath.join("docs", posixpath.dirname(source))
    path = posixpath.normpath(posixpath.join(folder, target))
    if path in PAGES:
        path = posixpath.join("docs", path)
    if path.startswith("docs/") and path.endswith(".md"):
        here = posixpath.join("docs", posixpath.dirname(source))
        return f"[{text}]({posixpath.relpath(path, here)}{anchor})"
    return text if (ROOT / path).exists() else link[0]


def render_commands() -> str:
    """Return the help of every command as Markdown."""
    from metalbench.cli.group import main

    sections = []

    def visit(command: click.Command, path: str, parent: click.Context | None) -> None:
        context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
        sections.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None and not found.hidden:
                    visit(found, f"{path} {name}", context)

    visit(main, "metalbench", None)
    return "\n".join(sections)
