"""ARCHITECTURE.md and CONTRIBUTING.md name packages in their order, and files that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_packages import PACKAGES

# Cheap, and each change can break another case.
pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[1]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
FOLDERS = ("agent_steel", "benchmarks", "csrc", "docs", "kernels", "metalbench", "tests", "tools")


def paths_of(page: str) -> list[str]:
    """Return the paths that a page names as code or links to. `NAME` stands for any name."""
    text = (ROOT / page).read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", text)
    # A file of the engine in a diagram.
    code += [f"metalbench/{each}" for each in re.findall(r"\bmsl/[\w/]+(?:\.py)?", drawn(text))]
    words = [word for each in code for word in each.split()]
    named = [word for word in words if word.startswith(tuple(f"{name}/" for name in FOLDERS))]
    links = [each.partition("#")[0] for each in re.findall(r"\]\(([^)]+)\)", text)]
    return [each for each in (*named, *links) if each and "NAME" not in each and ":" not in each]


def drawn(text: str) -> str:
    """Return the text of the diagrams of a page, without paths in csrc."""
    diagrams = "".join(re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL))
    return re.sub(r"csrc/\S+", "", diagrams)


def test_architecture_lists_every_package_in_the_order_that_holds() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("<!-- packages -->\n")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", table, re.MULTILINE)
    assert [name for name, _ in rows] == [each for each in PACKAGES if each]
    assert len({purpose for _, purpose in rows}) == len(rows)


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    paths = paths_of(page)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_the_readme_links_to_a_page(page: str) -> None:
    assert f"]({page})" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    sorted((ROOT / "docs").rglob("*.md")),
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_source_paths_in_the_documentation_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:metalbench|csrc|agent_steel|tools)/[\w/.]+)`", page.read_text("utf-8")
    )
    # Headers are named as `#include` finds them.
    roots = (ROOT, ROOT / "include", ROOT / "kernels" / "include")
    assert [path for path in named if not any((each / path).exists() for each in roots)] == []


def test_every_page_of_the_documentation_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = set(re.findall(r": ([\w/.-]+\.md)$", navigation, re.MULTILINE))
    pages = {each.relative_to(ROOT / "docs").as_posix() for each in (ROOT / "docs").rglob("*.md")}
    assert pages <= listed
    assert {each for each in listed - pages if not (ROOT / each).exists()} == set()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="lists files of a checkout")
def test_no_symbolic_link_is_tracked() -> None:
    """A link to an installation exists on one machine only."""
    listed = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert listed
    assert [line for line in listed if line.startswith("120000")] == []
