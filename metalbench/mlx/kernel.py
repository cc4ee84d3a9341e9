"""`mx.fast.metal_kernel` on any device, opaque to the transformations of MLX."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import (
    DeclarationError,
    KernelDied,
    KernelFault,
    MetalBenchError,
    TimeLimitExceeded,
    Unsupported,
    suggestion,
)
from metalbench.mlx.call import (
    Call,
    NoValue,
    Output,
    as_numpy,
    call,
    is_mlx,
    mlx_zeros,
    returns_mlx,
    shapes_and_types,
    to_mlx,
)
from metalbench.mlx.definition import (
    DEVICES,
    PRELUDE,
    Definition,
    Generated,
    Variant,
    definition,
    element_type,
    is_dtype,
    is_mlx_dtype,
    mlx_dtype,
)
from metalbench.msl.frontend.standards import define_version

Run = Callable[[list[Any]], list[Any]]


def opaque(name: str, run: Run, blank: Callable[[], list[Any]], inputs: Sequence[Any]) -> list[Any]:
    """`run(inputs)`, in a way that `mx.vmap` can map and whose gradient raises Unsupported.

    Without it the outputs would be constants to MLX, and the gradient silently zero. `blank` gives
    arrays like the outputs.
    """
    import mlx.core as mx

    from metalbench.mlx.simulation import in_vmap, outside_of_vmap

    def trace(given: list[Any]) -> list[Any]:
        try:
            return run(given)
        except NoValue:
            if in_vmap():
                return blank()
            raise

    def map_calls(given: Sequence[Any], axes: Sequence[int | None]) -> tuple[list[Any], list[int]]:
        with outside_of_vmap():
            rows = [opaque(name, run, blank, each) for each in _slices(given, axes)]
        if rows:
            outputs = [mx.stack(list(each)) for each in zip(*rows, strict=True)]
        else:
            outputs = [mx.zeros((0, *each.shape), each.dtype) for each in blank()]
        return outputs, [0] * len(outputs)

    def refuse(*_: Any) -> Any:
        raise Unsupported(
            f"[{name}] a kernel has no gradient; put it into an @mx.custom_function "
            "that defines vjp (or jvp)"
        )

    function: Any = mx.custom_function(trace)
    function.vjp(refuse)
    function.jvp(refuse)
    function.vmap(map_calls)
    # One list: of a single array MLX would tell the array and its axis, not lists of one.
    return list(function(list(inputs)))


def _slices(given: Sequence[Any], axes: Sequence[int | None]) -> list[list[Any]]:
    """The inputs of each call, where `axes` are mapped; an input that is not is in all of them."""
    import mlx.core as mx

    pairs = list(zip(given, axes, strict=True))
    count = next(each.shape[axis] for each, axis in pairs if axis is not None)
    return [
        [each if axis is None else mx.take(each, index, axis=axis) for each, axis in pairs]
        for index in range(count)
    ]


# The callable that `metal_kernel` returns, on a device of this project.

# A source that includes the headers of tensors is of Metal 4, as MLX compiles it on macOS 26.
_TENSORS = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<(?:metal_(?:cooperative_)?tensor|MetalPerformancePrimitives/)",
    re.M,
)
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
            as_mlx = returns_mlx(given, output_dtypes)
            return [to_mlx(each) for each in found] if as_mlx else found

        def blank() -> list[Any]:
            found = shapes_and_types(self.definition, output_shapes, output_dtypes)
            return [mlx_zeros(*each) for each in zip(*found, strict=True)]

        if isinstance(inputs, (list, tuple)) and any(is_mlx(each) for each in inputs):
            return opaque(self.definition.name, run, blank, inputs)
        return run(inputs)

    def _outputs(self, made: Call, *, verbose: bool) -> list[np.ndarray[Any, Any]]:
        generated = Generated(self.definition, made.variant)
        if verbose:
            print(f"Generated source code for `{self.definition.name}`:")
            print(f"```\n{generated.text}\n```")
        outputs = [
            Output(self._device, shape, type_, made.init_value, poison=self.checked)
            for shape, type_ in zip(made.shapes, made.types, strict=True)
        ]
        self._run(generated, made, outputs)
        if self.sandbox:
            # The other process can still write to this memory: copy the result.
            return [each.array.copy() for each in outputs]
        return [each.array for each in outputs]

    def _run(self, generated: Generated, made: Call, outputs: list[Output]) -> None:
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
                macros={
                    **({"__FAST_MATH__": "1"} if mode == "fast" else {}),
                    **define_version("metal4.0" if _TENSORS.search(generated.unit) else ""),
                },
                include_dirs=[str(PRELUDE)],
                checked=self.checked,
                tools=["init"] if self.checked else [],
                fast_math=mode != "safe",
            )
            found = self._pipelines[generated.variant] = library.pipeline(generated.name)
        return found

    def _arguments(
        self, generated: Generated, made: Call, outputs: list[Output]
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
    from metalbench.sandbox.executors import open_sandboxed_device

    return open_sandboxed_device()


@cache
def _open_device(kind: str) -> _core.Device:
    return _core.open(kind)


# The same callable over MLX's own `mx.fast.metal_kernel`, where there is Metal.


def _of_mlx() -> tuple[Any, Any]:
    if sys.platform != "darwin":
        return None, lambda: False
    import mlx.core as mx

    return mx.fast.metal_kernel, mx.metal.is_available


# Kept from the start, because others may come to stand in their places.
MLX_METAL_KERNEL, _METAL_IS_AVAILABLE = _of_mlx()


def metal_is_available() -> bool:
    """Return whether MLX itself can run Metal kernels here; imports MLX on a Mac only."""
    return bool(_METAL_IS_AVAILABLE())


class MLXKernel:
    """A kernel of MLX's that also takes and gives numpy arrays."""

    def __init__(self, definition: Definition) -> None:
        if not metal_is_available():
            raise Unsupported(
                f"[{definition.name}] device 'mlx': MLX runs Metal kernels on a Mac only; "
                "use device='cpu'"
            )
        self.definition = definition
        self._kernel: Any = MLX_METAL_KERNEL(
            name=definition.name,
            input_names=list(definition.input_names),
            output_names=list(definition.output_names),
            source=definition.source,
            header=definition.header,
            ensure_row_contiguous=definition.ensure_row_contiguous,
            atomic_outputs=definition.atomic_outputs,
            **_options(definition),
        )

    def __repr__(self) -> str:
        return f"<metal_kernel {self.definition.name} on mlx>"

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_dtypes: Sequence[Any],
        template: Sequence[tuple[str, Any]] | None = None,
        **others: Any,
    ) -> list[Any]:
        """Run the kernel with the arguments of MLX's; numpy arrays give numpy arrays."""
        name = self.definition.name
        answer = self._kernel(
            inputs=[_array(each, f"[{name}] inputs") for each in inputs],
            output_dtypes=[_dtype(each, f"[{name}] output_dtypes") for each in output_dtypes],
            template=[(each, _value(value, f"[{name}] template")) for each, value in template or ()]
            or None,
            **others,
        )
        if returns_mlx(inputs, output_dtypes):
            return list(answer)
        return [np.array(as_numpy(each, name)) for each in answer]


def _options(definition: Definition) -> dict[str, Any]:
    """MLX before 0.32 has no math modes; its kernels are then what they always were."""
    if definition.math_mode == "safe":
        return {}
    return {"compile_options": {"math_mode": definition.math_mode}}


def _array(value: Any, where: str) -> Any:
    if is_mlx(value) or isinstance(value, (bool, int, float, complex)):
        return value
    return to_mlx(as_numpy(value, where))


def _dtype(value: Any, where: str) -> Any:
    return value if is_mlx_dtype(value) else mlx_dtype(element_type(value, where))


def _value(value: Any, where: str) -> Any:
    return _dtype(value, where) if is_dtype(value) else value


# `metal_kernel`: select the device of a kernel and its checks.

CHECKED = "METALBENCH_CHECKED"
WITHOUT_CHECKS = {"mlx": "MLX", "cuda": "the cuda device"}
UNCONFINED = {
    "mlx": "MLX runs its kernels in the process that calls them",
    "cuda": "the cuda device's driver runs in the process that calls a kernel",
}


def metal_kernel(  # noqa: PLR0917 - MLX's order
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, str] | None = None,
    *,
    device: str = "auto",
    checked: bool | None = None,
    time_limit: float = 60.0,
    sandbox: bool = False,
) -> CustomKernel | MLXKernel:
    """Return a kernel from the `source` of its body, called as that of `mx.fast.metal_kernel` is.

    `device` is "cpu" (this project's engine), "cuda" (an NVIDIA GPU), "mlx" (MLX's own, on a Mac)
    or "auto": "mlx" where Metal is available, else "cpu". `checked` builds catch accesses out of
    bounds, races and reads of unwritten threadgroup memory, at the line of the source; unwritten
    elements of outputs are NaN. None uses METALBENCH_CHECKED: 1 or 0, by default 0. `time_limit`
    in seconds ends a hang on the cpu; on a GPU a hang is reported, and this process cannot use the
    GPU any more. In a `sandbox` the kernel runs on the cpu in a separate, confined process, which
    serves all calls. Raise DeclarationError.
    """
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
    if runs_on_mlx(f"[{name}]", device, checked, sandbox=sandbox):
        return MLXKernel(defined)
    return CustomKernel(
        defined,
        checked=is_checked(checked),
        time_limit=time_limit,
        device="cuda" if device == "cuda" else "cpu",
        sandbox=sandbox,
    )


def runs_on_mlx(where: str, device: str, checked: bool | None, *, sandbox: bool) -> bool:
    """Return whether MLX itself runs a kernel with these options; raises DeclarationError."""
    if device not in DEVICES:
        raise DeclarationError(f"{where} unknown device {device!r}; {suggestion(device, DEVICES)}")
    if device in WITHOUT_CHECKS and is_checked(checked):
        asked = "checked" if checked else f"{CHECKED}=1"
        has = f"{WITHOUT_CHECKS[device]} has no checked builds"
        raise DeclarationError(f"{where} {asked}: {has}; use device='cpu'")
    if device in UNCONFINED and sandbox:
        raise DeclarationError(f"{where} sandbox: {UNCONFINED[device]}; use device='cpu'")
    if device == "auto":
        return not (is_checked(checked) or sandbox) and metal_is_available()
    return device == "mlx"


def is_checked(checked: bool | None) -> bool:
    """`checked`, or what the environment says for all kernels; raises DeclarationError."""
    if checked is not None:
        return checked
    value = os.environ.get(CHECKED, "0")
    if value not in {"0", "1", ""}:
        raise DeclarationError(f"{CHECKED}: expected 1 or 0, got {value!r}")
    return value == "1"
