"""``metalbench check``: what it prints and writes, and how it ends."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from metalbench.cli import main

KERNEL = """\
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(32)
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i + SHIFT];
}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = KERNEL.replace("// dispatch", "// tune: SHIFT = 1, 0\n// dispatch")
    (tmp_path / "k.metal").write_text(text)
    return "k.metal"


def ran(*arguments: str):
    return CliRunner().invoke(main, ["check", *arguments])


def test_check_exits_with_1_and_prints_findings_like_a_compiler(file):
    told = ran(file)
    assert told.exit_code == 1, told.output
    assert "k.metal:7:10: error: out-of-bounds: read of 4 bytes past the end of `x`" in told.output
    assert "   7 |   y[i] = x[i + SHIFT];\n       |          ^" in told.output
    assert "kernel k, element 100 of `x`, once" in told.output
    assert told.output.endswith("k: 1 error (mem, race, init, sync, arithmetic; size file)\n")


def test_check_without_findings_exits_with_0(file):
    told = ran(file, "--tune", "SHIFT=0")
    assert told.exit_code == 0, told.output
    assert told.output == "k: no errors (mem, race, init, sync, arithmetic; size file)\n"


def test_wrong_usage_ends_with_2(file):
    assert ran("no_such_kernel").exit_code == 2
    assert ran(file, "--tool", "everything").exit_code == 2
    assert ran(file, "--tune", "SHIFT").exit_code == 2


def test_json_has_everything_for_programs(file):
    told = ran(file, "--json", "k.json")
    assert told.exit_code == 1
    with open("k.json") as stream:
        record = json.load(stream)
    (finding,) = record["findings"]
    assert not record["passed"]
    assert finding["kind"] == "out-of-bounds"
    assert finding["tool"] == "mem"
    assert finding["frames"][0] == {"function": "k", "file": file, "line": 7, "column": 10}
    assert (finding["buffer"], finding["element"], finding["byte"]) == ("x", 100, 400)
    assert finding["thread"] == [3, 0, 0]


def test_check_prints_valid_sarif(file):
    told = ran(file, "--sarif", "-")
    log = json.loads(told.stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": file, "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 7, "startColumn": 10}
    assert result["level"] == "error"
    assert "1 error" in told.stderr


def test_check_marks_allowed_findings_in_sarif(file, tmp_path):
    path = tmp_path / file
    path.write_text(
        path.read_text().replace("SHIFT];", "SHIFT];  // check: allow out-of-bounds it is padded")
    )
    told = ran(file, "--sarif", "k.sarif")
    assert told.exit_code == 0, told.output
    assert "k.metal:7:10: allowed: out-of-bounds: it is padded" in told.output
    log = json.loads((tmp_path / "k.sarif").read_text())
    assert log["runs"][0]["results"][0]["suppressions"] == [
        {"kind": "inSource", "justification": "it is padded"}
    ]


def test_check_help_explains_the_header_lines():
    told = ran("--help").output
    for words in ("// buffer:", "// check: allow", "same-value-race", "Exit codes"):
        assert words in told


def test_several_kernels_are_checked_one_after_the_other(file, tmp_path):
    (tmp_path / "other.metal").write_text(KERNEL.replace("SHIFT", "0"))
    (tmp_path / "broken.metal").write_text(KERNEL.replace("SHIFT", "unknown"))
    told = ran(file, "other.metal", "--json", "both.json", "--sarif", "both.sarif")
    assert told.exit_code == 1, told.output
    assert "k: 1 error (" in told.output
    assert told.output.endswith("other: no errors (mem, race, init, sync, arithmetic; size file)\n")
    first, second = json.loads((tmp_path / "both.json").read_text())
    assert (first["kernel"], first["passed"]) == ("k", False)
    assert (second["kernel"], second["passed"]) == ("other", True)
    (run,) = json.loads((tmp_path / "both.sarif").read_text())["runs"]
    assert len(run["results"]) == 1
    told = ran("broken.metal", "other.metal", "--json", "one.json")
    assert told.exit_code == 2
    (other,) = json.loads((tmp_path / "one.json").read_text())
    assert other["kernel"] == "other"
    assert "use of undeclared identifier 'unknown'" in told.output
    assert "other: no errors" in told.output
    assert "Error: not checked: broken.metal" in told.output


OF_RELU = """\
// dispatch: mine threads_in_grid=(rows * cols) threads=(32)
kernel void mine(device const DTYPE* x, device DTYPE* y, uint i [[thread_position_in_grid]]) {
  y[i] = metal::max(x[i + 1], DTYPE(0));
}
"""


def test_a_file_is_checked_and_profiled_as_a_kernel_of_a_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.metal").write_text(OF_RELU)
    told = ran("mine.metal", "--task", "relu")
    assert told.exit_code == 1, told.output
    assert "mine.metal:3" in told.output
    assert "out-of-bounds: read of 4 bytes past the end of" in told.output
    counted = CliRunner().invoke(main, ["profile", "mine.metal", "--task", "relu"])
    assert counted.exit_code == 0, counted.output
    assert "device: bytes read" in counted.output
    for command in ("check", "profile"):
        said = CliRunner().invoke(main, [command, "relu", "--task", "relu"])
        assert "--task: expected a FILE.metal with it, got relu" in said.output


def test_a_file_without_declarations_gets_the_lines_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.metal").write_text(
        OF_RELU.replace("DTYPE", "float").replace("rows * cols", "64")
    )
    told = ran("bare.metal")
    assert told.exit_code == 2
    assert "write `// buffer: x float32 (SIZE)`" in told.output
    assert "name its task with --task" in told.output
