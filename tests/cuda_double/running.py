"""Programs on a machine whose NVIDIA driver is the double."""

from __future__ import annotations

import os
import subprocess
import sys

from cuda_double.build import HERE, build

TESTS = HERE.parent
TIME_LIMIT_S = 600


def run_python(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments; what it prints, to either, is the answer's `stdout`."""
    double = build()
    python_path = os.pathsep.join(map(str, (TESTS, HERE / "site")))
    return subprocess.run(
        [sys.executable, *command],
        cwd=TESTS.parent,
        env={
            **os.environ,
            "PYTHONPATH": python_path,
            "LD_LIBRARY_PATH": str(double),
            "METALBENCH_CACHE": str(double.parent),
            "CUDA_DOUBLE_KERNELS": str(double),
            "CUDA_DOUBLE": str(double / "libcuda.so.1"),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )
