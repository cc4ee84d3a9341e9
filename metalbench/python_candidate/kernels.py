"""The kernels of a candidate in its own process: loaded before the seal, noted where they lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from time import perf_counter_ns
from typing import Any

from metalbench import _core
from metalbench.custom_kernel.arrays import Output
from metalbench.custom_kernel.call import Call
from metalbench.custom_kernel.definition import definition
from metalbench.custom_kernel.kernel import CustomKernel
from metalbench.custom_kernel.signature import PRELUDE, Generated
from metalbench.errors import KernelFault, TimeLimitExceeded
from metalbench.python_candidate.messages import Launch
from metalbench.python_candidate.probing import Probe

Tell = Callable[[Exception], None]
# A hang ends by itself before the judge has to end the process.
TIME_LIMIT = 8.0
# Of every argument while code is loaded: nothing reads it.
_BYTES = 4096


class Kernels:
    """The kernels that are loaded, those that are `wanted` besides, and what was launched.

    `tell` is told of a fault of a kernel's, and does not return.
    """

    def __init__(self, *, checked: bool, tell: Tell) -> None:
        self.checked = checked
        self.tell = tell
        self.device = _core.open("cpu")
        self.pipelines: dict[tuple[str, str], _core.Pipeline] = {}
        self.loaded: set[Launch] = set()
        self.wanted: dict[Launch, None] = {}
        self.launches = 0
        self.ns = 0
        # Bytes of all arguments that launches read, and of all that they write.
        self.read = 0
        self.written = 0
        self.probe: Probe | None = None

    def load(self, launches: Iterable[Launch]) -> None:
        """Load what these need, while files can be opened and memory be made executable."""
        for each in launches:
            self.pipelines[each.unit, each.name] = load(self.device, each, checked=self.checked)
            self.loaded.add(each)

    def metal_kernel(  # noqa: PLR0917 - MLX's order
        self,
        name: str,
        input_names: Any,
        output_names: Any,
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
        compile_options: Any = None,
        **_: Any,
    ) -> CustomKernel:
        """What `mx.fast.metal_kernel` is here; where it runs is not the candidate's to say."""
        defined = definition(
            name,
            input_names,
            output_names,
            source,
            header,
            ensure_row_contiguous=ensure_row_contiguous,
            atomic_outputs=atomic_outputs,
            compile_options=compile_options,
        )
        return _Kernel(self, defined)


class _Kernel(CustomKernel):
    """A kernel that runs if its code is loaded; else its outputs are zeros, and it is wanted."""

    def __init__(self, kernels: Kernels, defined: Any) -> None:
        super().__init__(defined, checked=kernels.checked, time_limit=TIME_LIMIT)
        self._kernels = kernels
        self._own_device = kernels.device

    def _run(self, generated: Generated, made: Call, outputs: list[Output]) -> None:
        if 0 in made.threads_in_grid:
            return
        kernels = self._kernels
        launch = make_launch(generated, made)
        if launch not in kernels.loaded:
            kernels.wanted[launch] = None
            for each in outputs:
                each.buffer.numpy("uint8").fill(0)
            return
        kernels.read += sum(each.memory.nbytes for each in made.inputs)
        kernels.written += sum(each.array.nbytes for each in outputs)
        begin = perf_counter_ns()
        try:
            if kernels.probe is None:
                super()._run(generated, made, outputs)
            else:
                run = super()._run
                kernels.probe.run(
                    made.inputs,
                    outputs,
                    made.init_value is not None,
                    lambda inputs: run(generated, replace(made, inputs=inputs), outputs),
                )
        except (KernelFault, TimeLimitExceeded) as error:
            kernels.tell(error)
        finally:
            kernels.launches += 1
            kernels.ns += perf_counter_ns() - begin

    def _pipeline(self, generated: Generated) -> _core.Pipeline:
        return self._kernels.pipelines[_unit(generated), generated.name]


@cache
def _unit_of(definition: Any, variant: Any) -> str:
    return Generated(definition, variant).unit


def _unit(generated: Generated) -> str:
    # Put together once: it is looked up at every call.
    return _unit_of(generated.definition, generated.variant)


def make_launch(generated: Generated, made: Call) -> Launch:
    """The code that a call needs."""
    return Launch(
        generated.name,
        f"<{generated.definition.name}>",
        _unit(generated),
        generated.definition.math_mode,
        made.threads,
        made.threads_in_grid[0] % made.threads[0],
    )


def load(device: _core.Device, launch: Launch, *, checked: bool) -> _core.Pipeline:
    """Compile and load what a launch needs on `device`, or find it in the cache; runs nothing.

    Raises CompileError, and Unsupported for a kernel that is none here.
    """
    library = device.compile(
        launch.unit,
        # Includes in quotes are looked up in the folder of the file: never the working directory.
        filename=str(PRELUDE / launch.file),
        macros={"__FAST_MATH__": "1"} if launch.math == "fast" else {},
        include_dirs=[str(PRELUDE)],
        checked=checked,
        fast_math=launch.math != "safe",
    )
    pipeline = library.pipeline(launch.name)
    arguments: dict[str, object] = {
        each.name: device.allocate(_BYTES) for each in pipeline.arguments
    }
    x, y, z = launch.threads
    grid = (x + launch.last, y, z)
    device.load([_core.Dispatch(pipeline, arguments, threads_in_grid=grid, threads=launch.threads)])
    return pipeline
