"""PoCL as a contestant: OpenCL C on the same cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engine.case import Arrays, Case, Step

OPTIONS = ["-cl-std=CL1.2", "-cl-fast-relaxed-math", "-cl-mad-enable"]


class MissingError(Exception):
    """PoCL or pyopencl is not installed; says what to install."""


class Pocl:
    """A queue of PoCL's device."""

    def __init__(self) -> None:
        # PoCL's compiler warns about its own headers.
        os.environ.setdefault("PYOPENCL_COMPILER_OUTPUT", "0")
        self.cl = _pyopencl()
        device = self._device()
        # "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, ..."
        self.name = " ".join(device.platform.version.split()[2:4])
        self.context = self.cl.Context([device])
        self.queue = self.cl.CommandQueue(self.context)

    def _device(self) -> Any:
        for platform in self.cl.get_platforms():
            if "Portable Computing" in platform.name:
                return platform.get_devices()[0]
        raise MissingError("no PoCL among the OpenCL platforms: `apt-get install pocl-opencl-icd`")

    def reference(self, case: Case, arrays: Arrays) -> Callable[[int], None]:
        """Return a function that runs passes to completion on the memory of `arrays`."""
        cl = self.cl
        macros = [f"-D{name}={value}" for name, value in case.macros.items()]
        program = cl.Program(self.context, case.source(case.opencl)).build([*OPTIONS, *macros])
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        buffers = {
            name: cl.Buffer(self.context, flags, hostbuf=array) for name, array in arrays.items()
        }

        def bind_step(step: Step) -> Any:
            kernel = cl.Kernel(program, step.kernel)
            values = step.parameters.values()
            kernel.set_args(*(buffers[v] if isinstance(v, str) else np.uint32(v) for v in values))
            return kernel

        launches = [
            (bind_step(step), step.grid, step.threads) for step in case.opencl_steps or case.steps
        ]

        # Its kernels do not keep their buffers alive.
        def run(passes: int, _alive: object = buffers) -> None:
            for _ in range(passes):
                for kernel, grid, threads in launches:
                    cl.enqueue_nd_range_kernel(self.queue, kernel, grid, threads)
            self.queue.finish()

        return run


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise MissingError("pyopencl is missing: `pip install pyopencl`") from None
    try:
        pyopencl.get_platforms()
    except pyopencl.LogicError:
        raise MissingError("no OpenCL platform: `apt-get install pocl-opencl-icd`") from None
    return pyopencl
