"""The kernels of a candidate in its own process: loaded before the seal, noted where they lack."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from time import perf_counter_ns
from typing import Any

from metalbench import _core
from metalbench.errors import DispatchError, KernelFault, TimeLimitExceeded
from metalbench.kernelbench.candidates.messages import Launch
from metalbench.kernelbench.candidates.own_work import Probe
from metalbench.kernelbench.candidates.source import CLASS
from metalbench.mlx.call import Call, Output
from metalbench.mlx.definition import PRELUDE, Generated, definition
from metalbench.mlx.kernel import CustomKernel

Tell = Callable[[Exception], None]
# A hang ends by itself before the judge has to end the process.
TIME_LIMIT = 8.0
# The size in bytes of every argument while code is loaded. Nothing reads it.
_BYTES = 4096


class Kernels:
    """The kernels that are loaded, those that are `wanted` besides, and what was launched.

    `tell` is called with a fault of a kernel, and does not return.
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
        """Replace `mx.fast.metal_kernel`. The candidate cannot choose the device."""
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
        return _CandidateKernel(self, defined)


class _CandidateKernel(CustomKernel):
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


# Call a candidate: a function of the task's name, or KernelBench's `ModelNew`.

Arrays = Mapping[str, Any]
Entry = Callable[[Arrays], Any]
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def find_entry(
    namespace: Mapping[str, Any],
    task: str,
    inputs: Sequence[str],
    values: Mapping[str, int | float],
) -> Entry:
    """Return the function to call with the task's inputs; `values` are sizes and constants.

    A function, or `forward`, takes inputs by their names; one that has other names takes them in
    their order. What `forward` does not take are the module's parameters: `conv_weight` is its
    `conv.weight`, or its own `conv_weight`. Raises DispatchError for what does not fit.
    """
    if CLASS not in namespace:
        return _EntryPoint(namespace[task], task, inputs, values)
    made = namespace[CLASS]
    if not callable(made):
        raise DispatchError(f"[{task}] {CLASS}: expected a class, got {type(made).__name__}")
    model = made(**_for_constructor(made, task, values))
    forward = getattr(model, "forward", None) or model
    return _EntryPoint(forward, task, inputs, values, model)


class _EntryPoint:
    def __init__(
        self,
        function: Callable[..., Any],
        task: str,
        inputs: Sequence[str],
        values: Mapping[str, int | float],
        model: Any = None,
    ) -> None:
        if not callable(function):
            raise DispatchError(f"[{task}] expected a function, got {type(function).__name__}")
        self._function = function
        self._model = model
        self._values = {}
        self._places: list[str] = []
        self._task = task
        parameters = _parameters(function)
        taken = [each for each in parameters if each in inputs]
        needed = [name for name, each in parameters.items() if each.default is each.empty]
        if all(each in inputs or each in values for each in needed) and taken:
            self._values = {each: values[each] for each in parameters if each in values}
            self._names = taken
        else:
            self._places = self._names = self._in_order(parameters, inputs, needed)
        self._attributes = [each for each in inputs if each not in self._names]
        if self._attributes and model is None:
            missing = ", ".join(self._attributes)
            raise DispatchError(
                f"[{task}] expected a function of ({', '.join(inputs)}), got one of "
                f"({', '.join(parameters)}), without {missing}"
            )

    def __call__(self, arrays: Arrays) -> Any:
        for name in self._attributes:
            _set(self._model, name, arrays[name], f"[{self._task}] {CLASS}: {name}")
        if self._places:
            return self._function(*(arrays[each] for each in self._places))
        return self._function(**{each: arrays[each] for each in self._names}, **self._values)

    def _in_order(
        self, parameters: Mapping[str, Any], inputs: Sequence[str], needed: Sequence[str]
    ) -> list[str]:
        several = any(each.kind is each.VAR_POSITIONAL for each in parameters.values())
        places = [name for name, each in parameters.items() if each.kind in _BY_PLACE]
        count = len(inputs) if several else len(places)
        if not len(needed) <= len(inputs) or count == 0:
            raise DispatchError(
                f"[{self._task}] expected parameters for ({', '.join(inputs)}), got "
                f"({', '.join(parameters)})"
            )
        return list(inputs[:count])


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def _for_constructor(
    made: Any, task: str, values: Mapping[str, int | float]
) -> dict[str, int | float]:
    """Sizes and constants that the constructor asks for by name."""
    given, lacking = {}, []
    for name, each in _parameters(made).items():
        if name in values:
            given[name] = values[name]
        elif each.default is each.empty and each.kind in _BY_PLACE:
            lacking.append(name)
    if lacking:
        raise DispatchError(
            f"[{task}] {CLASS}({', '.join(lacking)}): expected a constructor without arguments, or "
            f"of ({', '.join(values)})"
        )
    return given


def _set(model: Any, name: str, value: Any, where: str) -> None:
    """Set the parameter of a model, or of a module in it, that `name` leads to.

    `blocks_0_conv_weight` is `blocks[0].conv.weight`. A module may have `_` in its name, and may be
    in a list, a dictionary or an `nn.Sequential`.
    """
    found = _find_parameter(model, name.split("_"))
    if found is None:
        raise DispatchError(f"{where}: the module has no such parameter, and `forward` takes none")
    owner, attribute = found
    setattr(owner, attribute, value)


def _find_parameter(owner: Any, parts: Sequence[str]) -> tuple[Any, str] | None:
    """Return the module of a parameter and its attribute; None if no path leads to one."""
    whole = "_".join(parts)
    if hasattr(owner, whole):
        return owner, whole
    # Names such as `conv` and `conv_1` share their beginning: each is tried.
    for end in range(1, len(parts)):
        inner = _find_child(owner, "_".join(parts[:end]))
        found = None if inner is None else _find_parameter(inner, parts[end:])
        if found is not None:
            return found
    return None


def _find_child(owner: Any, name: str) -> Any:
    """Return the module with this name or index in a module or container, else None."""
    if name.isdigit():
        # MLX's nn.Sequential has its modules in `layers`.
        children = owner if isinstance(owner, list | tuple) else getattr(owner, "layers", None)
        if isinstance(children, list | tuple) and int(name) < len(children):
            return children[int(name)]
    child = getattr(owner, name, None)
    return owner.get(name) if child is None and isinstance(owner, dict) else child
