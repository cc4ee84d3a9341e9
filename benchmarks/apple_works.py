"""Simulate the kernels of public records of an M1 Pro, for benchmarks/apple_model.py.

    python benchmarks/apple_works.py RECORDS.csv SOURCES STUB.py WORKS.json [--task NAME...]

RECORDS.csv has a line for each dispatch of a candidate, with its task, size, candidate and
function. SOURCES is a folder with `metal_kernels/` (the harness of the records), and the candidates
by their names, in itself or in `results/`. STUB.py stands in for PyObjC's Metal over
`metalbench._core`. WORKS.json is written after each candidate; those that it has are not repeated,
but for those that do not compile. The last lines say how many records have no work, and why.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import sys
import time
import types
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np

from metalbench.msl import engine
from metalbench.msl.toolchain.analysis_ir import LANE, compile_for_analysis
from metalbench.profiling.gpu_work import measure_work
from metalbench.profiling.lane_code import LaneCode, UnsupportedCodeError, translate
from metalbench.profiling.simt import LaunchSizes, StepLimitError, simulate

# Fewer than `simulate` takes by default: the calibration of the package was fitted on these.
MOST_THREADS, MOST_GROUPS = 2048, 8
# The front end refuses an attribute list before `kernel`, which Metal accepts.
_ATTRIBUTES_FIRST = re.compile(r"(\[\[[^\]]*\]\])\s*kernel\s+void")


class Finished(Exception):  # noqa: N818 - ends the harness, no fault
    """All functions of a command buffer are simulated."""


class Simulator:
    """Runs one dispatch of each function of a command buffer, and simulates it."""

    def __init__(self) -> None:
        self.source = ""
        self.functions: list[str] = []
        self.works: list[dict[str, Any]] = []
        self._codes: dict[tuple[str, str], LaneCode] = {}

    def patch(self, stub: Any) -> None:
        """Let the stub's encoder record its arguments, and `commit` simulate."""
        dispatch, commit = stub.Enc._d, self.commit

        def record(encoder: Any, **sizes: Any) -> None:
            dispatch(encoder, **sizes)
            encoder.recorded = [*getattr(encoder, "recorded", []), self._record(encoder, sizes)]

        stub.Enc._d = record
        stub.CB.commit = lambda buffer: commit(buffer.d, buffer.e)

    @staticmethod
    def _record(encoder: Any, sizes: dict[str, Any]) -> tuple[Any, ...]:
        pipeline, bound, dynamic = encoder.p, {}, {}
        for (_, index), argument in pipeline.by.items():
            if argument.address_space == "threadgroup":
                dynamic[index] = encoder.tg[index]
                continue
            value = encoder.b[index]
            if isinstance(value, tuple):
                buffer, offset = value
                whole = buffer.b
                bound[index] = whole.slice(offset, buffer.n - offset) if offset else whole
            else:
                bound[index] = value
        return pipeline, bound, dynamic, sizes

    def commit(self, device: Any, encoder: Any) -> None:
        """Simulate the first dispatch of each function; raise Finished after the last one."""
        seen: list[str] = []
        self.works = []
        for dispatch, recorded in zip(encoder.ds, encoder.recorded, strict=True):
            function = recorded[0].p.name
            if function not in seen:
                seen.append(function)
                self.works.append({"function": function, **self._simulate(*recorded)})
            if len(seen) == len(self.functions):
                break
            device.run([dispatch], time_limit=60)
        raise Finished

    def _simulate(
        self, pipeline: Any, bound: Any, dynamic: Any, sizes: dict[str, Any]
    ) -> dict[str, Any]:
        threads = tuple(sizes["threads"])
        grid = sizes.get("threads_in_grid")
        if grid is None:
            grid = tuple(a * b for a, b in zip(sizes["threadgroups"], threads, strict=True))
        buffers = {
            index: np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value.numpy("u1")
            for index, value in bound.items()
        }
        constant = frozenset(
            index for (_, index), each in pipeline.by.items() if each.address_space == "constant"
        )
        launch = LaunchSizes(tuple(grid), threads, dynamic)
        try:
            code = self._find_code(pipeline.p.name)
            sample = simulate(
                code,
                launch,
                buffers,
                constant=constant,
                most_threads=MOST_THREADS,
                most_groups=MOST_GROUPS,
            )
        except (UnsupportedCodeError, StepLimitError) as error:
            return {"error": f"cannot be simulated: {error}"}
        return measure_work(code, sample, launch).record()

    def _find_code(self, function: str) -> LaneCode:
        key = self.source, function
        if key not in self._codes:
            source = engine.parse(self.source, "candidate.metal").source
            module = compile_for_analysis(source, function, {}, fast_math=True, inline_all=True)
            self._codes = {
                known: code for known, code in self._codes.items() if known[0] == self.source
            }
            self._codes[key] = translate(module, module.function(LANE))
        return self._codes[key]


def load_tasks(sources: Path, stub_path: Path, names: set[str]) -> tuple[Any, dict[str, Any]]:
    """Import the stub and the harness; return the stub and the tasks by name."""
    spec = importlib.util.spec_from_file_location("Metal", stub_path)
    assert spec is not None
    assert spec.loader is not None
    stub = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stub)
    sys.modules["Metal"] = stub
    sys.path.insert(0, str(sources))
    # The package's own __init__ imports all tasks.
    package = types.ModuleType("metal_kernels.tasks")
    package.__path__ = [str(sources / "metal_kernels" / "tasks")]
    sys.modules["metal_kernels.tasks"] = package
    for name in names:
        importlib.import_module(f"metal_kernels.tasks.{name}")
    task = importlib.import_module("metal_kernels.task")
    return stub, {name: task.get_task(name) for name in names}


def needs_work(works: list[dict[str, Any]] | None) -> bool:
    """Return whether a record is to be simulated: it is new, or did not get to a dispatch."""
    return works is None or any(not each["function"] for each in works)


def set_error(found: dict[str, Any], candidate: str, sizes: list[Any], error: str) -> None:
    """Note for each size of a candidate why it has no work."""
    for size in sizes:
        found[f"{candidate}#{size.label}"] = [{"function": "", "error": error}]


def print_reasons(found: dict[str, Any], wanted: dict[tuple[str, str], set[str]]) -> None:
    """Print how many of the records have their work, and why others have not."""
    reasons: Counter[str] = Counter()
    for (_, candidate), labels in wanted.items():
        for label in labels:
            works = found.get(f"{candidate}#{label}")
            errors = [each["error"] for each in works or () if "error" in each]
            reason = str(errors[0]).partition(":")[0] if errors else "simulated"
            reasons["its size is not one of the task" if works is None else reason] += 1
    for reason, count in reasons.most_common():
        click.echo(f"{count} of {reasons.total()} records: {reason}")


@click.command(help=__doc__)
@click.argument("records", type=click.Path(path_type=Path, exists=True))
@click.argument("sources", type=click.Path(path_type=Path, exists=True))
@click.argument("stub", type=click.Path(path_type=Path, exists=True))
@click.argument("works", type=click.Path(path_type=Path))
@click.option("--task", "only", multiple=True, help="Only these tasks.")
def main(records: Path, sources: Path, stub: Path, works: Path, only: tuple[str, ...]) -> None:
    """Simulate all candidates."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for row in csv.DictReader(records.read_text().splitlines()):
        if not only or row["task"] in only:
            wanted.setdefault((row["task"], row["candidate"]), set()).add(row["size"])
    found: dict[str, Any] = json.loads(works.read_text()) if works.exists() else {}
    module, tasks = load_tasks(sources, stub, {task for task, _ in wanted})
    harness = importlib.import_module("metal_kernels.harness").MetalHarness()
    simulator = Simulator()
    simulator.patch(module)
    for (name, candidate), labels in sorted(wanted.items()):
        path = next(
            (
                each
                for each in (sources / "results" / candidate, sources / candidate)
                if each.exists()
            ),
            None,
        )
        task = tasks[name]
        sizes = [*task.spec.sizes, *task.spec.held_out_sizes]
        missing = [
            size
            for size in sizes
            if size.label in labels and needs_work(found.get(f"{candidate}#{size.label}"))
        ]
        if path is None:
            set_error(found, candidate, missing, "there is no source")
            continue
        if not missing:
            continue
        simulator.source = _ATTRIBUTES_FIRST.sub(r"kernel \1 void", path.read_text())
        simulator.functions = task.spec.kernel_names
        compiled = harness.compile(simulator.source)
        pipelines, error = None, compiled.error
        if error is None:
            pipelines, error = harness.make_pipelines(compiled.library, simulator.functions)
        if pipelines is None:
            click.echo(f"{candidate}: does not compile: {error}")
            set_error(found, candidate, missing, f"does not compile: {error}")
            works.write_text(json.dumps(found))
            continue
        for size in missing:
            start = time.monotonic()
            try:
                task.evaluate_size(harness, pipelines, size, None, 1, 1)
            except Finished:
                found[f"{candidate}#{size.label}"] = simulator.works
            errors = [each["error"] for each in simulator.works if "error" in each]
            click.echo(f"{candidate} {size.label}: {time.monotonic() - start:.1f} s {errors or ''}")
        works.write_text(json.dumps(found))
    works.write_text(json.dumps(found))
    print_reasons(found, wanted)


if __name__ == "__main__":
    main()
