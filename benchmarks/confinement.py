"""What confining a process costs: to start it, to start a compiler, and to run kernels in it.

    python benchmarks/confinement.py [ROUNDS]

Processes with and without it take turns; times are medians, ratios those of neighbours. What
confines is given in processor time of the process itself, kernels in time that passed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

PROGRAM = """
import json, os, subprocess, sys, time
confined = sys.argv[1] == "confined"
from metalbench.sandbox.confinement import _confine_on_linux, confine, list_executor_files, seal
from metalbench.sandbox.compiler_process import start_compiler
from metalbench.msl.toolchain.file_access import list_tool_files
imported = time.process_time()
if confined:
    _confine_on_linux(os.getppid(), None, gpu=False)
started = time.process_time()
import numpy as np
from metalbench import _core
device = _core.open("cpu")
SOURCE = '''
#include <metal_stdlib>
using namespace metal;
kernel void meet(device float* x, uint i [[thread_index_in_threadgroup]]) {
  threadgroup float shared[256];
  shared[i] = x[i];
  for (uint k = 0; k < 64; ++k) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    shared[i] += 1;
  }
  x[i] = shared[i];
}
kernel void one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
'''
x = np.zeros(1 << 14, np.float32)
library = device.compile(SOURCE)
meet = _core.Dispatch(library.pipeline("meet"), {"x": x}, threads_in_grid=1 << 14, threads=256)
one = _core.Dispatch(library.pipeline("one"), {"x": x}, threads_in_grid=1 << 14, threads=256)
times = {"confine": started - imported}
begun = time.process_time()
for _ in range(10):
    files = list_tool_files("/bin/true")
    (start_compiler(["/bin/true"], files) if confined else subprocess.Popen(["/bin/true"])).wait()
times["start a program"] = (time.process_time() - begun) / 10
for launch in (meet, one):
    device.run([launch])  # what a shape of threadgroups needs is built now: later nothing is opened
begun = time.process_time()
if confined:
    seal()
times["seal"] = time.process_time() - begun
for name, launch, count in (("barriers", meet, 50), ("short launches", one, 2000)):
    begun = time.perf_counter()
    for _ in range(count):
        device.run([launch])
    times[name] = (time.perf_counter() - begun) / count
print(json.dumps(times))
os._exit(0)
"""


def times_of(kind: str) -> dict[str, float]:
    """Seconds that each part takes in a process of that kind."""
    program = f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program, kind], stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(rounds: int) -> None:
    """Print a table of free and confined processes."""
    os.environ.setdefault("METALBENCH_CACHE", "/tmp/metalbench-confinement")
    pairs = [(times_of("free"), times_of("confined")) for _ in range(rounds)]
    print(f"{'':16}{'free':>12}{'confined':>12}{'ratio':>8}")
    for part in pairs[0][0]:
        free = statistics.median(pair[0][part] for pair in pairs)
        confined = statistics.median(pair[1][part] for pair in pairs)
        ratio = statistics.median(pair[1][part] / pair[0][part] for pair in pairs)
        shown = f"{ratio:8.3f}" if free > 1e-5 else ""
        print(f"{part:16}{free * 1e3:9.3f} ms{confined * 1e3:9.3f} ms{shown}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
