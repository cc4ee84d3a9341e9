"""The process under compute-sanitizer: runs a kernel once, in buffers without guard zones.

`python -m metalbench.checking.sanitizer_child LAUNCH FILE`: LAUNCH is a `SanitizerLaunch` as JSON.
FILE receives each buffer's address and bytes before the kernel runs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from metalbench import _core
from metalbench.checking.sanitizer import SanitizerLaunch
from metalbench.errors import MetalBenchError
from metalbench.kernel.prepare import compile_kernel
from metalbench.task.workload import workload


def run(launch: SanitizerLaunch, left: Path) -> None:
    """Run the kernel once; compute-sanitizer reports its faults."""
    what = launch.subject()
    built = compile_kernel(
        _core.open("cuda"),
        what.kernel,
        what.task,
        dtype_name=launch.dtype,
        tunables=launch.tunables,
    )
    work = workload(what.task, launch.size, dtype_name=launch.dtype, seed=launch.seed)
    bound = replace(built, guard_bytes=0).bind(work)
    bound.mark_unwritten()
    buffers = {**bound.inputs, **bound.outputs, **bound.scratches}
    places = {name: (each.buffer.address, each.nbytes) for name, each in buffers.items()}
    left.write_text(json.dumps(places))
    try:
        built.device.run(bound.dispatches)
    except MetalBenchError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    run(SanitizerLaunch(**json.loads(sys.argv[1])), Path(sys.argv[2]))
