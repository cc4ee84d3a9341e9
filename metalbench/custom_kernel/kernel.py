"""The callable that `metal_kernel` returns, on a device of this project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.custom_kernel import arrays
from metalbench.custom_kernel.call import Call, call, shapes_and_types
from metalbench.custom_kernel.definition import Definition
from metalbench.custom_kernel.opaque import opaque
from metalbench.custom_kernel.signature import PRELUDE, Generated, Variant
from metalbench.errors import KernelDied, KernelFault, MetalBenchError, TimeLimitExceeded

_HINT = (
    "; METALBENCH_CHECKED=1 (or checked=True) tells the first access, race or barrier that is wrong"
)


class CustomKernel:
    """A kernel that is compiled when it is called; once for each kind of inputs and template."""

    def __init__(
        self,
        definition: Definition,
        *,
        checked: bool,
        time_limit: float,
        device: str = "cpu",
        sandbox: bool = False,
    ) -> None:
        self.definition = definition
        self.device = device
        self.checked = checked
        self.time_limit = time_limit
        self.sandbox = sandbox
        self._own_device = _open_sandbox() if sandbox else None
        self._pipelines: dict[Variant, _core.Pipeline] = {}

    def __repr__(self) -> str:
        how = (", checked" if self.checked else "") + (", in a sandbox" if self.sandbox else "")
        return f"<metal_kernel {self.definition.name} on {self.device}{how}>"

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: Sequence[int],
        threadgroup: Sequence[int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
    ) -> list[Any]:
        """Run the kernel; arguments and result are those of MLX's `mx.fast.metal_kernel`.

        `inputs` are mlx or numpy arrays or numbers; the outputs are mlx arrays if one of them is.
        `grid` counts threads. `stream` has no meaning here. Raise DispatchError, CompileError,
        and KernelFault or TimeLimitExceeded when the kernel goes wrong. In a sandbox KernelDied,
        too, and ForgedTimes of a kernel that goes on behind its end.
        """
        asked: dict[str, Any] = {
            "output_shapes": output_shapes,
            "output_dtypes": output_dtypes,
            "grid": grid,
            "threadgroup": threadgroup,
            "template": template,
            "init_value": init_value,
        }

        def run(given: Sequence[Any]) -> list[Any]:
            found = self._outputs(call(self.definition, inputs=given, **asked), verbose=verbose)
            as_mlx = arrays.returns_mlx(given, output_dtypes)
            return [arrays.to_mlx(each) for each in found] if as_mlx else found

        def blank() -> list[Any]:
            found = shapes_and_types(self.definition, output_shapes, output_dtypes)
            return [arrays.mlx_zeros(*each) for each in zip(*found, strict=True)]

        if isinstance(inputs, (list, tuple)) and any(arrays.is_mlx(each) for each in inputs):
            return opaque(self.definition.name, run, blank, inputs)
        return run(inputs)

    def _outputs(self, made: Call, *, verbose: bool) -> list[np.ndarray[Any, Any]]:
        generated = Generated(self.definition, made.variant)
        if verbose:
            print(f"Generated source code for `{self.definition.name}`:")
            print(f"```\n{generated.text}\n```")
        outputs = [
            arrays.Output(self._device, shape, type_, made.init_value, poison=self.checked)
            for shape, type_ in zip(made.shapes, made.types, strict=True)
        ]
        self._run(generated, made, outputs)
        if self.sandbox:
            # The other process can still write to this memory: copy the result.
            return [each.array.copy() for each in outputs]
        return [each.array for each in outputs]

    def _run(self, generated: Generated, made: Call, outputs: list[arrays.Output]) -> None:
        if 0 in made.threads_in_grid:
            return
        try:
            dispatch = _core.Dispatch(
                self._pipeline(generated),
                self._arguments(generated, made, outputs),
                threads_in_grid=made.threads_in_grid,
                threads=made.threads,
            )
            self._device.run([dispatch], time_limit=self.time_limit)
        except MetalBenchError as error:
            raise self._rename_error(error, generated.name) from None

    def _rename_error(self, error: MetalBenchError, generated: str) -> MetalBenchError:
        """The error with the name that the user knows the kernel by, not the generated one."""
        name = f"[{self.definition.name}]"
        message = str(error).replace(f"[{generated}]", name)
        if isinstance(error, (KernelDied, TimeLimitExceeded)) and not message.startswith("["):
            message = f"{name} {message}"  # an error about a process has no name
        if isinstance(error, KernelDied):
            return KernelDied(error.kind, message)
        if isinstance(error, (KernelFault, TimeLimitExceeded)) and not self.checked:
            message += _HINT
        return type(error)(message)

    def _pipeline(self, generated: Generated) -> _core.Pipeline:
        found = self._pipelines.get(generated.variant)
        if found is None:
            mode = self.definition.math_mode
            library = self._device.compile(
                generated.unit,
                filename=f"<{self.definition.name}>",
                macros={"__FAST_MATH__": "1"} if mode == "fast" else {},
                include_dirs=[str(PRELUDE)],
                checked=self.checked,
                tools=["init"] if self.checked else [],
                fast_math=mode != "safe",
            )
            found = self._pipelines[generated.variant] = library.pipeline(generated.name)
        return found

    def _arguments(
        self, generated: Generated, made: Call, outputs: list[arrays.Output]
    ) -> dict[str, object]:
        values: dict[str, object] = {}
        for name, each in zip(self.definition.input_names, made.inputs, strict=True):
            values[name] = self._device.buffer(each.memory)
            for what in generated.extents(name, each.passing):
                values[f"{name}_{what}"] = each.extent(what)
        names = self.definition.output_names
        values |= {name: each.buffer for name, each in zip(names, outputs, strict=True)}
        return values

    @property
    def _device(self) -> _core.Device:
        return _open_device(self.device) if self._own_device is None else self._own_device


def _open_sandbox() -> _core.Device:
    # Not imported for kernels without a sandbox.
    from metalbench.isolation.sandbox import open_sandboxed_device

    return open_sandboxed_device()


@cache
def _open_device(kind: str) -> _core.Device:
    return _core.open(kind)
