"""The examples of the README and its pages work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
TUTORIAL = DOCS / "tutorial" / "first-kernel.md"
TESTING = DOCS / "how-to" / "testing.md"
TENSORS = DOCS / "how-to" / "tensors.md"


def block(language: str, containing: str, page: Path = README) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)
    (found,) = [each for each in blocks if containing in each]
    return found


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


def test_the_script_of_scripting_runs():
    answer = run("-c", block("python", "_core.open", DOCS / "how-to" / "scripting.md"))
    assert answer.stderr == ""
    assert answer.stdout.startswith("[0. 3. 6. 9.] ")
    assert answer.stdout.endswith(" ns\n")


@pytest.mark.slow
def test_the_script_of_records_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_HOME", str(tmp_path))
    answer = run("-c", block("python", "submit(device", DOCS / "how-to" / "leaderboard.md"))
    assert answer.stderr == ""
    # A time without an interval, as a busy machine has it, is the one other outcome.
    expected = ("first record - there was none", "refused - its time has no int")
    assert answer.stdout.startswith(expected), answer.stdout


def test_the_two_commands_come_with_their_requirements():
    text = README.read_text()
    commands = [block("console", "metalbench run\n"), block("console", "pytest")]
    assert commands == ["pip install . && metalbench run\n", "pip install '.[test]' && pytest\n"]
    before = text.partition(commands[0])[0]
    assert "Python 3.10 or newer, in a virtual environment" in before
    assert "python3 -m venv" in before
    # A Mac's own Python is too old, and Homebrew's takes no packages outside of an environment.
    mac = block("console", "brew").splitlines()
    assert mac[0] == "xcode-select --install; brew install python"
    assert mac[1] == '"$(brew --prefix)/bin/python3" -m venv .venv && . .venv/bin/activate'
    assert before.index("MLX / kernel") < before.index("Python 3.10")


def test_the_fixtures_test(tmp_path):
    (tmp_path / "test_scale.py").write_text(block("python", "SCALE = ", TESTING))
    answer = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "1 passed" in answer.stdout


def test_the_commands_for_ci(tmp_path):
    own_kernel(tmp_path / "kernels")
    short = ("--db", str(tmp_path / "results.db"), "--time", "0.05")
    codes = []
    for line in block("console", "--baseline", TESTING).splitlines():
        name, *arguments = shlex.split(line)
        assert name == "metalbench"
        command = [sys.executable, "-m", "metalbench", *arguments, *short]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        codes.append((answer.returncode, answer.stdout + answer.stderr))
        assert "1 of 1 correct" in answer.stdout or "double  correct" in answer.stdout
    (first, first_output), (second, second_output) = codes
    assert first == 0, first_output
    suite = ElementTree.parse(tmp_path / "results.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["double[float32-seed]"]
    # Other programs may make the second run slower than the first. Only that ends it with 1.
    failed = [each.get("type") for tag in ("failure", "error") for each in suite.iter(tag)]
    assert failed in ([], ["REGRESSION"]), second_output
    assert second == len(failed), second_output


def own_kernel(folder: Path) -> None:
    folder.mkdir()
    (folder / "double.py").write_text(block("python", "def double", TUTORIAL))
    (folder / "double.metal").write_text(block("metal", "kernel void twice", TUTORIAL))


def test_a_users_kernel_takes_two_files(tmp_path):
    own_kernel(tmp_path / "own")
    options = (
        "--kernels",
        str(tmp_path / "own"),
        "--db",
        str(tmp_path / "results.db"),
        "--time",
        "0.1",
    )
    answer = run("-m", "metalbench", "run", "double", *options)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "double  correct" in answer.stdout


def test_the_kernel_with_tensors(tmp_path):
    (tmp_path / "fused_linear.py").write_text(block("python", "def fused_linear", TENSORS))
    (tmp_path / "fused_linear.metal").write_text(block("metal", "kernel void linear", TENSORS))
    database = ("--db", str(tmp_path / "results.db"))
    commands = block("console", "metalbench run fused_linear", TENSORS).splitlines()
    expected = ("fused_linear  correct", "fused_linear: no errors")
    for line, found in zip(commands, expected, strict=True):
        name, *arguments = shlex.split(line)
        assert name == "metalbench"
        options = (*database, "--time", "0.05") if arguments[0] == "run" else ()
        command = [sys.executable, "-m", "metalbench", *arguments, *options]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert found in answer.stdout + answer.stderr
