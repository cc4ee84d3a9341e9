"""No command loads a kernel's object in its own process, whatever it does with the kernel."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench import _core
from metalbench.cli import main
from metalbench.cli.group import OWN
from metalbench.kernel.library import Library

FREE = """// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: twice threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""
# KERNELS is a folder with the task `good`, FILE a source without a task, DB a store.
OF_TASKS = ("--kernels", "KERNELS")
KEPT = (*OF_TASKS, "--db", "DB")
# A repository with the task `good` alone: others of the folder hang.
OF_REPOSITORY = ("--kernels", "REPOSITORY", "--db", "DB")
SHORT = ("--device", "cpu", "--time", "0.01")
QUICK = {
    "compile": ("compile", "FILE"),
    "compile, checked": ("compile", "FILE", "--checked"),
    "compile, how it runs": ("compile", "FILE", "--emit", "engine"),
    "compile, as C++": ("compile", "FILE", "--emit", "cpp", "--function", "twice"),
    "show": ("show", "good", "--device", "cpu", *KEPT),
    "show, how it runs": ("show", "good", "--engine", *KEPT),
    "snap": ("snap", "good", "--write", "--file", "SNAPSHOTS", *OF_TASKS),
    "check": ("check", "good", *OF_TASKS),
    "export": ("export", "good", "--standalone", "-o", "FOLDER", *OF_TASKS),
    "check of a file": ("check", "FILE"),
    "profile": ("profile", "good", *OF_TASKS),
    "profile of a file": ("profile", "FILE"),
    "run": ("run", "good", *KEPT, *SHORT),
}
SLOW = {
    "run, with several": ("run", "good", "prints", *KEPT, *SHORT),
    "run against itself": ("run", "good", "--ab-control", *KEPT, *SHORT),
    "sweep": ("sweep", "good", "--param", "n=64,128", *KEPT, *SHORT),
    "compare": ("compare", "good@HEAD", *OF_REPOSITORY, *SHORT),
    "puzzles": ("puzzles", "check", "1", "PUZZLE"),
    "certify": ("certify", "good", *KEPT, *SHORT),
    "evaluate": ("evaluate", "RUN", "--collect", "SET", *OF_REPOSITORY, *SHORT),
}
# Commands that are given no kernel, or run it as one of those above does: a search takes minutes.
WITHOUT = {
    *("list", "history", "summary", "leaderboard", "new", "import-torch", "admit", "completion"),
    *("analyse", "serve", "reproduce", "report", "tune", "calibrate"),
}
# Which run kernels of this package in their own process: the trial of a device, and operations.
OWN_KERNELS = {"doctor", "hlo"}


def invoke(command: Sequence[str], folder: Path, tmp_path: Path) -> Result:
    """Run a command with places for what it names."""
    free = tmp_path / "free.metal"
    free.write_text(FREE)
    places = {
        "KERNELS": folder,
        "FILE": free,
        "REPOSITORY": tmp_path / "repository",
        "SET": Library([folder]).entry("good").set,
        "DB": tmp_path / "a.db",
        "SNAPSHOTS": tmp_path / "snapshots.json",
        "RUN": tmp_path / "run",
        "FOLDER": tmp_path / "exported",
        "PUZZLE": Path(__file__).parents[2] / "puzzles" / "01_map.metal",
    }
    if "REPOSITORY" in command:
        _commit(folder, tmp_path / "repository")
    return CliRunner().invoke(main, [str(places.get(each, each)) for each in command])


@pytest.mark.parametrize(
    "command",
    [
        *(pytest.param(each, id=name) for name, each in QUICK.items()),
        *(pytest.param(each, id=name, marks=pytest.mark.slow) for name, each in SLOW.items()),
    ],
)
def test_commands_load_no_kernel_in_their_own_process(
    command: Sequence[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where `certify` writes to
    before, mapped = _core.kernels_loaded(), _mapped()
    done = invoke(command, folder, tmp_path)
    # Of `--ab-control` the probe of the clock, which is ours.
    assert _core.kernels_loaded() == before or "--ab-control" in command
    assert _mapped() <= mapped
    assert done.exit_code in (0, 1), done.output
    assert done.exit_code == 0 or command[0] not in ("compile", "show", "snap"), done.output


def test_code_requested_in_this_process_is_loaded_here(folder: Path, tmp_path: Path) -> None:
    before = _core.kernels_loaded()
    done = invoke(("run", "good", "--in-process", *KEPT, *SHORT), folder, tmp_path)
    assert done.exit_code == 0, done.output
    assert _core.kernels_loaded() > before


def test_devices_load_here_again_after_a_command(folder: Path, tmp_path: Path) -> None:
    invoke(("show", "good", *KEPT), folder, tmp_path)
    before = _core.kernels_loaded()
    _core.open("cpu").compile(FREE).pipeline()
    assert _core.kernels_loaded() == before + 1


def test_every_command_is_among_these() -> None:
    tried = {command[0] for command in (*QUICK.values(), *SLOW.values())}
    assert set(OWN) == tried | WITHOUT | OWN_KERNELS


def test_facts_of_a_kernel_do_not_depend_on_the_loading_process(
    folder: Path, tmp_path: Path
) -> None:
    free = tmp_path / "free.metal"
    free.write_text(FREE)
    done = CliRunner().invoke(main, ["compile", str(free), "--device", "cpu"])
    pipeline = _core.open("cpu").compile(FREE, filename=str(free)).pipeline()
    assert done.exit_code == 0, done.output
    assert pipeline.name in done.output
    assert str(pipeline.max_threads) in done.output
    for argument in pipeline.arguments:
        assert argument.name in done.output


def _commit(folder: Path, repository: Path) -> None:
    """Make a repository of the task `good`."""
    repository.mkdir()
    for name in ("good.py", "good.metal"):
        (repository / name).write_text((folder / name).read_text())
    as_somebody = ["-c", "user.name=somebody", "-c", "user.email=somebody@localhost"]
    for arguments in (["init", "-q"], ["add", "."], [*as_somebody, "commit", "-qm", "good"]):
        subprocess.run(["git", "-C", str(repository), *arguments], check=True)


def _mapped() -> set[str]:
    """Files of the cache of compiled kernels that this process has mapped."""
    from metalbench import build_cache

    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return {line.split()[-1] for line in lines if str(build_cache.find_cache_folder()) in line}
