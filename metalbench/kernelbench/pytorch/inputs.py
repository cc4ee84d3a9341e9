"""Inputs of imported modules: drawn by the file and by PyTorch, then so that they matter."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.errors import DeclarationError
from metalbench.expression import Expression
from metalbench.kernelbench.pytorch.module import TorchModule, several
from metalbench.reference.torch_form import finish, import_torch_for, torch_device
from metalbench.task.dtypes import dtype
from metalbench.task.inputs import Input, Variation, coarse

Values = np.ndarray[Any, Any]
# The factor of the wider spread, and the spread of parameters that are all zero.
GAIN, ABOUT_ZERO = np.sqrt(6), 0.3


@dataclass(frozen=True)
class ModulePart:
    """An argument, a parameter or a buffer of a module; `called` is its name there."""

    kind: str
    dims: tuple[Any, ...]
    dtype: str = "float32"
    varied: bool = True
    called: str = ""


@dataclass(frozen=True)
class DrawnInput(Input):
    """An input that PyTorch draws."""

    part: ModulePart = field(default=ModulePart("", ()))
    module: TorchModule = field(default_factory=lambda: TorchModule.of(Path()))
    name: str = ""

    @classmethod
    def of(
        cls, name: str, part: ModulePart, shape: tuple[Expression, ...], module: TorchModule
    ) -> DrawnInput:
        """Return the input called `name` for a part of a module."""

        def draw(_: np.random.Generator, shape: tuple[int, ...], at: Mapping[str, int]) -> Values:
            return _own(module, part, name, at, 0).reshape(shape)

        text = {"argument": "by get_inputs", "parameter": "as PyTorch"}.get(part.kind, "fixed")
        unchanged = Variation("of wider spread", lambda values, _: values)  # drawn anew instead
        varied = () if part.kind == "buffer" else (unchanged, unchanged)
        kind = None if part.dtype == "float32" else dtype(part.dtype)
        return cls(shape, kind, text, draw, varied, part=part, module=module, name=name)

    def draw_array(
        self, random: np.random.Generator, values: Mapping[str, int], seed: int
    ) -> Values:
        """Return the numbers of the file; seeds with a variation have a wider spread."""
        shape = self.shape_at(values)
        variation = seed % (len(self.variations) + 1)
        if not variation or self.part.kind == "buffer":
            return self.draw(random, shape, values)
        own = _own(self.module, self.part, self.name, values, 0)
        if self.part.kind == "parameter":
            return _wide(own, random).reshape(shape)
        if self.dtype is not None or not self.part.varied:
            return _own(self.module, self.part, self.name, values, seed).reshape(shape)
        plain = np.asarray(random.standard_normal(shape), np.float32)
        return plain if variation == 1 else coarse().change(plain, random)


def _own(
    module: TorchModule, part: ModulePart, name: str, at: Mapping[str, int], seed: int
) -> Values:
    """Return the numbers of the file for `seed`; arguments are identified by position."""
    drawn = module.draw(at, seed)
    if part.kind == "argument":
        arrays = [each for each in drawn.arguments if isinstance(each, np.ndarray)]
        return arrays[int(part.called)]
    held = drawn.parameters if part.kind == "parameter" else drawn.buffers
    return held[part.called]


def _wide(own: Values, random: np.random.Generator) -> Values:
    """Constants evenly over half to one and a half; weights normal, so that variances last."""
    spread = float(own.std())
    if spread == 0:
        value = float(own.flat[0])
        drawn = (
            value * random.uniform(0.5, 1.5, own.shape)
            if value
            else random.normal(0, ABOUT_ZERO, own.shape)
        )
    elif own.ndim < 2:
        drawn = random.normal(float(own.mean()), max(spread, ABOUT_ZERO), own.shape)
    else:
        uniform = abs(own).max() < 1.9 * spread
        drawn = random.normal(0, GAIN * spread if uniform else spread, own.shape)
    return np.asarray(drawn, np.float32)


# PyTorch itself: the oracle in float64, and the baseline on the device that it has.

ExtentsOf = Callable[[Mapping[str, Any]], Mapping[str, int]]


class OnPyTorch:
    """Runs a module; `load` gets inputs there, and calling it with a number runs it so often."""

    def __init__(
        self, name: str, module: TorchModule, parts: Mapping[str, ModulePart], extents_of: ExtentsOf
    ) -> None:
        self._name = name
        self._module = module
        self._parts = parts
        self._extents_of = extents_of
        self._kind = ""
        self._loaded: Any = None
        self._built: dict[tuple[int, ...], Any] = {}

    @property
    def name(self) -> str:
        """The name in reports: version and device of PyTorch."""
        torch = import_torch_for(self._name)
        return f"pytorch {torch.__version__.partition('+')[0]} ({self.device})"

    @property
    def device(self) -> str:
        """The GPU if PyTorch has one, but the processor in a comparison with the cpu device."""
        return torch_device(import_torch_for(self._name), self._kind)

    def beside(self, kind: str) -> None:
        """Run on the processor that suits a comparison with a device of this kind."""
        self._kind = kind

    def exact(self, arrays: Mapping[str, Values]) -> Any:
        """Return the outputs in float64, one array or several."""
        tensors, state = self._split(arrays)
        found = self._module.exact(self._extents_of(arrays), tensors, state)
        return found if len(found) > 1 else found[0]

    def to_mlx(self, arrays: Mapping[str, mx.array]) -> Any:
        """Run PyTorch on copies of MLX arrays and return MLX arrays."""
        outputs = self.outputs({name: np.array(each) for name, each in arrays.items()})
        found = tuple(map(mx.array, outputs))
        return found if len(found) > 1 else found[0]

    def outputs(self, arrays: Mapping[str, Values]) -> list[Values]:
        """In float32, on the device."""
        run = self._runner(arrays)
        found = [_array(each) for each in several(run())]
        return found

    def load(self, *works: Mapping[str, Values]) -> None:
        """Load inputs. Runs alternate between several of them."""
        self._loaded = cycle([self._runner(each) for each in works])

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` to completion."""
        for _ in range(repetitions):
            next(self._loaded)()
        finish(import_torch_for(self._name), self.device)

    def _runner(self, arrays: Mapping[str, Values]) -> Callable[[], Any]:
        torch = import_torch_for(self._name)
        values, device = self._extents_of(arrays), self.device
        key = tuple(values.values())
        if key not in self._built:
            self._built = {key: self._module.build(values)}
        model, arguments = self._built[key]
        tensors, state = self._split(arrays)
        left = iter(tensors)
        asked = [
            _tensor(torch, next(left), each, device) if isinstance(each, torch.Tensor) else each
            for each in arguments
        ]
        own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        held = {name: each.detach().clone().to(device) for name, each in own.items()}
        held |= {name: _tensor(torch, each, own[name], device) for name, each in state.items()}

        def run() -> Any:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return torch.func.functional_call(model, held, tuple(asked))

        return run

    def _split(self, arrays: Mapping[str, Values]) -> tuple[list[Values], dict[str, Values]]:
        """Arguments in order, and what the module holds, by its own names."""
        tensors = [arrays[n] for n, part in self._parts.items() if part.kind == "argument"]
        state = {p.called: arrays[n] for n, p in self._parts.items() if p.kind != "argument"}
        return tensors, state


def _tensor(torch: Any, values: Values, other: Any, device: str) -> Any:
    return torch.from_numpy(np.array(values)).to(other.dtype).reshape(other.shape).to(device)


def _array(tensor: Any) -> Values:
    values = np.array(tensor.detach().cpu().numpy())
    kind = {"int64": np.int32, "float64": np.float32}.get(values.dtype.name)
    values = values.astype(kind) if kind is not None else values
    return values.reshape(1) if values.ndim == 0 else values


# Additional sizes of a module: small and odd ones for checks, and one for the cpu.
#
# The numbers that a file calls constants are made smaller as long as the module still runs and is
# the same graph; shapes are tried without memory, on PyTorch's "meta" device.

Extents = dict[str, int]
# Limits of a size: arithmetic of products, and elements of all arrays.
SMALL = 4_000_000, 400_000
ODD = 16_000_000, 800_000
CPU = 400_000_000, 4_000_000
BATCH = 2


@dataclass(frozen=True)
class Work:
    """Arithmetic of products, and elements of inputs, parameters and outputs."""

    products: int
    elements: int

    def within(self, most: tuple[int, int]) -> bool:
        """Return whether it is no more than that."""
        return self.products <= most[0] and self.elements <= most[1]


@dataclass
class Trials:
    """Sizes that were tried, and what came of them.

    `measure` returns the work of a size, or raises DeclarationError for one that is impossible. No
    number is made smaller than `least`.
    """

    measure: Callable[[Mapping[str, int]], Work]
    least: int
    known: dict[tuple[int, ...], Work | None] = field(default_factory=dict)

    def work(self, values: Mapping[str, int]) -> Work | None:
        """Return the work of a size; None if it is impossible."""
        key = tuple(values.values())
        if key not in self.known:
            self.known[key] = None
            with contextlib.suppress(DeclarationError):
                self.known[key] = self.measure(values)
        return self.known[key]


def work_of(module: TorchModule, values: Mapping[str, int]) -> Work:
    """Return the work of a size, without memory. Raise TaskError if the module does not run."""
    torch = import_torch_for("import-torch")
    from torch.utils.flop_counter import FlopCounterMode

    model, arguments = module.build(values, "meta")
    with warnings.catch_warnings(), torch.no_grad(), FlopCounterMode(display=False) as counter:
        warnings.simplefilter("ignore")
        got = several(module.source.call_user_code("forward", lambda: model(*arguments)))
    arrays = [*arguments, *model.parameters(), *got]
    elements = [each.numel() for each in arrays if isinstance(each, torch.Tensor)]
    if not all(elements):
        raise module.source.fault(f"no elements in an array at {values}")
    return Work(int(counter.get_total_flops()), sum(elements))


def sizes_of(module: TorchModule, least: int) -> dict[str, Extents]:
    """`small`, `odd`, `cpu` and `paper`, the last the file's own; no number below `least`.

    Raise TaskError where the module does not run at its own.
    """
    own = dict(module.source.extents) or {}
    trials = Trials(partial(work_of, module), least)
    trials.known[tuple(own.values())] = work_of(module, own)
    small = find_small(own, trials)
    return {
        "small": small,
        "odd": find_odd(small, own, trials),
        "cpu": grow(small, own, trials, CPU),
        "paper": own,
    }


def find_small(own: Extents, trials: Trials) -> Extents:
    """Return all numbers divided alike, if the module can do that; then each as far as it goes."""
    found = own
    for parts in (1 << place for place in range(16, 0, -1)):
        values = {name: _part(name, value, parts, trials.least) for name, value in own.items()}
        if trials.work(values) is not None:
            found = values
            break
    for name in sorted(own, key=lambda each: -own[each]):
        for part in _ladder(name, found[name], trials.least):
            values = {**found, name: part}
            work = trials.work(values)
            if work is not None:
                found = values
                break
    return found


def _ladder(name: str, value: int, least: int) -> Iterator[int]:
    """From the least to what is there."""
    seen = set()
    for parts in (1 << place for place in range(16, 0, -1)):
        part = _part(name, value, parts, least)
        if part < value and part not in seen:
            seen.add(part)
            yield part


def _part(name: str, value: int, parts: int, least: int) -> int:
    least = BATCH if "batch" in name.lower() else least
    return min(value, max(least, value // parts))


def find_odd(small: Extents, own: Extents, trials: Trials) -> Extents:
    """Return a size whose numbers are odd, where it is possible, and little larger than `small`."""
    found = dict(small)
    for name, value in small.items():
        for more in (5, 3, 1, 2, value // 2, value):
            values = {**found, name: value + more}
            work = trials.work(values) if value + more <= max(own[name], value + 1) else None
            if work is not None and work.within(ODD):
                found = values
                break
    return found


def grow(small: Extents, own: Extents, trials: Trials, most: tuple[int, int]) -> Extents:
    """Double the numbers, one after the other and over again, up to `own` and the work `most`."""
    found = dict(small)
    for _ in count():
        before = dict(found)
        for name in own:
            values = {**found, name: min(2 * found[name], own[name])}
            if values == found:
                continue
            work = trials.work(values)
            if work is not None and work.within(most):
                found = values
        if found == before:
            return found
    raise AssertionError


def same_graph(sizes: dict[str, Extents], form: Callable[[Extents], object]) -> dict[str, Extents]:
    """Return the sizes with those numbers left as they are that would make another graph.

    `form` gives what the graph looks like at a size.
    """
    own = sizes["paper"]
    wanted = form(own)
    for name in own:
        if all(form(values) == wanted for values in sizes.values()):
            break
        if form({**own, name: sizes["small"][name]}) != wanted:
            sizes = {size: {**values, name: own[name]} for size, values in sizes.items()}
    if any(form(values) != wanted for values in sizes.values()):
        return {size: dict(own) for size in sizes}
    return sizes
