"""Tasks: the problems that kernels solve. A task file declares one with `@task(...)`."""

from __future__ import annotations

import hashlib
import inspect
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from metalbench.chips import peak_rates
from metalbench.devices import find_kind
from metalbench.errors import DeclarationError, suggestion
from metalbench.expression import Expression, parse
from metalbench.task.dtypes import FLOATS, dtype
from metalbench.task.inputs import Array, Input

# Sizes that a task does not declare, spelled as `rows=613,cols=77`.

_SPELLED = re.compile(r"\w+=\d+(,\w+=\d+)*")


def spell_size(extents: Mapping[str, int]) -> str:
    """Return the size with these extents, as a name that every task understands."""
    return ",".join(f"{name}={extent}" for name, extent in extents.items())


def is_spelled(size: str) -> bool:
    """Return whether `size` spells extents out rather than naming a declared size."""
    return _SPELLED.fullmatch(size) is not None


def parse_size(size: str) -> dict[str, int]:
    """Return the extents that a spelled size has."""
    pairs = (each.split("=") for each in size.split(","))
    return {name: int(extent) for name, extent in pairs}


Sizes = Mapping[str, Mapping[str, int]]
# A pass that is timed on a GPU takes this long at the chip's roofline, if the task has such a size.
# The boundary of a command buffer costs some 20 us of GPU time.
SHORTEST_PASS_S = 0.5e-3
# From a workload to its outputs by name.
Judge = Callable[[Any], Mapping[str, np.ndarray[Any, Any]]]


class ExternalReference(Protocol):
    """A reference that another library than MLX computes in its own memory."""

    @property
    def name(self) -> str:
        """The name in reports."""

    def beside(self, kind: str) -> None:
        """Run on the processor that suits a comparison with a device of this kind."""

    def load(self, *works: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Load inputs by name. Runs alternate between several sets of inputs."""

    def outputs(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Return the outputs for inputs by name, in the order of the task."""

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` times on the loaded inputs and wait for the end."""


class TimedDevice(Protocol):
    """Facts of a device that select the headline size."""

    @property
    def kind(self) -> str:
        """`cpu`, `metal` or `cuda`."""

    @property
    def chip(self) -> str | None:
        """Such as `m4_max`; None for a GPU that is not a known chip."""

    @property
    def cores(self) -> int:
        """The number of its cores; 0 where the system does not report it."""


@dataclass(frozen=True)
class Task:
    """One problem: inputs, outputs, sizes, reference and oracle.

    `reference` takes the inputs as MLX arrays and the constants, by name. `oracle` takes them as
    NumPy arrays in float64, `scale` in float32. Each returns one array, or a tuple with one array
    for each output. Rounding errors are relative to `scale`; of a sum this is the sum of absolute
    terms. `largest` returns the number of elements of the largest intermediate array at a size,
    where it is known. `judges` replace the oracle at the sizes they name. `inout` maps inputs that
    a kernel may update in place to the outputs that they become.
    """

    name: str
    description: str
    sizes: Sizes
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Array]
    reference: Callable[..., Any]
    oracle: Callable[..., Any]
    scale: Callable[..., Any] | None
    constants: Mapping[str, int | float]
    dtypes: tuple[str, ...]
    headline: str
    gpu_headlines: tuple[str, ...]
    baseline: str
    flops_expression: Expression
    bytes_expression: Expression | None = field(default=None)
    multiples: Mapping[str, int] = field(default_factory=dict)
    draw: Callable[[np.random.Generator], Mapping[str, int]] | None = field(default=None)
    fast: Callable[..., Any] | None = field(default=None)
    against: tuple[str, ...] = field(default=("eager", "compiled"))
    apart: ExternalReference | None = field(default=None)
    torch: Callable[..., Any] | None = field(default=None)
    largest: Callable[[Mapping[str, int]], int] | None = field(default=None)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    inout: Mapping[str, str] = field(default_factory=dict)
    inout_bytes_expression: Expression | None = field(default=None)

    def headline_on(self, device: TimedDevice) -> str:
        """Return the size that is timed on `device`, where none is asked for.

        On a GPU of the chip table it is the first of `gpu_headlines` whose pass, in the task's
        first element type, takes at least SHORTEST_PASS_S at the chip's roofline; if none does, the
        last one. Any other GPU has the first one.
        """
        if find_kind(device.kind).is_simulated:
            return self.headline
        rates = peak_rates(device.chip, device.cores)
        if rates is None:
            return self.gpu_headlines[0]
        for size in self.gpu_headlines:
            if rates.least_seconds(*self.work(size)) >= SHORTEST_PASS_S:
                return size
        return self.gpu_headlines[-1]

    def extents(self, size: str) -> Mapping[str, int]:
        """Return the extents of `size` by name; it is declared or spelled `rows=613,cols=77`.

        Raise DeclarationError if the task has no such size.
        """
        if size in self.sizes:
            return self.sizes[size]
        names = self.sizes[self.headline]
        if not is_spelled(size):
            example = spell_size(names)
            hint = suggestion(size, self.sizes)
            separator = " Or" if hint.endswith("?") else ", or"
            raise DeclarationError(
                f"[{self.name}] unknown size {size!r}; {hint}{separator} any such as {example}"
            )
        extents = parse_size(size)
        if extents.keys() != names.keys():
            raise DeclarationError(
                f"[{self.name}] size {size}: expected the names {', '.join(names)}, "
                f"got {', '.join(extents)}"
            )
        for name, step in self.multiples.items():
            if extents[name] % step:
                raise DeclarationError(
                    f"[{self.name}] size {size}: expected a multiple of {step} for {name}, "
                    f"got {extents[name]}"
                )
        return extents

    def values(self, size: str) -> dict[str, int]:
        """Return sizes and integer constants by name, as expressions see them at size `size`.

        Raise DeclarationError if the task has no such size.
        """
        whole = {name: each for name, each in self.constants.items() if isinstance(each, int)}
        return {**whole, **self.extents(size)}

    def check_size(self, size: str) -> None:
        """Raise DeclarationError unless `size` gives every array a shape."""
        values = self.values(size)
        self.flops(size)
        for name, each in {**self.inputs, **self.outputs}.items():
            shape = each.shape_at(values)
            if min(shape, default=1) < 1:
                raise DeclarationError(
                    f"[{self.name}] size {size}: expected every extent to be 1 or more, got the "
                    f"shape {shape} for {name}"
                )

    @property
    def turn(self) -> int:
        """The number of consecutive seeds after which every variation of every input was used."""
        return 1 + max((len(each.variations) for each in self.inputs.values()), default=0)

    def check_dtype(self, name: str) -> None:
        """Raise DeclarationError unless the task is declared for element type `name`."""
        if name not in self.dtypes:
            raise DeclarationError(
                f"[{self.name}] dtype: expected one of {', '.join(self.dtypes)}, got {name!r}"
            )

    def flops(self, size: str) -> int:
        """Return arithmetic operations of one run at size `size`."""
        return self.flops_expression.evaluate(self.values(size))

    def work(self, size: str) -> tuple[int, int]:
        """Return operations and bytes of one pass at `size`, in the first element type."""
        return self.flops(size), self.bytes(size, self.dtypes[0])

    def bytes(self, size: str, dtype_name: str, *, in_place: bool = False) -> int:
        """Return the bytes of memory traffic: every input and output once, unless declared.

        A declared `bytes` expression also knows `itemsize`, the bytes of one element of the run.
        `in_place` asks for the traffic of a kernel that updates the `inout` arrays in place.
        """
        run, values = dtype(dtype_name), self.values(size)
        declared = self.inout_bytes_expression if in_place else self.bytes_expression
        if declared is not None:
            return declared.evaluate({**values, "itemsize": run.nbytes})
        total = 0
        for each in (*self.inputs.values(), *self.outputs.values()):
            elements = 1
            for extent in each.shape_at(values):
                elements *= extent
            total += elements * each.type_in(run).nbytes
        return total


def task(
    *,
    sizes: Sizes,
    inputs: Mapping[str, Input],
    outputs: Mapping[str, Array],
    oracle: Callable[..., Any],
    flops: str,
    bytes: str | None = None,
    scale: Callable[..., Any] | None = None,
    constants: Mapping[str, int | float] | None = None,
    dtypes: Sequence[str] = ("float32",),
    headline: str = "seed",
    gpu_headlines: Sequence[str] = (),
    baseline: str = "",
    multiples: Mapping[str, int] | None = None,
    draw: Callable[[np.random.Generator], Mapping[str, int]] | None = None,
    fast: Callable[..., Any] | None = None,
    against: Sequence[str] = ("eager", "compiled"),
    apart: ExternalReference | None = None,
    torch: Callable[..., Any] | None = None,
    inout: Mapping[str, str] | None = None,
    inout_bytes: str | None = None,
) -> Callable[[Callable[..., Any]], Task]:
    """Declare the task whose MLX reference is the decorated function.

    Verification also draws a random size: every name between its least and its headline value.
    `multiples` gives the number that a name must be a multiple of, in every size. `draw` takes a
    NumPy generator and returns the whole size, for other constraints.

    On a GPU the timed size is one of `gpu_headlines`, by default `headline`. They are in ascending
    order. The first one should move 16 MB or more, or take a millisecond on a small GPU. A further
    one should take a millisecond on a large GPU. `Task.headline_on` selects one of them.

    `fast` computes the reference with MLX's fused operations, where the reference does not use
    them. A candidate is timed against the fastest of the forms in `against`: "eager" (the plain
    reference), "compiled" (by mx.compile), "fast", "apart" (the external reference `apart`). The
    other forms are timed in addition, except "compiled".

    `torch` computes the reference with PyTorch, for comparisons on request. Its arguments are the
    module `torch`, then inputs (as tensors) and constants in their order.

    `inout` maps an input to the output that it becomes, such as `dict(cache="y")`. A kernel with
    the header line `// inout: cache` then updates the input in place. Both have one shape and type,
    and the update must be idempotent: a further one must leave the result as it is. `inout_bytes`
    is the memory traffic of such a kernel, as `bytes` is that of others.

    Raise DeclarationError if the parts do not fit together.
    """

    def declare(reference: Callable[..., Any]) -> Task:
        if isinstance(gpu_headlines, str):
            raise DeclarationError(
                f"[{reference.__name__}] gpu_headlines: expected several names of sizes, such as "
                f"({gpu_headlines!r},), got {gpu_headlines!r}"
            )
        declared = Task(
            name=reference.__name__,
            description=_first_line(reference),
            sizes=sizes,
            inputs=inputs,
            outputs=outputs,
            reference=reference,
            oracle=oracle,
            scale=scale,
            constants=constants or {},
            dtypes=tuple(dtypes),
            headline=headline,
            gpu_headlines=tuple(gpu_headlines) or (headline,),
            baseline=baseline or f"mlx {reference.__name__}",
            flops_expression=parse(flops),
            bytes_expression=parse(bytes) if bytes is not None else None,
            multiples=multiples or {},
            draw=draw,
            fast=fast,
            against=tuple(against),
            apart=apart,
            torch=torch,
            inout=inout or {},
            inout_bytes_expression=parse(inout_bytes) if inout_bytes is not None else None,
        )
        _check(declared)
        return declared

    return declare


def _first_line(reference: Callable[..., Any]) -> str:
    text = reference.__doc__ or getattr(reference, "__globals__", {}).get("__doc__") or ""
    return str(text).strip().partition("\n")[0]


def _check(declared: Task) -> None:
    fault = (
        _names_fault(declared)
        or _sizes_fault(declared)
        or _against_fault(declared)
        or _inout_fault(declared)
    )
    if fault:
        raise DeclarationError(f"[{declared.name}] {fault}")
    for each in declared.dtypes:
        if each not in FLOATS:
            raise DeclarationError(
                f"[{declared.name}] dtypes: expected some of {', '.join(FLOATS)}, got {each!r}"
            )


def _names_fault(declared: Task) -> str:
    groups = (declared.inputs, declared.outputs, declared.constants)
    names = [name for group in groups for name in group]
    names += next(iter(declared.sizes.values()), {})
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"{twice[0]!r} names two things; inputs, outputs, constants and sizes share one list"
    if not declared.outputs:
        return "outputs: expected at least one, got none"
    arguments = [*declared.inputs, *declared.constants]
    for what in ("reference", "oracle", "scale", "fast", "torch"):
        expected = ["torch", *arguments] if what == "torch" else arguments
        function = getattr(declared, what)
        signature = inspect.signature(function) if function is not None else None
        if signature is not None and list(signature.parameters) != expected:
            return f"{what}: expected the arguments ({', '.join(expected)}), got {signature}"
    return _order_fault(declared)


def _order_fault(declared: Task) -> str:
    earlier: list[str] = []
    for name, each in declared.inputs.items():
        needed = () if each.compute is None else inspect.signature(each.compute).parameters
        for parameter in needed:
            if parameter not in earlier:
                return (
                    f"inputs: {name} is derived from {parameter!r}; expected inputs that are "
                    f"declared before it ({', '.join(earlier)})"
                )
        earlier.append(name)
    return ""


def _against_fault(declared: Task) -> str:
    forms = ["eager", "compiled", *(["fast"] if declared.fast else [])]
    forms += ["apart"] if declared.apart else []
    if not declared.against:
        return f"against: expected some of {', '.join(forms)}, got none"
    for each in declared.against:
        if each not in forms:
            return f"against: no form {each!r}; {suggestion(each, forms)}"
    return ""


def _inout_fault(declared: Task) -> str:
    for name, output in declared.inout.items():
        if name not in declared.inputs:
            return f"inout: no input {name!r}; {suggestion(name, declared.inputs)}"
        if output not in declared.outputs:
            return f"inout: no output {output!r}; {suggestion(output, declared.outputs)}"
        before, after = declared.inputs[name], declared.outputs[output]
        for size in declared.sizes:
            expected, got = (each.shape_at(declared.values(size)) for each in (before, after))
            if (before.dtype, expected) != (after.dtype, got):
                return (
                    f"inout: expected the shape and type of {name} for {output}, got {expected} "
                    f"and {got} at size {size}"
                )
    if len({*declared.inout.values()}) < len(declared.inout):
        return "inout: expected a different output for each input"
    if bool(declared.inout) != (declared.inout_bytes_expression is not None):
        return "inout_bytes: expected the traffic of an update in place with `inout=` only"
    return ""


def _sizes_fault(declared: Task) -> str:
    headlines = [("headline", declared.headline)]
    headlines += [("gpu_headlines", size) for size in declared.gpu_headlines]
    for what, size in headlines:
        if size not in declared.sizes:
            return f"{what}: no size {size!r}; {suggestion(size, declared.sizes)}"
    names = declared.sizes[declared.headline].keys()
    for size, values in declared.sizes.items():
        if values.keys() != names:
            return f"size {size}: expected the names {', '.join(names)}, got {', '.join(values)}"
        declared.check_size(size)
    for size, larger in pairwise(declared.gpu_headlines):
        less, more = declared.work(size), declared.work(larger)
        if less == more or not all(map(operator.le, less, more)):
            return (
                f"gpu_headlines: expected ascending sizes, got {larger!r}, which is not more work "
                f"than {size!r}"
            )
    for name in declared.multiples:
        if name not in names:
            return f"multiples: no size {name!r}; {suggestion(name, names)}"
    return ""


# Random sizes. No candidate can be written for them in advance.


def draw_size(task: Task, seed: int, *, upto: str | None = None) -> str:
    """Return a random size, spelled out. The same `seed` gives the same size.

    Every name is log-uniform between its least value and that of the size `upto` (by default the
    headline), and a multiple of `Task.multiples`. `Task.draw` replaces this rule. Raise
    DeclarationError for a result that is not a valid size of the task.
    """
    key = hashlib.sha256(f"{task.name}/size/{seed}".encode()).digest()
    random = np.random.Generator(np.random.Philox(int.from_bytes(key[:16], "little")))
    if task.draw is not None:
        size = spell_size(task.draw(random))
    else:
        most = task.extents(upto or task.headline)
        size = spell_size({name: _between(task, name, most[name], random) for name in most})
    try:
        task.check_size(size)
    except DeclarationError as error:
        raise DeclarationError(
            f"{error}; sizes drawn at random must be ones too: say `multiples=dict(name=...)`, or "
            "`draw=` for anything else"
        ) from error
    return size


def _between(task: Task, name: str, most: int, random: np.random.Generator) -> int:
    step = task.multiples.get(name, 1)
    least = min(extents[name] for extents in task.sizes.values())
    most = max(most, least)
    low, high = math.ceil(least / step), max(most // step, math.ceil(least / step))
    value = math.exp(random.uniform(math.log(low), math.log(high + 1)))
    return step * min(int(value), high)
