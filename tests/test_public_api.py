"""The names of the package: for people, for completion and for type checkers."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import metalbench

# Cheap, and each change can break another case.
pytestmark = pytest.mark.whole

SCRIPT = """import metalbench
found: int = metalbench.check_kernel("kernel.metal", {}, {}, grid=1, threadgroup=1).passed
metalbench.chekc
try:
    metalbench.time("kernel.metal", {}, {}, grid=1, threadgroup="32")
except metalbench.MetalBenchError as error:
    said: str = error
version: bytes = metalbench.__version__
device: int = metalbench._core.open()
"""
ERRORS = [
    '3: error: Module has no attribute "chekc"',
    '5: error: Argument "threadgroup" to "time" has incompatible type "str"',
    '7: error: Incompatible types in assignment (expression has type "Error"',
    '8: error: Incompatible types in assignment (expression has type "str"',
    '9: error: Incompatible types in assignment (expression has type "Device"',
]


@pytest.mark.parametrize("name", metalbench.__all__)
def test_public_names_exist_with_docstrings(name):
    found = getattr(metalbench, name)
    assert name in dir(metalbench)
    assert isinstance(found, str) or inspect.getdoc(found)


def test_names_are_looked_up_once():
    assert metalbench.check is metalbench.check
    assert "check" in vars(metalbench)
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        metalbench.chekc  # noqa: B018


def test_help_has_the_functions_with_their_arguments():
    shown = pydoc.plain(pydoc.render_doc(metalbench))
    for words in (
        "check(kernel:",
        "check_kernel(kernel:",
        "assert_kernel(kernel:",
        "time(kernel:",
        "metal_kernel(name:",
    ):
        assert words in shown


def test_a_type_checker_sees_the_names_in_a_script_of_a_users(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = ("-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"))
    answer = subprocess.run(
        [sys.executable, *command, "--python-executable", sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line.partition("script.py:")[2] for line in answer.stdout.splitlines()]
    assert [got[: len(wanted)] for got, wanted in zip(told, ERRORS, strict=True)] == ERRORS
