"""Text of a candidate reaches the terminal and every file of `metalbench run` without its power."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_text import assert_harmless

CASES = Path(__file__).parent / "security"
FILES = {"csv": "csv", "markdown": "md", "html": "html", "junitxml": "xml", "json": "json"}
KERNEL = """// {comment}
// dispatch: relu threads_in_grid=(n) threads=(256)
#include <metal_stdlib>
using namespace metal;
{line}
kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {{
  y[i] = {statement};
}}
"""


def metalbench(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "metalbench", *arguments],
        cwd=folder,
        env={**os.environ, "METALBENCH_HOME": str(folder / "home"), **environment},
        capture_output=True,
        check=False,
    )


def assert_all_harmless(done: subprocess.CompletedProcess, folder: Path) -> str:
    """Check both streams and every file that was written; return the streams' text."""
    for path in folder.glob("out.*"):
        assert_harmless(path.read_bytes().decode())
    shown = done.stdout.decode() + done.stderr.decode()
    lines = [each for each in shown.splitlines() if not each.startswith("::error file=")]
    assert_harmless("\n".join(lines))
    return shown


@pytest.mark.parametrize("github", ["", "true"])
def test_run_of_a_candidate_with_a_hostile_exception(tmp_path: Path, github: str) -> None:
    files = [part for name, end in FILES.items() for part in (f"--{name}", f"out.{end}")]
    case = str(CASES / "escape_sequences.py")
    done = metalbench(tmp_path, "run", case, "--task", "relu", *files, GITHUB_ACTIONS=github)
    shown = assert_all_harmless(done, tmp_path)
    assert done.returncode == 1, shown
    # It is still said what was raised.
    assert "PWNED" in shown
    assert "\\x1b[31mRED" in shown
    assert len(list(tmp_path.glob("out.*"))) == len(FILES)
    commands = [line for line in shown.splitlines() if line.startswith("::")]
    assert len(commands) == (1 if github else 0)


@pytest.mark.parametrize(
    "hole",
    [
        {"line": '#error "\x1b[31mred \x9b2J \u202e"'},
        {"line": '#line 7 "\x1b]0;PWNED\x07.metal"', "statement": "undeclared"},
        {"line": '#warning "\x1b[2J"\n#error "stop"'},
        {"statement": "\x1b[31m undeclared"},
        {"statement": "x[i] /* \u2066\u202e */ + undeclared"},
        {"comment": "\x1b]8;;http://evil.example\x1b\\ \x08\x7f", "statement": "undeclared"},
        {"line": '#pragma message("::error::\x1b[31m")', "statement": "undeclared"},
        {"line": '#line 1 "\\n::error file=a::INJECTED"', "statement": "undeclared"},
    ],
)
@pytest.mark.parametrize("command", ["run", "compile"])
def test_a_kernel_with_hostile_text(tmp_path: Path, hole: dict[str, str], command: str) -> None:
    text = KERNEL.format(**{"comment": "", "line": "", "statement": "max(x[i], 0.0f)", **hole})
    (tmp_path / "relu.metal").write_text(text)
    arguments = {
        "run": ("run", "relu", "--kernels", ".", "--csv", "out.csv", "--md", "out.md"),
        "compile": ("compile", "relu.metal"),
    }[command]
    done = metalbench(tmp_path, *arguments)
    shown = assert_all_harmless(done, tmp_path)
    assert done.returncode in (1, 2), shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("command", ["show", "compile", "check", "run"])
def test_names_of_files_are_harmless(tmp_path: Path, command: str) -> None:
    name = "a\x1b[31m\u202e##[error]x.metal"
    (tmp_path / name).write_text("kernel void f( {")
    done = metalbench(tmp_path, command, name)
    shown = assert_all_harmless(done, tmp_path)
    assert done.returncode in (1, 2), shown
    assert "Traceback" not in shown


def test_docstrings_of_tasks_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text('"""Twice \\x1b[31m \\u202e [bold]\\x9b::error::x."""\n')
    done = metalbench(tmp_path, "list", "--kernels", ".")
    shown = assert_all_harmless(done, tmp_path)
    assert "Twice \\x1b[31m" in shown


@pytest.mark.parametrize("text", ['{"\x1b[31m": 1}', "\x1b]0;x\x07", '["\\u001b[31m"]'])
def test_reproduce_of_a_hostile_file_is_harmless(tmp_path: Path, text: str) -> None:
    (tmp_path / "record.json").write_text(text)
    done = metalbench(tmp_path, "reproduce", "record.json")
    shown = assert_all_harmless(done, tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in shown
