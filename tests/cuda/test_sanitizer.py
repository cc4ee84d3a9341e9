"""`metalbench check --tool compute-sanitizer` over the double of NVIDIA's driver.

A program of the same name stands for NVIDIA's: it runs what it is given, and prints reports of the
form that NVIDIA's has, about addresses that the kernel really got.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from cuda_double.running import run_python

from metalbench.cli import main

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="NVIDIA's driver is for Linux, and so is its double",
)

KERNEL = """\
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(32)
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
"""
PROGRAM = """\
#!{python}
import json, os, subprocess, sys

if "REPORTS" not in os.environ:
    sys.exit("Unable to find injection library")
given = sys.argv[1:]
tool, log = given[given.index("--tool") + 1], given[given.index("--log-file") + 1]
ran = subprocess.run(given[given.index(sys.executable):])
at = {{}}
if os.path.exists(given[-1]):
    with open(given[-1]) as stream:
        at = {{name: begin for name, (begin, _) in json.load(stream).items()}}
texts = json.loads(os.environ["REPORTS"])
with open(log, "w") as stream:
    stream.write("========= COMPUTE-SANITIZER\\n")
    if at:
        stream.write(texts.get(tool, "").format(past=hex(at["x"] + 400), far=hex(16), **at))
sys.exit(ran.returncode)
"""
MEMCHECK = """\
========= Invalid __global__ read of size 4 bytes
=========     at mb_entry+0x150 in {file}:6
=========     by thread (3,0,0) in block (3,0,0)
=========     Address {{past}} is out of bounds
=========     and is 1 bytes after the nearest allocation at {{past}} of size 400 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at mb_entry+0x160
=========     by thread (1,0,0) in block (0,0,0)
=========     Address {{far}} is out of bounds
"""
RACECHECK = """\
========= Error: Race reported between Write access at mb_entry+0x90 in {file}:6
=========     and Read access at mb_entry+0x100 in {file}:5 [508 hazards]
"""


@pytest.fixture
def checked(tmp_path: Path):
    """The command with reports by NVIDIA's names of tools: its code and its findings."""
    program = tmp_path / "bin" / "compute-sanitizer"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    file, saved = tmp_path / "k.metal", tmp_path / "saved.json"
    file.write_text(KERNEL)

    def run(tool: str, reports: bool = True, **texts: str):
        said = json.dumps({name: text.format(file=file) for name, text in texts.items()})
        answer = run_python(
            *("-m", "metalbench", "check", str(file), "--device", "cuda", "--tool", tool),
            *("--json", str(saved)),
            PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            **({"REPORTS": said} if reports else {}),
        )
        found = json.loads(saved.read_text())["findings"] if saved.is_file() else None
        return answer, found

    return run


def test_reports_are_findings_with_buffer_thread_and_line(checked, tmp_path) -> None:
    answer, found = checked("compute-sanitizer", memcheck=MEMCHECK, racecheck=RACECHECK)
    assert answer.returncode == 1, answer.stdout
    by_kind = {each["kind"]: each for each in found}
    assert set(by_kind) == {"out-of-bounds", "wild-pointer", "race"}
    past = by_kind["out-of-bounds"]
    assert past["message"].startswith("read of 4 bytes past the end of `x`: at byte 400 of 400")
    assert (past["kernel"], past["buffer"], past["element"]) == ("k", "x", 100)
    assert (past["thread"], past["threadgroup"]) == ([3, 0, 0], [3, 0, 0])
    assert past["frames"][0]["file"] == str(tmp_path / "k.metal")
    assert past["frames"][0]["line"] == 6
    assert by_kind["wild-pointer"]["frames"] == []
    assert by_kind["race"]["count"] == 508
    assert "the other access is at" in by_kind["race"]["message"]
    assert "(mem, race, init, sync; size file)" in answer.stdout


def test_check_runs_the_named_sanitizer_tools_only(checked) -> None:
    answer, found = checked("compute-sanitizer,race", memcheck=MEMCHECK, racecheck=RACECHECK)
    assert [each["kind"] for each in found] == ["race"], answer.stdout


def test_a_kernel_without_reports_passes(checked) -> None:
    answer, found = checked("compute-sanitizer")
    assert (answer.returncode, found) == (0, []), answer.stdout


def test_the_sanitizer_reports_why_kernels_cannot_run(checked) -> None:
    answer, found = checked("compute-sanitizer,mem", reports=False)
    assert found is None
    assert answer.returncode not in (0, 1)
    assert "Unable to find injection library" in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--device", "cuda"], "expected --tool compute-sanitizer, got all"),
        (["--tool", "compute-sanitizer"], "expected --device cuda, got cpu"),
        (["--device", "cuda", "--tool", "compute-sanitizer,arithmetic"], "it has no arithmetic"),
    ],
)
def test_check_wrong_usage_lists_valid_options(arguments: list[str], expected: str) -> None:
    result = CliRunner().invoke(main, ["check", "softmax", *arguments])
    assert result.exit_code == 2
    assert expected in " ".join(result.output.split())


def test_a_missing_sanitizer_is_reported_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    arguments = ["check", "softmax", "--device", "cuda", "--tool", "compute-sanitizer"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "pip install nvidia-cuda-sanitizer-api" in " ".join(result.output.split())
