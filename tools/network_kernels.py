"""Write the kernels of networks for images of KernelBench's level 3, as dispatches of networks.h.

    python tools/network_kernels.py [--check] [NAME...]

A problem's body is run on arrays without values, whose extents are expressions of the problem's
sizes. Its steps become dispatches: norms are applied where their result is fetched, activations and
biases where sums are stored, concatenated arrays are stored where they belong, and scratch memory
is used again. `--check` writes nothing and reports files that are not current.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metalbench.chips import CHIPS
from metalbench.expression import ceil_div
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.kernelbench.problems.declaration import PROBLEMS, Problem
from metalbench.kernelbench.problems.layers import Layers
from metalbench.kernelbench.problems.parameters import Initial, WindowGeometry
from metalbench.task import Task

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "kernels" / "kernelbench" / "level3"
# The numbers of the problems that this tool writes.
NUMBERS = range(1, 28)
# The size whose extents decide which scratch memory is used again.
LARGEST = "paper"


# Extents as polynomials of sizes, so that equal extents have equal texts.

Terms = tuple[tuple[tuple[str, ...], int], ...]


class Extent(int):
    """A whole number that knows its expression: sums of products of names.

    A quotient that has a remainder is a name itself, as the text of its expression.
    """

    terms: Terms

    def __new__(cls, value: int, terms: Mapping[tuple[str, ...], int]) -> Extent:
        """Return the extent of this value and expression."""
        made = super().__new__(cls, value)
        made.terms = tuple(sorted((name, count) for name, count in terms.items() if count))
        return made

    @classmethod
    def of(cls, value: int) -> Extent:
        """Return a number as an extent."""
        return value if isinstance(value, Extent) else cls(value, {(): int(value)})

    @classmethod
    def from_name(cls, name: str, value: int) -> Extent:
        """Return the extent called `name`."""
        return cls(value, {(name,): 1})

    def __add__(self, other: int) -> Extent:
        counts = Counter(dict(self.terms))
        counts.update(dict(Extent.of(other).terms))
        return Extent(int(self) + int(other), counts)

    def __mul__(self, other: int) -> Extent:
        counts: Counter[tuple[str, ...]] = Counter()
        for names, count in self.terms:
            for more, times in Extent.of(other).terms:
                counts[tuple(sorted((*names, *more)))] += count * times
        return Extent(int(self) * int(other), counts)

    def __sub__(self, other: int) -> Extent:
        return self + Extent.of(other) * -1

    def __rsub__(self, other: int) -> Extent:
        return self * -1 + other

    def __lshift__(self, other: int) -> Extent:
        return self * (1 << other)

    def __floordiv__(self, other: int) -> Extent:
        value = int(self) // int(other)
        if not isinstance(other, Extent) and all(count % other == 0 for _, count in self.terms):
            return Extent(value, {names: count // other for names, count in self.terms})
        if other == 1:
            return self
        text = str(self)
        inner = text if text.isidentifier() else f"({text})"
        return Extent.from_name(f"({inner} / {other})", value)

    def __mod__(self, other: int) -> int:
        return int(self) % int(other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        parts = []
        for names, count in self.terms or (((), 0),):
            factors = [*([str(abs(count))] if abs(count) != 1 or not names else []), *names]
            parts.append(f"{'- ' if count < 0 else '+ '}{' * '.join(factors)}")
        return " ".join(sorted(parts)).removeprefix("+ ")


# The steps of a body.


@dataclass(eq=False)
class Step:
    """One step of a body, in the place of its result; `made` are its parameters by name."""

    kind: str
    shape: tuple[int, ...]
    inputs: tuple[Step, ...] = ()
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __add__(self, other: Step) -> Step:
        if other.kind == "parameter" and self.kind == "convolve":
            return replace(self, made={**self.made, "bias": other.made["name"]})
        if other.kind == "parameter" and self.kind == "scaled":
            return Step("norm", self.shape, self.inputs, {**self.made, "bias": other.made["name"]})
        if other.kind == "parameter":
            raise NotImplementedError(f"{self.kind} + {other.made['name']}")
        return Step("add", self.shape, (self, other))

    def __mul__(self, other: Step) -> Step:
        if self.kind != "normalized" or other.kind != "parameter":
            raise NotImplementedError(f"{self.kind} * {other.kind}")
        return Step("scaled", self.shape, self.inputs, {"weight": other.made["name"]})


@dataclass
class Recorder:
    """The operations of a body, which return steps. Extents that divisions give get names."""

    named: dict[str, Extent] = field(default_factory=dict)
    # By the name of an extent, the extent that windows made it of, which is not smaller.
    larger: dict[str, str] = field(default_factory=dict)

    def make(self, name: str, shape: tuple[int, ...], _: Initial) -> Step:
        """Return a parameter."""
        return Step("parameter", shape, (), {"name": name})

    def name_extent(self, extent: int, source: int) -> int:
        """Return an extent of windows over `source` as one name, which a line `// let:` has."""
        text = str(Extent.of(extent))
        if text.isidentifier() or text.isdecimal():
            return extent
        if text not in self.named:
            name = f"extent{len(self.named) + 1}"
            self.named[text] = Extent.from_name(name, extent)
            self.larger[name] = str(source)
        return self.named[text]

    def _windows(self, x: Step, kernel: int, stride: int, padding: int, *, ceil: bool) -> list[int]:
        more = stride - 1 if ceil else 0
        return [
            self.name_extent((n + (2 * padding - kernel + more)) // stride + 1, n)
            if (kernel, stride, padding) != (2 * padding + 1, 1, padding)
            else n
            for n in x.shape[1:-1]
        ]

    def convolution(self, x: Step, w: Step, steps: WindowGeometry) -> Step:
        """Record a convolution of square taps."""
        (stride, *_), (padding, *_) = set(steps.stride), set(steps.padding)
        filters, taps, across, _ = w.shape
        if {taps} != {across} or set(steps.dilation) != {1}:
            raise NotImplementedError(f"taps {w.shape}, {steps}")
        made = dict(weight=w.made["name"], taps=taps, stride=stride, padding=padding)
        pixels = self._windows(x, taps, stride, padding, ceil=False)
        made["groups"] = steps.groups
        return Step("convolve", (x.shape[0], *pixels, filters), (x,), made)

    def product(self, x: Step, w: Step) -> Step:
        """Record a linear layer: a convolution of one pixel."""
        made = dict(weight=w.made["name"], taps=1, stride=1, padding=0, groups=1)
        return Step("convolve", (*x.shape[:-1], w.shape[-1]), (x,), made)

    def swapped(self, x: Step) -> Step:
        """Swap the last two axes of a parameter, or of channels that were split into groups."""
        return Step(
            "parameter" if x.kind == "parameter" else "swapped",
            (*x.shape[:-2], x.shape[-1], x.shape[-2]),
            x.inputs,
            x.made,
        )

    def normalized(self, x: Step, axes: tuple[int, ...], eps: float) -> Step:
        """Record the norm over all pixels of a batch."""
        if axes != tuple(range(x.ndim - 1)) or eps != 1e-5:
            raise NotImplementedError(f"a norm over axes {axes} of {x.ndim}, eps {eps}")
        return Step("normalized", x.shape, (x,))

    def relu(self, x: Step) -> Step:
        """Record max(x, 0)."""
        return Step("activation", x.shape, (x,), {"function": "Relu"})

    def sigmoid(self, x: Step) -> Step:
        """Record 1 / (1 + exp(-x))."""
        return Step("activation", x.shape, (x,), {"function": "Sigmoid"})

    def clamp(self, x: Step, low: float, high: float) -> Step:
        """Record x within [0, 6]."""
        if (low, high) != (0, 6):
            raise NotImplementedError(f"clamp to {low}, {high}")
        return Step("activation", x.shape, (x,), {"function": "Relu6"})

    def max_pool(
        self,
        x: Step,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        *,
        ceil: bool = False,
    ) -> Step:
        """Record maxima of square windows."""
        made = dict(taps=kernel[0], stride=stride[0], padding=padding[0], join="Max")
        pixels = self._windows(x, kernel[0], stride[0], padding[0], ceil=ceil)
        return Step("pool", (x.shape[0], *pixels, x.shape[-1]), (x,), made)

    def avg_pool(
        self, x: Step, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]
    ) -> Step:
        """Record means of square windows without padding.

        A convolution of one tap without a bias comes after the means: it has fewer pixels then.
        """
        if any(padding):
            raise NotImplementedError(f"means with padding {padding}")
        one_tap = x.kind == "convolve" and (x.made["taps"], x.made["stride"]) == (1, 1)
        if one_tap and not x.made["padding"] and "bias" not in x.made:
            pooled = self.avg_pool(x.inputs[0], kernel, stride, padding)
            return replace(x, shape=(*pooled.shape[:-1], x.shape[-1]), inputs=(pooled,))
        made = dict(taps=kernel[0], stride=stride[0], padding=0, join="Mean")
        pixels = self._windows(x, kernel[0], stride[0], 0, ceil=False)
        return Step("pool", (x.shape[0], *pixels, x.shape[-1]), (x,), made)

    def mean(self, x: Step, axes: tuple[int, ...], keep: bool = False) -> Step:
        """Record the mean of all pixels."""
        if axes != (1, 2):
            raise NotImplementedError(f"a mean over axes {axes}")
        batch, *_, channels = x.shape
        return Step("mean", (batch, 1, 1, channels) if keep else (batch, channels), (x,))

    def concat(self, steps: Sequence[Step], axis: int) -> Step:
        """Record arrays side by side in channels."""
        if axis != -1:
            raise NotImplementedError(f"concat along {axis}")
        channels = sum(each.shape[-1] for each in steps)
        return Step("concat", (*steps[0].shape[:-1], channels), tuple(steps))

    def reshape(self, x: Step, shape: Sequence[int]) -> Step:
        """Record a change of shape: pixels one after the other, or a shuffle of channels."""
        if x.kind == "swapped":
            (split,) = x.inputs
            return Step("shuffle", tuple(shape), (split,), {"groups": x.shape[-1]})
        return Step("reshape", tuple(shape), (x,))


# Steps as dispatches.


@dataclass(eq=False)
class Memory:
    """An array of the task, or scratch memory of `size` elements, which has no name yet."""

    name: str = ""
    size: Extent = field(default_factory=lambda: Extent.of(0))
    prefix: str = "a"


@dataclass(frozen=True)
class View:
    """The result of a step: an array of images, and the norm and activation of its fetches."""

    memory: Memory
    batch: int
    height: int
    width: int
    channels: int
    pitch: int
    moments: Memory | None = None
    norm: tuple[str, str] | None = None
    activation: str = "Identity"

    @property
    def pixels(self) -> int:
        """The number of pixels of all images."""
        return self.batch * self.height * self.width


@dataclass
class Place:
    """Channels of an array that a step stores: from `first` on, `pitch` elements a pixel."""

    memory: Memory
    pitch: int
    first: int
    moments: Memory


@dataclass
class Launch:
    """One dispatch; `bindings` are texts and memory by argument."""

    template: str
    parameters: tuple[str, ...]
    bindings: dict[str, Memory | str]
    grid: str
    threads: str
    written: tuple[str, ...]
    function: str = ""


TILES = "threads=(128)"
PIXELS = "threads=(QUADS, DOWN)"


class Planner:
    """Makes the dispatches of the steps of one problem."""

    def __init__(self, output: Step) -> None:
        self.launches: list[Launch] = []
        self._order = list(_sort(output))
        self._output = output
        self._users: dict[Step, list[Step]] = {each: [] for each in self._order}
        for each in self._order:
            for one in each.inputs:
                self._users[one].append(each)
        self._views: dict[Step, View] = {}
        self._places: dict[Step, Place] = {}
        self._normed: set[Step] = set()
        self._arrange()

    def _arrange(self) -> None:
        """Find which steps store into a part of an array, and of which steps moments are taken."""
        last = self._output
        if last.kind != "norm":
            self._put(last, self._place(last.shape[-1], Memory("y")))
        for each in reversed(self._order):
            if each.kind == "concat" and each not in self._places:
                self._put(each, self._place(each.shape[-1], self._array(each.shape)))
            if each.kind == "norm":
                self._mark(each.inputs[0])

    def _put(self, step: Step, place: Place) -> None:
        """Let a step store in a place; of a concatenation, each of its parts."""
        self._places[step] = place
        if step.kind == "concat":
            first = place.first
            for part in step.inputs:
                self._put(part, replace(place, first=first))
                first = first + part.shape[-1]
        elif step.kind == "activation" and self._is_merged(step):
            self._put(step.inputs[0], place)

    def _is_merged(self, step: Step) -> bool:
        """Return whether an activation is part of how its input is stored."""
        (source,) = step.inputs
        return source.kind in ("convolve", "add") and len(self._users[source]) == 1

    def _mark(self, step: Step) -> None:
        if step.kind == "concat":
            for each in step.inputs:
                self._mark(each)
        self._normed.add(step)

    def _array(self, shape: Sequence[int]) -> Memory:
        return Memory("", Extent.of(math.prod(shape)))

    def _place(self, channels: int, memory: Memory) -> Place:
        moments = Memory("", Extent.of(channels) * 2, "m")
        return Place(memory, channels, 0, moments)

    def _place_of(self, step: Step) -> Place:
        """Return the place of the result of a step that is stored."""
        if step not in self._places:
            self._places[step] = self._place(step.shape[-1], self._array(step.shape))
        return self._places[step]

    def plan(self) -> list[Launch]:
        """Return the dispatches of all steps."""
        for step in self._order:
            self._views[step] = getattr(self, f"_plan_{step.kind}")(step)
        view = self._views[self._output]
        if view.memory.name != "y":
            if view.norm is None:
                raise NotImplementedError("an output that is another step's array")
            self._apply(view, "normed_apply", (view.activation,), Memory("y"), {})
        return self.launches

    def _dims(self, step: Step) -> tuple[int, int, int]:
        batch, *pixels, _ = step.shape
        height, width = pixels or (1, 1)
        return batch, height, width

    def _view_place(self, step: Step, place: Place) -> View:
        """Return the view of a step's result in its place; pixels begin where the array's do."""
        channels = step.shape[-1]
        return View(place.memory, *self._dims(step), channels, place.pitch, place.moments)

    def _plan_input(self, step: Step) -> View:
        view = View(Memory("x"), *self._dims(step), step.shape[-1], step.shape[-1])
        # A norm of it takes moments, and a concatenation has it as a part.
        if step in self._normed or step in self._places:
            return self._copy(step, view)
        return view

    def _copy(self, step: Step, view: View) -> View:
        place = self._place_of(step)
        made = dict(taps=1, stride=1, padding=0, join="Max")
        self._pool(step, view, place, made)
        return self._view_place(step, place)

    def _plan_norm(self, step: Step) -> View:
        view = self._views[step.inputs[0]]
        if view.norm or view.activation != "Identity" or view.moments is None:
            raise NotImplementedError("a norm of a norm or an activation")
        return replace(view, norm=(step.made["weight"], step.made["bias"]))

    def _plan_activation(self, step: Step) -> View:
        view = self._views[step.inputs[0]]
        if self._is_merged(step):
            return view
        if view.activation != "Identity":
            raise NotImplementedError("an activation of an activation")
        return replace(view, activation=step.made["function"])

    def _activation_after(self, step: Step) -> str:
        users = self._users[step]
        if len(users) == 1 and users[0].kind == "activation":
            return str(users[0].made["function"])
        return "Identity"

    def _fetch(self, view: View, name: str = "x") -> dict[str, Memory | str]:
        """Return the bindings of what is read."""
        found: dict[str, Memory | str] = {name: view.memory}
        if view.norm is not None:
            assert view.moments is not None
            weight, bias = view.norm
            found[f"{name}_moments"] = view.moments
            found |= {f"{name}_weight": weight, f"{name}_bias": bias}
        return found

    def _plan_convolve(self, step: Step) -> View:
        source, made, place = self._views[step.inputs[0]], step.made, self._place_of(step)
        result = self._view_place(step, place)
        if made["groups"] != 1 and made["groups"] == source.channels == result.channels:
            return self._depthwise(step, source, result, place)
        is_normed = step in self._normed
        # The result is further channels of the array that is read, which is one argument then.
        is_part = source.memory is place.memory
        parts = [
            *(["normed"] if source.norm else []),
            "extend" if is_part else "convolve",
            *(["biased"] if "bias" in made else []),
            *(["moments"] if is_normed else []),
        ]
        geometry = (str(made["taps"]), str(made["stride"]), str(made["padding"]))
        after = () if is_normed else (self._activation_after(step),)
        bindings = self._fetch(source) | {
            "weight": made["weight"],
            **({"bias": made["bias"]} if "bias" in made else {}),
            **({} if is_part else {"y": place.memory}),
            "batch": str(source.batch),
            "height": str(source.height),
            "width": str(source.width),
            "channels": str(source.channels),
            "x_pitch": str(source.pitch),
            "filters": str(result.channels),
            "y_pitch": str(place.pitch),
            "first": str(place.first),
        }
        tiles = f"ceil_div({result.pixels}, BM)"
        groups = made["groups"]
        own = Extent.of(result.channels) // groups
        depth = f", {groups}" if groups != 1 else ""
        launch = Launch(
            "_".join(parts),
            (*geometry, source.activation, *after),
            bindings,
            f"threadgroups=(ceil_div({own}, BN), {tiles}{depth})",
            TILES,
            ("x",) if is_part else ("y",),
        )
        self._finish(launch, step, result, place, tiles)
        return result

    def _finish(self, launch: Launch, step: Step, result: View, place: Place, shares: str) -> None:
        """Add a launch, and one that joins its moments if these are taken."""
        self.launches.append(launch)
        if step not in self._normed:
            return
        channels = result.channels
        blocks = Extent.from_name(shares, result.pixels)
        memory = Memory("", blocks * channels * 4, "s")
        launch.bindings["shares"] = memory
        launch.written = (*launch.written, "shares")
        bindings: dict[str, Memory | str] = {
            "shares": memory,
            "moments": place.moments,
            "count": shares,
            "channels": str(channels),
            "first": str(place.first),
        }
        grid = f"threadgroups=({channels})"
        self.launches.append(
            Launch("join", (), bindings, grid, "threads=(JOINED)", ("moments",), "join")
        )

    def _depthwise(self, step: Step, source: View, result: View, place: Place) -> View:
        if step not in self._normed or "bias" in step.made:
            raise NotImplementedError("a depthwise convolution without a norm")
        made = step.made
        name = "normed_depthwise_moments" if source.norm else "depthwise_moments"
        parameters = (str(made["taps"]), str(made["stride"]), str(made["padding"]))
        self._windows(
            step, source, place, name, (*parameters, source.activation), {"weight": made["weight"]}
        )
        return result

    def _windows(  # noqa: PLR0917
        self,
        step: Step,
        source: View,
        place: Place,
        name: str,
        parameters: tuple[str, ...],
        more: Mapping[str, Memory | str],
    ) -> None:
        result = self._view_place(step, place)
        bindings = self._fetch(source) | {
            **more,
            "y": place.memory,
            "batch": str(source.batch),
            "height": str(source.height),
            "width": str(source.width),
            "to_height": str(result.height),
            "to_width": str(result.width),
            "channels": str(source.channels),
            "x_pitch": str(source.pitch),
            "y_pitch": str(place.pitch),
            "first": str(place.first),
        }
        blocks = f"ceil_div({result.pixels}, ROWS * DOWN)"
        grid = f"threadgroups=(ceil_div({source.channels}, 4 * QUADS), {blocks})"
        launch = Launch(name, parameters, bindings, grid, PIXELS, ("y",))
        self._finish(launch, step, result, place, blocks)

    def _pool(self, step: Step, source: View, place: Place, made: Mapping[str, Any]) -> None:
        name = "normed_pool" if source.norm else "pool"
        name += "_moments" if step in self._normed else ""
        parameters = [str(made[each]) for each in ("taps", "stride", "padding", "join")]
        self._windows(step, source, place, name, (*parameters, source.activation), {})

    def _plan_pool(self, step: Step) -> View:
        place = self._place_of(step)
        self._pool(step, self._views[step.inputs[0]], place, step.made)
        return self._view_place(step, place)

    def _plan_concat(self, step: Step) -> View:
        return self._view_place(step, self._places[step])

    def _plan_mean(self, step: Step) -> View:
        source, place = self._views[step.inputs[0]], self._place_of(step)
        bindings = self._fetch(source) | {
            "y": place.memory,
            "pixels": str(Extent.of(source.height * source.width)),
            "channels": str(source.channels),
            "x_pitch": str(source.pitch),
        }
        self.launches.append(
            Launch(
                "normed_average" if source.norm else "average",
                (source.activation,),
                bindings,
                f"threadgroups=(ceil_div({source.channels}, 4 * QUADS), {source.batch})",
                PIXELS,
                ("y",),
            )
        )
        return self._view_place(step, place)

    def _plan_reshape(self, step: Step) -> View:
        view = self._views[step.inputs[0]]
        if len(step.shape) == 5:
            return view  # channels that a shuffle splits
        if view.norm or view.pitch != view.channels or len(step.shape) != 2:
            raise NotImplementedError(f"reshape to {step.shape}")
        batch, channels = step.shape
        return View(view.memory, batch, 1, 1, channels, channels, activation=view.activation)

    def _plan_shuffle(self, step: Step) -> View:
        source, place = self._views[step.inputs[0]], self._place_of(step)
        groups = {"groups": str(step.made["groups"])}
        self._apply(source, "normed_shuffle", (source.activation,), place.memory, groups)
        return self._view_place(step, place)

    def _plan_add(self, step: Step) -> View:
        one, other = sorted(
            (self._views[each] for each in step.inputs),
            key=lambda view: (view.norm is None, view.activation == "Identity"),
        )
        if one.norm is None or other.activation != "Identity":
            raise NotImplementedError("a sum without a norm")
        place = self._place_of(step)
        name = "normed_add_normed" if other.norm else "normed_add"
        activations = one.activation, self._activation_after(step)
        self._apply(one, name, activations, place.memory, self._fetch(other, "other"))
        return self._view_place(step, place)

    def _apply(
        self,
        view: View,
        name: str,
        parameters: tuple[str, ...],
        memory: Memory,
        more: Mapping[str, Memory | str],
    ) -> None:
        if view.norm is None or view.pitch != view.channels:
            raise NotImplementedError(f"{name} of a part of an array, or without a norm")
        bindings = self._fetch(view) | {
            **more,
            "y": memory,
            "pixels": str(Extent.of(view.pixels)),
            "channels": str(view.channels),
        }
        extents = f"ceil_div({view.channels}, 4), ceil_div({view.pixels}, ROWS)"
        grid = f"threads_in_grid=({extents})"
        self.launches.append(Launch(name, parameters, bindings, grid, PIXELS, ("y",)))


def _sort(step: Step) -> Iterator[Step]:
    """Yield the steps that a result needs, each after its inputs."""
    seen: set[Step] = set()
    # Networks are deeper than Python recurses.
    stack = [(step, False)]
    while stack:
        each, is_ready = stack.pop()
        if is_ready:
            yield each
        elif each not in seen:
            seen.add(each)
            stack.append((each, True))
            stack += [(one, False) for one in reversed(each.inputs)]


# Scratch memory: arrays that are not needed at the same time share it.


@dataclass
class Slot:
    """Scratch memory that several arrays have, one after the other."""

    name: str
    sizes: list[Extent]

    @property
    def elements(self) -> int:
        """The number of elements at the size that was traced."""
        return max(self.sizes, default=0)


def share_memory(launches: Sequence[Launch], larger: Mapping[str, str]) -> list[Slot]:
    """Give each array of the dispatches a slot; return the slots.

    `larger` has an extent that is not smaller, by the name of an extent.
    """
    last: dict[Memory, int] = {}
    for number, launch in enumerate(launches):
        for each in launch.bindings.values():
            if isinstance(each, Memory) and not each.name:
                last[each] = number
    slots: list[Slot] = []
    free: dict[str, list[Slot]] = {}
    placed: dict[Memory, Slot] = {}
    for number, launch in enumerate(launches):
        for argument in launch.written:
            memory = launch.bindings[argument]
            if isinstance(memory, Memory) and memory in last and memory not in placed:
                placed[memory] = _choose(memory, free.setdefault(memory.prefix, []), slots)
        used = [each for each in launch.bindings.values() if isinstance(each, Memory)]
        for memory in dict.fromkeys(used):
            if last.get(memory) == number:
                free[memory.prefix].append(placed[memory])
    for memory, slot in placed.items():
        memory.name = slot.name
    for slot in slots:
        slot.sizes = _drop_smaller(slot.sizes, larger)
    return slots


def _choose(memory: Memory, free: list[Slot], slots: list[Slot]) -> Slot:
    """Return the smallest free slot that is large enough, else the largest one, else a new one."""
    large = [each for each in free if each.elements >= memory.size]
    if large:
        slot = min(large, key=lambda each: each.elements)
    elif free:
        slot = max(free, key=lambda each: each.elements)
    else:
        count = sum(each.name.startswith(memory.prefix) for each in slots)
        slot = Slot(f"{memory.prefix}{count}", [])
        slots.append(slot)
    if slot in free:
        free.remove(slot)
    slot.sizes.append(memory.size)
    return slot


def _drop_smaller(sizes: Sequence[Extent], larger: Mapping[str, str]) -> list[Extent]:
    """Return the sizes of which none is covered by another one, whatever the extents are."""
    kept: list[Extent] = []
    # Different expressions may have the same value at one size: extents are equal as numbers are.
    different = {str(each): each for each in sizes}.values()
    for size in sorted(different, key=lambda each: (-int(each), str(each))):
        if not any(covers(each.terms, size.terms, larger) for each in kept):
            kept = [each for each in kept if not covers(size.terms, each.terms, larger)]
            kept.append(size)
    return kept


def covers(large: Terms, small: Terms, larger: Mapping[str, str]) -> bool:
    """Return whether each product of `small` has one of `large` with factors that are not smaller.

    False means that this is not known.
    """
    left = dict(large)
    for names, count in small:
        found = next(
            (
                other
                for other, most in left.items()
                if most >= count and _match(other, names, larger)
            ),
            None,
        )
        if found is None:
            return False
        left[found] -= count
    return all(count >= 0 for count in left.values())


def _match(large: tuple[str, ...], small: tuple[str, ...], larger: Mapping[str, str]) -> bool:
    """Return whether the factors of a product, which are 1 or more, cover those of another."""
    left = list(large)
    for name in small:
        chain = [name]
        while chain[-1] in larger:
            chain.append(larger[chain[-1]])
        found = next((each for each in chain if each in left), None)
        if found is None:
            return False
        left.remove(found)
    return True


# The text of a kernel.

TUNABLES = {
    "BM": "64, 32",
    "BN": "64, 32",
    "BK": "16, 8",
    "QUADS": "8, 4, 16",
    "DOWN": "16, 8",
    "ROWS": "4, 2, 8",
    "JOINED": "64, 32, 128",
    "BUFFERS": "1, 2",
}
DEFAULTS = {"BM": 32, "BN": 32, "BUFFERS": 2}


def trace(problem: Problem, size: str) -> tuple[Recorder, list[Launch]]:
    """Return what a body does at a size of its problem."""
    sizes = {name: Extent.from_name(name, value) for name, value in problem.sizes[size].items()}
    recorder = Recorder()
    inputs = {}
    for name, each in problem.inputs.items():
        shape = tuple(
            sizes.get(dim.text.strip()) or _evaluate(dim.text, sizes) for dim in each.shape
        )
        inputs[name] = Step("input", shape, (), {"name": name})
    nn = Layers(recorder, sizes, make=recorder.make)  # type: ignore[arg-type]
    output = problem.body(nn, **inputs)
    return recorder, Planner(output).plan()


def _evaluate(text: str, sizes: Mapping[str, Extent]) -> int:
    """Return a product of numbers and sizes, as an extent of an input is written."""
    return math.prod(sizes[part] if part in sizes else int(part) for part in text.split(" * "))


def write_kernel(problem: Problem, task: Task) -> str:
    """Return the text of the kernel of a problem and its task.

    Raise NotImplementedError for a body with a step that this tool does not have, and ValueError
    for one that does something else at other sizes.
    """
    traces = {size: trace(problem, size) for size in problem.sizes}
    recorder, launches = traces[LARGEST]
    for size, (_, others) in traces.items():
        if _describe(others) != _describe(launches):
            raise ValueError(f"[{problem.name}] other steps at size {size} than at {LARGEST}")
    slots = share_memory(launches, recorder.larger)
    functions = _name_functions(launches)
    dispatches = [_dispatch_line(each) for each in launches]
    lines = [
        f"// {_title(problem)}",
        "// Written by tools/network_kernels.py. Batch norms are applied where their results are",
        "// fetched, activations where sums are stored (metalbench/networks.h).",
        *(f"// let: {each} = {text}" for text, each in recorder.named.items()),
        *dispatches,
        *(f"// scratch: {each.name} float32 ({_largest(each.sizes)})" for each in slots),
    ]
    used = " ".join(dispatches)
    tunables = {
        name: values
        for name, values in TUNABLES.items()
        if f"{name}" in used or (name in ("BK", "BUFFERS") and "BM" in used)
    }
    lines += [f"// tune: {name} = {values}" for name, values in tunables.items()]
    defaults = ", ".join(f"{name} = {value}" for name, value in DEFAULTS.items())
    if "BM" in tunables:
        lines += [f"// defaults: {kind} {defaults}" for kind in ("cpu", "cuda")]
    lines += ['#include "metalbench/networks.h"', ""]
    lines += [
        f'template [[host_name("{name}")]] [[kernel]]\ndecltype({function}) {function};'
        for name, function in functions.items()
    ]
    return allow_small_grids("\n".join(lines) + "\n", task)


def allow_small_grids(text: str, task: Task) -> str:
    """Return the text with a comment above each dispatch that has fewer threadgroups than cores.

    The size is the original one of the problem, as for the lint `few-threadgroups`.
    """
    kernel = parse(text, name=task.name)
    size = task.gpu_headlines[0]
    values = kernel.add_named_sizes({**task.values(size), **kernel.resolve_tunables()})
    lines = text.split("\n")
    for each in reversed(kernel.dispatches):
        groups = [extent.evaluate(values) for extent in each.threadgroups or ()]
        if each.threads_in_grid is not None:
            pairs = zip(each.threads_in_grid, each.threads, strict=True)
            groups = [ceil_div(a.evaluate(values), b.evaluate(values)) for a, b in pairs]
        if math.prod(groups) < min(chip.cores for chip in CHIPS.values()):
            lines.insert(each.line - 1, "// check: allow few-threadgroups the layer is small")
    return "\n".join(lines)


def _title(problem: Problem) -> str:
    text = problem.body.__doc__ or problem.body.__globals__.get("__doc__") or problem.name
    return str(text).strip().partition("\n")[0]


def _describe(launches: Sequence[Launch]) -> list[object]:
    return [
        (
            each.template,
            each.parameters,
            each.grid,
            {
                name: bound if isinstance(bound, str) else (bound.prefix, str(bound.size))
                for name, bound in each.bindings.items()
            },
        )
        for each in launches
    ]


def _name_functions(launches: Sequence[Launch]) -> dict[str, str]:
    """Give each launch the name of its instance; return the instances by name."""
    found: dict[str, str] = {}
    for each in launches:
        if not each.parameters:
            continue
        instance = f"{each.template}<{', '.join(each.parameters)}>"
        numbers = [part for part in each.parameters if part.isdecimal()]
        words = [part.lower() for part in each.parameters if not part.isdecimal()]
        name = "_".join([each.template, *numbers, *(word for word in words if word != "identity")])
        while found.setdefault(name, instance) != instance:
            name += "_after"
        each.function = name
    return found


def _dispatch_line(launch: Launch) -> str:
    bound = {
        name: each.name if isinstance(each, Memory) else each
        for name, each in launch.bindings.items()
    }
    texts = ", ".join(f"{name} = {text}" for name, text in bound.items() if name != text)
    return f"// dispatch: {launch.function}({texts}) {launch.grid} {launch.threads}"


def _largest(sizes: Sequence[Extent]) -> str:
    """Return the expression of the largest of several sizes, as a balanced tree."""
    if len(sizes) == 1:
        return str(sizes[0])
    middle = len(sizes) // 2
    return f"max({_largest(sizes[:middle])}, {_largest(sizes[middle:])})"


def problems(names: Sequence[str] = ()) -> Iterator[tuple[Problem, Task]]:
    """Yield the problems of `names`, by default all that this tool writes, with their tasks."""
    for entry in map(Library().entry, Library().names("kernelbench/level3")):
        number = int(entry.name.split("_")[1])
        if (entry.name in names) if names else (number in NUMBERS):
            task = entry.task  # reading it declares the problem
            yield PROBLEMS[entry.name], task


def main(arguments: Sequence[str]) -> int:
    """Write the kernels, or report those that are not current."""
    stale = []
    for problem, task in problems([each for each in arguments if not each.startswith("-")]):
        path, text = FOLDER / f"{problem.name}.metal", write_kernel(problem, task)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            path.write_text(text)
    if "--check" in arguments and stale:
        print(f"not current: {', '.join(stale)}; run python tools/network_kernels.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
