"""A process that calls a kernel as `metal_kernel` makes it, again and again.

Arguments: "sandbox" or "here", as which user, and the kernel's inputs. Prints a line for each: the
output, or the error's first line.
"""

from __future__ import annotations

import sys

import numpy as np
from escapes.other_user import be_for_all_programs

from metalbench import MetalBenchError, metal_kernel
from metalbench.mlx import CustomKernel, MLXKernel


def kernel(*, sandbox: bool) -> CustomKernel | MLXKernel:
    """One number from another; what was compiled of it is taken from the cache."""
    source = "out[thread_position_in_grid.x] = a[0];"
    return metal_kernel("escape", ["a"], ["out"], source, device="cpu", sandbox=sandbox)


def call(made: CustomKernel | MLXKernel, number: float) -> float:
    (out,) = made(
        inputs=[np.array([number], np.float32)],
        output_shapes=[(1,)],
        output_dtypes=["float32"],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
    )
    return float(out[0])


def main(how: str, user: int, numbers: list[str]) -> None:
    be_for_all_programs(user)
    made = kernel(sandbox=how == "sandbox")
    for number in numbers:
        try:
            print(call(made, float(number)), flush=True)
        except MetalBenchError as error:
            print(type(error).__name__, str(error).partition("\n")[0], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
