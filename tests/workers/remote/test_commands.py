"""`certify`, `run --record`, `agent_steel` and `tune` with kernels elsewhere, all else here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from agent_steel.cli import main as steel
from agent_steel.history import History
from metalbench.cli import main
from metalbench.store.store import Store

from .conftest import SECONDS, Machine
from .test_run import ANOTHER_SYSTEM

Command = Callable[..., Result]
QUICK = ("--on", "ssh://mac", "--device", "cpu", "--time", "1")
# Of its tunable's values the second is by far the better one.
SLOW_AT_FIRST = """// dispatch: twice threads_in_grid=(n) threads=(64)
// tune: WORK = 400, 0
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) v = fma(v, 1.0000001f, 1e-30f);
  y[i] = v == 12345.0f ? 0.0f : 2 * x[i];
}
"""


@pytest.fixture
def command(machine: Machine, tmp_path: Path, kernels: Path) -> Command:
    machine.has(f'exec 9> "$TEST_FIFO"; exec {sys.executable} -c "{ANOTHER_SYSTEM}" "$@"')

    def invoke(group: click.Command, *arguments: str) -> Result:
        where = ("--kernels", str(kernels), "--db", str(tmp_path / "results.db"))
        quick = QUICK if arguments[0] != "export" else QUICK[:4]
        done = CliRunner().invoke(group, [*arguments, *quick, *where])
        machine.wait_until_nothing_runs()
        return done

    return invoke


@pytest.mark.slow
def test_a_kernel_is_certified_against_the_record_there(
    command: Command, kernels: Path, tmp_path: Path
) -> None:
    path = kernels / "twice.metal"
    path.write_text(SLOW_AT_FIRST)
    recorded = command(main, "run", "twice", "--record")
    assert recorded.exit_code == 0, recorded.output
    assert "Records: 1 first." in recorded.stdout
    path.write_text(SLOW_AT_FIRST.replace("400, 0", "0"))
    done = command(main, "certify", "twice", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "FASTER" in done.stdout
    exported = json.loads((tmp_path / "twice-float32-seed.record.json").read_text())
    assert exported["machine"]["os"].endswith(" elsewhere")
    with Store(tmp_path / "results.db") as store:
        (record,) = store.records()
        assert len(record.gains) == 2
        assert min(each.low for each in record.gains) > 1


@pytest.mark.slow
def test_agent_steel_has_its_history_here_and_its_matches_there(
    command: Command, kernels: Path, tmp_path: Path
) -> None:
    (kernels / "twice.metal").write_text(SLOW_AT_FIRST)
    done = command(steel, "--kernel-name", "twice", "--candidates", "1", "--record")
    assert done.exit_code == 0, done.output
    assert "On ssh://mac: cpu (" in done.stderr
    assert "kept" in done.output
    with Store(tmp_path / "results.db") as store:
        fates = [each.status.value for each in History(store).of_task("twice")]
        assert fates == ["baseline", "kept"]
        # Tried once more to enter the leaderboard, whatever became of that.
        (entry,) = store.results(store.runs()[0])
        assert entry.tunables == {"WORK": 0}
        assert store.environment_of(entry.id)["os"].endswith(" elsewhere")
    assert "Records: 1 " in done.stderr
    best = command(steel, "export", "twice", "--out", "-")
    assert best.exit_code == 0, best.output
    assert "// tune: WORK = 0, 400" in best.stdout


@pytest.mark.slow
def test_tunables_are_tried_there_and_stored_here(command: Command, kernels: Path) -> None:
    (kernels / "twice.metal").write_text(SLOW_AT_FIRST)
    found = command(main, "tune", "twice")
    assert found.exit_code == 0, found.output
    assert "[2/2] WORK = 0" in found.stderr
    done = command(main, "run", "twice", "--tuned")
    assert done.exit_code == 0, done.output
    assert "WORK=0" in done.stdout.replace(" ", "")


@pytest.mark.slow
def test_an_interrupted_search_continues_there(
    machine: Machine, kernels: Path, tmp_path: Path
) -> None:
    where = ("--kernels", str(kernels), "--db", str(tmp_path / "results.db"))
    log = tmp_path / "log"
    read_output = ["--kernel-name", "twice,hangs", "--candidates", "1", "--no-verify-here", *QUICK]
    with log.open("wb") as out:
        command = [sys.executable, "-m", "agent_steel", *read_output, *where]
        with subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL) as child:
            machine.wait_until_begun()
            machine.drop_connections()
            assert child.wait(SECONDS) == 2
    said = log.read_text()
    assert "the connection to ssh://mac broke" in said
    assert "All that was judged is kept; `agent_steel --resume` goes on." in said
    machine.wait_until_nothing_runs()
    task = kernels / "hangs.py"
    task.write_text(task.read_text().replace("while True: pass", "fifo.close()"))
    done = CliRunner().invoke(steel, ["--resume", *where])
    assert done.exit_code == 0, done.output
    assert "On ssh://mac: cpu (" in done.stderr
    assert "[hangs] done: 1 round done" in done.stderr


# A device there that makes traces, as Metal does if it is configured so before it starts.
TRACES = """
import os, pathlib
from dataclasses import replace
from metalbench.workers import server
facts = server.device_facts
able = {'gpu_trace': os.environ.get('MTL_CAPTURE_ENABLED') == '1'}
server.device_facts = lambda device: replace(facts(device), capabilities=able)
server.check_captures = lambda device: None
def capture(device, trial, path):
    trial.compile(device)
    path.mkdir()
    (path / 'metadata').write_text(trial.entry.name)
server.capture = capture
from metalbench.__main__ import main
main()
"""


@pytest.mark.slow
def test_a_trace_is_made_there_and_brought_here(
    machine: Machine, kernels: Path, tmp_path: Path
) -> None:
    (tmp_path / "traces.py").write_text(TRACES)
    machine.has(f'exec 9> "$TEST_FIFO"; exec {sys.executable} {tmp_path}/traces.py "$@"')
    where = ("--kernels", str(kernels), "--db", str(tmp_path / "results.db"))
    trace = tmp_path / "twice.gputrace"
    options = (*QUICK[:4], "--time", "0.05", "--no-verify-here", "--capture", str(trace))
    done = CliRunner().invoke(main, ["run", "twice", *options, *where])
    assert done.exit_code == 0, done.output
    assert f"Captured in {trace}" in done.stdout.replace("\n", "")
    assert (trace / "metadata").read_text() == "twice"
    machine.wait_until_nothing_runs()
