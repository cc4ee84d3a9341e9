"""How long it takes to compile a program of StableHLO: cold, and as a second process does it.

    python benchmarks/hlo_compile.py [--level N] [--times N] [NAME ...]

Each time is that of `metalbench.hlo.compile` in a new process; its imports are reported separately.
Cold: an empty cache. Warm: precompiled headers, a new program. Cached: the program is in the cache.
Bytecode of modules is on disk, as after an installation. Names are those of `metalbench hlo bench
--list`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median

os.environ.setdefault("JAX_PLATFORMS", "cpu")

CHILD = """
import json, resource, sys
from time import perf_counter

def used():
    mine, theirs = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime

start = perf_counter()
from metalbench.hlo.program import compile
imported, before = perf_counter(), used()
program = compile(sys.stdin.read(), level=int(sys.argv[1]), device="cpu")
end = perf_counter()
kernels = len(list(program.executable.plan.iterate_kernels()))
print(json.dumps([imported - start, end - imported, used() - before, kernels]))
"""
OTHER = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
WARMING = OTHER.replace("{ return %x", "{ %y = stablehlo.add %x, %x : tensor<3xf32> return %y")


def time_compilation(text: str, level: int, cache: str, bytecode: str) -> list[float]:
    """Seconds of importing, of compiling, and of all processors for that; the kernels."""
    own = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(level)],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={**own, "METALBENCH_CACHE": cache, "PYTHONPYCACHEPREFIX": bytecode},
    )
    found: list[float] = json.loads(done.stdout)
    return found


def measure(name: str, text: str, level: int, times: int, bytecode: str) -> None:
    cold, warm, cached = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        time_compilation(text, level, cache, bytecode)  # leaves the bytecode of all modules
    for _ in range(times):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(time_compilation(text, level, cache, bytecode))
        with tempfile.TemporaryDirectory() as cache:
            for number in range(3):
                time_compilation(WARMING.replace("3x", f"{number + 3}x"), level, cache, bytecode)
            warm.append(time_compilation(text, level, cache, bytecode))
            cached += [time_compilation(text, level, cache, bytecode) for _ in range(3)]
    for what, found in (("cold", cold), ("warm", warm), ("cached", cached)):
        imports, seconds, work, kernels = (median(each) for each in zip(*found, strict=True))
        print(
            f"{name:28}{what:8}{seconds * 1e3:8.0f} ms, {work * 1e3:6.0f} ms of processor time, "
            f"{kernels:.0f} kernels; imports {imports * 1e3:.0f} ms, least {least(found):.0f} ms",
            flush=True,
        )


def least(found: list[list[float]]) -> float:
    return min(each[1] for each in found) * 1e3


def main() -> None:
    from metalbench.hlo.bench.catalogue import select_programs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["transformer/block_64"], metavar="NAME")
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as bytecode:
        for each in select_programs(options.names):
            measure(each.id, each.lower_to_text(), options.level, options.times, bytecode)


if __name__ == "__main__":
    main()
