"""What share of a device's memory bandwidth kernels reach, with every choice of some tunables.

    python benchmarks/bandwidth.py qmv4 --size rows=4096,cols=4096 --dtype float16 --device cuda \
        --tunable TG=64,128 --tunable ROWS=1,2,4 --json FILE

Each choice is verified against float64, and timed on cold inputs: copies take turns, three caches
full of them. Bytes are the task's. The roof is what plain copies reach on this device; `copy` is a
kernel that reads as many bytes as the task has and writes a hundredth, timed in the same way: what
a kernel of this size may hope for.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np

from metalbench import _core
from metalbench.kernel.library import find
from metalbench.kernel.prepare import Compiled, compile_kernel
from metalbench.measure.device_limits import last_level_cache_bytes, roofs_of
from metalbench.measure.measurement import TimingMode
from metalbench.run.timed import BufferRotation
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner, ReferenceErrors

CACHES = 3
READ = """
#include <metal_stdlib>
kernel void read(device const uint4* from, device uint* to, constant uint& count,
                 uint i [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
  uint4 seen = 0;
  for (uint at = i; at < count; at += 8 * threads) {
    uint4 each[8];
    for (uint u = 0; u < 8; ++u) each[u] = from[metal::min(at + u * threads, count - 1)];
    for (uint u = 0; u < 8; ++u) seen ^= each[u];
  }
  to[i] = seen.x ^ seen.y ^ seen.z ^ seen.w;
}"""


@dataclass(frozen=True)
class Row:
    """One choice of tunables: the median time of a pass, and what a check said."""

    tunables: dict[str, int]
    us: float
    bytes: float
    wrong: str

    @property
    def gbytes_per_s(self) -> float:
        """Bytes by time."""
        return self.bytes / self.us / 1e3


def median_us(device: _core.Device, dispatches: list[_core.Dispatch], repeats: int) -> float:
    """Return the median time of one pass, by the clock of the device if it has one."""
    samples = device.sample(
        dispatches, max_pairs=40, time_limit_ns=4e8, warmup_ns=5e7, candidate_repeats=repeats
    )
    times = samples.device_ns if len(samples.device_ns) else samples.candidate_ns
    return float(np.median(times)) / 1e3


def cache_bytes_of(device: _core.Device) -> int:
    """Return the size of the last-level cache in bytes."""
    told = device.capabilities.get("l2_bytes")
    return told if isinstance(told, int) else last_level_cache_bytes(device.chip)


def read_us(device: _core.Device, nbytes: int) -> float:
    """Return a pass that reads `nbytes` and does nothing else."""
    count = nbytes // 16
    copies = -(-CACHES * cache_bytes_of(device) // nbytes) + 1
    pipeline = device.compile(READ).pipeline()
    threads = min(132 * 2048, -(-count // 8 // 256) * 256)
    dispatches = [
        _core.Dispatch(
            pipeline,
            {
                "from": np.zeros((count, 4), np.uint32),
                "to": np.zeros(threads, np.uint32),
                "count": count,
            },
            threads_in_grid=threads,
            threads=256,
        )
        for _ in range(copies)
    ]
    return median_us(device, dispatches, copies)


def choices(tunables: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Yield all combinations of NAME=VALUE,VALUE."""
    names = [each.split("=")[0] for each in tunables]
    values = [[int(value) for value in each.split("=")[1].split(",")] for each in tunables]
    for chosen in itertools.product(*values):
        yield dict(zip(names, chosen, strict=True))


def fault(compiled: Compiled, seeds: int, size: str, reference_errors: ReferenceErrors) -> str:
    """Return the first finding for these seeds; empty without findings."""
    for seed in range(seeds):
        work = workload(compiled.task, size, dtype_name=compiled.dtype.name, seed=seed)
        report = Examiner(compiled.bind(work), compiled.device, 10.0, reference_errors).examine()
        if report.findings:
            return report.findings[0].message.splitlines()[0]
    return ""


@click.command()
@click.argument("name")
@click.option("--size", default="large", help="One of the task's, or NAME=VALUE,...")
@click.option("--dtype", default="float16")
@click.option("--device", "kind", default="cuda")
@click.option("--tunable", "tunables", multiple=True, help="NAME=VALUE,VALUE; repeatable.")
@click.option("--seeds", default=3, help="Seeds to verify each choice with.")
@click.option("--json", "path", type=Path)
def main(  # noqa: PLR0917 - one argument an option
    name: str,
    size: str,
    dtype: str,
    kind: str,
    tunables: tuple[str, ...],
    seeds: int,
    path: Path | None,
) -> None:
    """Time NAME with all choices of the tunables."""
    device = _core.open(kind)
    (entry,) = find([name])
    task = entry.task
    if "=" in size:
        extents = {key: int(value) for key, value in (e.split("=") for e in size.split(","))}
        task, size = replace(task, sizes={**task.sizes, "asked": extents}), "asked"
    kernel = entry.kernel(device)
    work = workload(task, size, dtype_name=dtype, seed=0)
    roofs = roofs_of(device)
    roof = roofs.memory_gbytes_per_s if roofs is not None else float("nan")
    turns, rows = None, []
    known = ReferenceErrors()
    for chosen in choices(tunables):
        compiled = compile_kernel(device, kernel, task, dtype_name=dtype, tunables=chosen)
        wrong = fault(compiled, seeds, size, known)
        first = turns is None
        turns = (
            BufferRotation.of(compiled, work, TimingMode.COLD)
            if turns is None
            else turns.bind_another(compiled)
        )
        nbytes = float(task.bytes(size, dtype))
        if first:
            told = read_us(device, int(nbytes))
            print(
                f"{name} {dtype} {task.extents(size)}: {nbytes / 1e6:.1f} MB; roof {roof:.0f} "
                f"GB/s, {nbytes / roof / 1e3:.2f} us; plain reads {told:.2f} us",
                flush=True,
            )
        us = median_us(device, turns.dispatches, len(turns.passes))
        rows.append(Row(chosen, us, nbytes, wrong))
        row = rows[-1]
        print(
            f"{row.us:9.2f} us {row.gbytes_per_s:7.0f} GB/s {row.gbytes_per_s / roof:6.1%} of the "
            f"roof  {chosen} {wrong or 'correct'}",
            flush=True,
        )
    if path is not None:
        path.write_text(json.dumps([row.__dict__ for row in rows]))


if __name__ == "__main__":
    main()
