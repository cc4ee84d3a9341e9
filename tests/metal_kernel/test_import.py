"""`import metalbench` costs nothing that is not asked for."""

from __future__ import annotations

import subprocess
import sys

import metalbench
from metalbench import mlx


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def test_the_package_loads_lazily():
    assert not {"numpy", "mlx.core", "metalbench._core"} & loaded_after("import metalbench")


def test_numpy_arrays_need_no_mlx():
    loaded = loaded_after(
        "import metalbench, numpy\n"
        "kernel = metalbench.metal_kernel('f', ['x'], ['y'], 'y[0] = x;', device='cpu')\n"
        "kernel(inputs=[1.5], grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(1,)],"
        " output_dtypes=[numpy.float32])"
    )
    assert "numpy" in loaded
    assert "mlx.core" not in loaded


def test_the_name_is_the_packages_own():
    assert metalbench.metal_kernel is mlx.metal_kernel
    assert "metal_kernel" in metalbench.__all__
