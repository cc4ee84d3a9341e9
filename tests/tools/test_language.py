"""tools/language.py: the project's texts keep to plain technical English."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


sys.path.insert(0, str(ROOT / "tools"))
language = importlib.import_module("language")
sys.path.pop(0)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="lists files of a checkout")
def test_language_of_the_project() -> None:
    faults, modules = language.find_faults([])
    assert len(modules) > 500
    rules = ("word", "docstring", "participle")
    assert [str(each) for each in faults if each.rule in rules] == []
    packages = [each for each in modules if each.path.startswith(("metalbench/", "agent_steel/"))]
    assert len(language.find_classes(packages)) < language.MAX_CLASSES


@pytest.mark.parametrize(
    "text",
    ["# The run is told.\n", '"""Whoever calls."""\n', "raise ValueError('x is no number')\n"],
)
def test_find_words_finds_phrases_in_comments_docstrings_and_messages(text: str) -> None:
    assert len(list(language.find_words("a.py", text))) == 1


@pytest.mark.parametrize(
    "text",
    ["told = beside = 1\n", "# There is no file, and x is no longer 1.\n", "# apart from y\n"],
)
def test_find_words_skips_code_and_other_meanings(text: str) -> None:
    assert list(language.find_words("a.py", text)) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("kept", True), ("_drawn_size", True), ("checked", True), ("feed", False), ("read", False)],
)
def test_is_participle(name: str, expected: bool) -> None:
    assert language.is_participle(name) is expected


def test_find_names_finds_relative_docstrings_and_long_parameter_lists() -> None:
    text = 'def f(a, b, c, d, e, g, h):\n    """What it is."""\n'
    faults = list(language.find_names("a.py", ast.parse(text)))
    assert sorted(each.rule for each in faults) == ["docstring", "parameters"]


def test_find_once_finds_short_private_functions_that_are_used_once() -> None:
    text = "def _f(x):\n    return x\n\n\ndef g(x):\n    return _f(x)\n"
    faults = list(language.find_once("a.py", text, ast.parse(text)))
    assert [each.rule for each in faults] == ["once"]


def test_list_definitions_finds_those_inside_of_statements() -> None:
    text = """
try:
    class A:
        def f(self):
            async def g(): ...
except ValueError:
    if x:
        pass
    else:
        def h(): ...
finally:
    match x:
        case 1:
            class B: ...
y = (lambda: 1) if x else 2
"""
    found = language.list_definitions(ast.parse(text))
    assert [each.name for each in found] == ["A", "f", "g", "h", "B"]
    every = {x.name for x in ast.walk(ast.parse(text)) if isinstance(x, language.Definition)}
    assert {each.name for each in found} == every
