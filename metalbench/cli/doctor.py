"""``metalbench doctor``: examine what works on this machine, and report the confinement."""

from __future__ import annotations

import importlib
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metalbench.cli.options import store_option
from metalbench.process import usable_cores
from metalbench.store.environment import environment

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.sandbox.proof import Proof
    from metalbench.sandbox.resources import Limits


# Possible actions of code that escapes its language, if a mechanism does not hold.
_WITHOUT = {
    "files": "such code could open every file that you may, until the process is sealed",
    "system calls": "such code could start programs, open files and sockets, and signal others",
    "network": "the filter of system calls alone keeps such code from the network",
    "sockets": "the network namespace alone keeps such code from the network",
    "children": "a process that such code starts could outlive the run",
    "a sealed process": "such code could start programs, open files and sockets, and signal others",
}


def describe_proof(proof: Proof) -> str:
    """Describe a mechanism, what was tried, and the risk if it does not hold, in one line."""
    if proof.holds:
        return f"{proof.name}: held by {proof.means}; refused: {', '.join(proof.refused)}"
    why = proof.reason or f"{', '.join(proof.done)} went through"
    return f"{proof.name}: not held by {proof.means} ({why}); {_WITHOUT[proof.name]}"


# Examine the parts of the installation. Each examination tries its part; none raises.

REINSTALL = "pip install --force-reinstall metalbench"
WITHOUT_PROCESSES = "metalbench run --in-process"
WITHOUT_STRANGERS = "run kernels that you do not trust in a container or a virtual machine"
TRIAL = """
#include <metal_stdlib>
using namespace metal;
kernel void trial(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = simd_sum(x[i]);
}
"""
LANES = 32
SAMPLE = Path(__file__).parent / "sample"


class Health(str, Enum):
    """The state of a part. ABSENT is not a fault of the installation."""

    GOOD = "ok"
    ABSENT = "absent"
    BROKEN = "broken"


@dataclass(frozen=True)
class ExaminationResult:
    """The result of an examination, and the command that fixes it; empty if none is needed."""

    health: Health
    detail: str
    remedy: str = ""


Examination = Callable[[], ExaminationResult]


def examinations(db: Path | None = None) -> Iterator[tuple[str, Examination]]:
    """Yield name and examination of every part, in the order of their dependencies."""
    yield "machine", _machine
    yield "_core", partial(_run_guarded, _core, REINSTALL)
    yield "clang", partial(_run_guarded, _clang, "pip install ziglang, or set METALBENCH_CLANG")
    yield (
        "cpu device",
        partial(_run_guarded, _cpu, f"fix clang first; if that is ok, {REINSTALL}"),
    )
    yield "metal device", partial(_run_guarded, _metal, REINSTALL)
    yield "cuda device", partial(_run_guarded, _cuda, REINSTALL)
    yield "mlx", partial(_run_guarded, _mlx, _mlx_remedy())
    yield "library", partial(_run_guarded, _library, REINSTALL)
    yield "isolation", partial(_run_guarded, _isolation, WITHOUT_PROCESSES)
    yield "confinement", partial(_run_guarded, _confinement, WITHOUT_STRANGERS)
    yield "store", partial(_run_guarded, partial(_store, db), "metalbench run --db FILE")
    yield "cache", partial(_run_guarded, _cache, "export METALBENCH_CACHE=DIR")


def _run_guarded(examine: Examination, remedy: str) -> ExaminationResult:
    """Run an examination; an exception of it is a finding."""
    try:
        return examine()
    except Exception as error:
        return ExaminationResult(Health.BROKEN, f"{type(error).__name__}: {error}", remedy)


def _machine() -> ExaminationResult:
    here = environment()
    cores = usable_cores()
    detail = f"{here.os} on {here.machine}, {here.cpu}, {cores} cores, Python {here.python}"
    if cores < 2:
        remedy = "give it a second core: one core times kernels and everything else at once"
        return ExaminationResult(Health.ABSENT, detail, remedy)
    return ExaminationResult(Health.GOOD, detail)


def _core() -> ExaminationResult:
    from importlib.metadata import version

    from metalbench import _core

    devices = ", ".join(_core.devices())
    return ExaminationResult(Health.GOOD, f"metalbench {version('metalbench')}; devices: {devices}")


def _clang() -> ExaminationResult:
    from metalbench.msl.toolchain.clang import find_toolchain

    tools = find_toolchain()
    return ExaminationResult(Health.GOOD, f"{tools.version} ({tools.clang[0]})")


def _cpu() -> ExaminationResult:
    from metalbench import _core

    device = _core.open("cpu")
    return _trial(device) or ExaminationResult(
        Health.GOOD, f"{device.name}, {device.cores} cores; a trial kernel ran correctly"
    )


def _trial(device: Device) -> ExaminationResult | None:
    """Run a kernel; return a finding if it fails."""
    import numpy as np

    from metalbench import _core

    values = np.arange(LANES, dtype=np.float32)
    memory = device.buffer(values.copy())
    pipeline = device.compile(TRIAL, filename="trial.metal").pipeline()
    launch = _core.Dispatch(pipeline, {"x": memory}, threads_in_grid=LANES, threads=LANES)
    device.run([launch])
    got = memory.numpy("float32")
    if not np.array_equal(got, np.full(LANES, values.sum())):
        detail = f"a trial kernel gave {got[0]}, expected {values.sum()}"
        return ExaminationResult(Health.BROKEN, detail, REINSTALL)
    return None


def _metal() -> ExaminationResult:
    from metalbench import _core

    if "metal" in _core.devices():
        return _gpu(_core.open("metal"))
    if sys.platform == "darwin":
        return ExaminationResult(Health.ABSENT, "this build has no Metal device")
    return ExaminationResult(
        Health.ABSENT, f"needs a Mac; on {platform.system()} kernels run on the cpu device"
    )


def _cuda() -> ExaminationResult:
    from metalbench import _core

    try:
        device = _core.open("cuda")
    except _core.Unsupported as error:
        return ExaminationResult(Health.ABSENT, str(error).removeprefix("cuda: "))
    found = _gpu(device)
    without = _without_mlx("cuda")
    return replace(found, detail=f"{found.detail}\n{without}") if without else found


def _without_mlx(kind: str) -> str:
    """Return a warning if MLX does not have the GPU of that kind; empty if it has."""
    from metalbench.reference.chain import explain_missing_gpu

    return explain_missing_gpu(kind)


def _gpu(device: Device) -> ExaminationResult:
    from metalbench.report.warnings import facts_text
    from metalbench.store.result import list_device_warnings

    wrong = _trial(device)
    if wrong is not None:
        return wrong
    state = device.state()
    chip = f" ({device.chip})" if device.chip else ""
    cores = f"{device.cores} cores" if device.cores else "the number of cores is unknown"
    lines = (
        f"{device.name}{chip}, {cores}; a trial kernel ran correctly",
        facts_text(device.capabilities),
        facts_text(state),
    )
    against = list_device_warnings(state)
    health = Health.ABSENT if against else Health.GOOD
    return ExaminationResult(health, "\n".join(filter(None, lines)), "\n-> ".join(against))


def _mlx() -> ExaminationResult:
    from metalbench import _core

    mx = importlib.import_module("mlx.core")
    from metalbench.reference import evaluate
    from metalbench.reference.evaluate import select_stream

    fused = mx.compile(lambda x: mx.exp(0 * x) + x)
    # The MLX device on which references run.
    with mx.stream(select_stream(_core.devices()[0])):
        total = mx.sum(mx.arange(LANES)).item()
        evaluate.evaluate(lambda: fused(mx.arange(LANES)))
    if total != LANES * (LANES - 1) // 2:
        return ExaminationResult(Health.BROKEN, f"mlx sums wrongly: {total}", _mlx_remedy())
    found = f"mlx {mx.__version__}, the reference"
    return ExaminationResult(
        Health.GOOD, "\n".join(filter(None, (found, evaluate.compiler_fault())))
    )


def _mlx_remedy() -> str:
    return "pip install mlx" if sys.platform == "darwin" else "pip install 'mlx[cpu]'"


def _isolation() -> ExaminationResult:
    from metalbench.sandbox.resources import Limits
    from metalbench.workers.pool import find_network_isolation

    means, limits = find_network_isolation("cpu"), Limits()
    wrong = _trial_in_a_worker(limits)
    if wrong:
        return ExaminationResult(Health.BROKEN, wrong, WITHOUT_PROCESSES)
    detail = (
        f"each kernel has a separate process, for {limits.seconds:.0f} s and "
        f"{limits.memory_bytes / 2**30:.1f} GiB at most; a trial kernel ran correctly in one"
    )
    if means:
        return ExaminationResult(Health.GOOD, f"{detail}; its network is cut off by {means}")
    return ExaminationResult(
        Health.ABSENT,
        f"{detail}; its network cannot be cut off here",
        "run kernels that you do not trust in a container without network",
    )


def _confinement() -> ExaminationResult:
    from metalbench.sandbox.proof import run_proofs

    tried = run_proofs()
    held = all(each.holds for each in tried if each.name != "network")
    return ExaminationResult(
        Health.GOOD if held else Health.ABSENT,
        "\n".join(map(describe_proof, tried)),
        "" if held else WITHOUT_STRANGERS,
    )


def _trial_in_a_worker(limits: Limits) -> str:
    """Run all stages of a kernel in a worker process; return its failures."""
    from metalbench import _core
    from metalbench.kernel.library import Library
    from metalbench.measure.measurement import Plan
    from metalbench.run.trial import Silent, Trial, device_facts
    from metalbench.workers.pool import Workers

    entry = Library([SAMPLE]).entry("twice")
    plan = Plan(seconds=0.01, warmup_ns=0, window_ns=10_000, long_windows=0)
    trial = Trial(entry, entry.kernel(), "float32", plan=plan)
    with Workers("cpu", limits) as workers:
        result = workers.attempt(device_facts(_core.open("cpu")), trial, (), Silent())
    return "\n".join(each.message for each in result.failures)


def _library() -> ExaminationResult:
    from metalbench.kernel.library import Library
    from metalbench.kernel.source_files import library_folder

    library = Library()
    kernels = sum(bool(entry.kernel_paths) for entry in library)
    detail = f"{len(library)} tasks, {kernels} with a kernel, in {library_folder()}"
    return ExaminationResult(Health.GOOD, detail)


def _store(db: Path | None) -> ExaminationResult:
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    path = store_path(db)
    existed = path.exists()
    Store(path).close()
    return ExaminationResult(Health.GOOD, f"{path}" + ("" if existed else " (made just now)"))


def _cache() -> ExaminationResult:
    from metalbench import build_cache

    folder = build_cache.find_cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    return ExaminationResult(Health.GOOD, str(folder))


# ``metalbench doctor``.


@click.command(short_help="Report what works here, and how to fix what does not.")
@store_option
@click.pass_context
def doctor(ctx: click.Context, db: Path | None) -> None:
    """Report what works on this machine, what is missing, and the command that fixes it.

    Exit code 0 if kernels can be run here, else 2.
    """
    from rich.table import Table
    from rich.text import Text

    from metalbench.report.console import console

    styles = {Health.GOOD: "green", Health.ABSENT: "yellow", Health.BROKEN: "bold red"}
    out = console()
    broken = False
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, examine in examinations(db):
        finding = examine()
        broken |= finding.health is Health.BROKEN
        detail = Text(finding.detail)
        if finding.remedy:
            detail.append(f"\n-> {finding.remedy}", style="bold")
        grid.add_row(Text(finding.health.value, style=styles[finding.health]), name, detail)
    out.print(grid)
    out.print(
        "\nSomething is broken; the arrows say how to fix it."
        if broken
        else "\nReady: `metalbench run` checks and times the whole library."
    )
    ctx.exit(2 if broken else 0)
