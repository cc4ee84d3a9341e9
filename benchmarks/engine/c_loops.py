"""Plain C as a contestant: the toolchain's clang, one thread a core, each with its own part."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine.case import KERNELS, Arrays, Case, Loop
from metalbench.msl.toolchain.clang import find_toolchain

FLAGS = ["-O3", "-march=native", "-ffast-math", "-fno-finite-math-only", "-fPIC", "-c"]


class CLoops:
    """Compiles into `folder`, runs on `cores` threads."""

    def __init__(self, folder: Path, cores: int) -> None:
        self.folder = folder
        self.cores = cores
        self.pool = ThreadPoolExecutor(cores)

    def reference(self, case: Case, arrays: Arrays) -> Callable[[int], None]:
        """Return a function that runs passes to completion on the memory of `arrays`."""
        library = self._compile(case.c)
        calls = [self._parts(library, loop, arrays) for loop in case.loops]

        def run(passes: int) -> None:
            for _ in range(passes):
                for parts in calls:
                    list(self.pool.map(lambda part: part(), parts))

        return run

    def _parts(self, library: ctypes.CDLL, loop: Loop, arrays: Arrays) -> list[Callable[[], Any]]:
        function = library[loop.function]
        function.restype = None
        values = [
            ctypes.c_void_p(arrays[value].ctypes.data)
            if isinstance(value, str)
            else ctypes.c_long(value)
            for value in loop.parameters
        ]
        # Multiples of four: matmul takes four rows at a time.
        bounds = np.linspace(0, loop.items, self.cores + 1, dtype=int)
        bounds[1:-1] -= bounds[1:-1] % 4

        def part(begin: int, end: int) -> Callable[[], Any]:
            return lambda: function(*values, ctypes.c_long(begin), ctypes.c_long(end))

        return [part(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]

    def _compile(self, file: str) -> ctypes.CDLL:
        tools = find_toolchain()
        target = self.folder / file
        compiled, library = target.with_suffix(".o"), target.with_suffix(".so")
        command = [*tools.clang, *FLAGS, str(KERNELS / file), "-o", str(compiled)]
        subprocess.run(command, check=True)
        subprocess.run([*tools.linker, "-shared", str(compiled), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))
