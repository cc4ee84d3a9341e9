"""``metalbench snap``: which changes of a kernel, its task and the file of hashes it tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench.cli import main


class Snap:
    """Runs the command on the folder's kernels, with a separate file."""

    def __init__(self, kernels: Path) -> None:
        self.kernels = kernels
        self.file = kernels / "snapshots.json"

    def __call__(self, *arguments: str) -> Result:
        command = ["snap", *arguments, "--kernels", str(self.kernels), "--file", str(self.file)]
        return CliRunner().invoke(main, command)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.kernels / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def snap(kernels: Path) -> Snap:
    return Snap(kernels)


def test_snap_reports_changed_bits_only(snap: Snap) -> None:
    assert "cannot be read" in snap("twice").output
    assert snap("twice", "--write").output == f"1 not in the file\n1 snapshots in {snap.file}\n"
    assert (snap("twice").exit_code, snap("twice").output) == (0, "1 same\n")
    snap.edit("twice.metal", "2 * x[i]", "x[i] + x[i]")
    assert snap("twice").exit_code == 0
    snap.edit("twice.metal", "x[i] + x[i]", "2 * x[i] + (i == 7 ? 1e-6f : 0)")
    changed = snap("twice")
    assert (changed.exit_code, changed.output) == (1, "twice float32: changed\n1 changed\n")
    assert snap("twice", "--write").exit_code == 0
    assert snap("twice").exit_code == 0


def test_snap_does_not_compare_outputs_of_other_inputs(snap: Snap) -> None:
    snap("twice", "--write")
    snap.edit("twice.py", 'normal("n")', 'normal("n").only()')
    snap.edit("twice.py", "small=dict(n=100)", "small=dict(n=101)")
    other = snap("twice")
    assert (other.exit_code, other.output) == (0, "twice float32: other inputs\n1 other inputs\n")


def test_snap_reports_failures_and_keeps_known_snapshots(snap: Snap) -> None:
    snap("twice", "--write")
    result = snap("twice", "thrice", "broken")
    assert result.exit_code == 1
    assert "thrice float32: not in the file" in result.output
    assert "use of undeclared identifier 'z'" in result.output
    assert result.output.endswith("1 same, 1 not in the file, 1 failed\n")
    assert snap("thrice", "broken", "--write").exit_code == 1
    assert sorted(json.loads(snap.file.read_text())) == ["thrice", "twice"]


def test_snap_refuses_other_files(snap: Snap) -> None:
    snap.file.write_text('{"twice": 3}')
    result = snap("twice")
    assert result.exit_code == 2
    assert "expected snapshots" in result.output
