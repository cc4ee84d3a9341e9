"""Defaults of tunables for some devices: the `// defaults:` lines of kernel headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from metalbench.errors import suggestion
from metalbench.task.dtypes import FLOATS
from metalbench.task.expression import Parser

KINDS = ("cpu", "cuda", "metal")


class TargetDevice(Protocol):
    """Facts of a device that select defaults."""

    @property
    def kind(self) -> str:
        """`cpu`, `metal` or `cuda`."""

    @property
    def chip(self) -> str | None:
        """Such as `m4_max` or `h100`; None where kernels have no variants for it."""


@dataclass(frozen=True)
class DeviceDefaults:
    """One `// defaults:` line: values of tunables on devices of a kind, chip or chip family.

    Without `dtypes` it holds for all element types.
    """

    device: str
    values: Mapping[str, int]
    line: int
    dtypes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.device, *self.dtypes))


def device_names(device: TargetDevice) -> tuple[str, ...]:
    """Return the names of a device in headers, the most specific first: m4_max, m4, metal."""
    chip = device.chip or ""
    return tuple(
        dict.fromkeys(each for each in (chip, chip.partition("_")[0], device.kind) if each)
    )


def read_defaults(parser: Parser, line: int) -> DeviceDefaults:
    """Read `cuda TG = 128, QUADS = 1` or `cuda float16 TG = 64`; raises DeclarationError."""
    error = parser.error(f"{', '.join(KINDS)} or a chip, such as m4_max or h100")
    device = parser.name("the name of a device")
    # A chip has a number in its name; without one it is a kind of device that is misspelt.
    is_chip = device not in FLOATS and any(each.isdigit() for each in device)
    if device not in KINDS and not is_chip:
        raise error
    dtypes: list[str] = []
    values: dict[str, int] = {}
    while not values or parser.accept(","):
        error = parser.error("a tunable that the line does not have yet")
        name = parser.name("the name of a tunable")
        while name in FLOATS and not values:
            dtypes.append(name)
            error = parser.error("the name of a tunable")
            name = parser.name("the name of a tunable")
        if name in values or name in FLOATS:
            raise error
        parser.expect("=")
        values[name] = parser.number()
    return DeviceDefaults(device, values, line, tuple(dict.fromkeys(dtypes)))


def find_fault(
    lines: Sequence[DeviceDefaults],
    tunables: Mapping[str, tuple[int, ...]],
    dtypes: Sequence[str],
) -> tuple[int, str] | None:
    """Return the first line that contradicts the kernel or another line, and why; else None."""
    seen: set[tuple[str, str]] = set()
    for each in lines:
        for dtype in each.dtypes or ("",):
            if (each.device, dtype) in seen:
                of = f" in {dtype}" if dtype else ""
                return each.line, f"the defaults on {each.device}{of} are declared twice"
            seen.add((each.device, dtype))
            if dtype and dtype not in dtypes:
                return each.line, (
                    f"expected an element type that the kernel is written for, "
                    f"{', '.join(dtypes)}; got {dtype}"
                )
        for name, value in each.values.items():
            if name not in tunables:
                return each.line, f"unknown tunable {name!r}; {suggestion(name, tunables)}"
            if value not in tunables[name]:
                offered = ", ".join(map(str, tunables[name]))
                return each.line, (
                    f"expected one of the values of `// tune: {name}`, {offered}; got {value}"
                )
    return None


def lines_for(
    lines: Sequence[DeviceDefaults], names: Sequence[str], dtype: str | None = None
) -> Iterator[DeviceDefaults]:
    """Yield the lines for a device, whose `names` begin with what counts most; the last counts.

    Lines for `dtype` come after lines for all element types of the same name.
    """
    for device in reversed(names):
        here = [line for line in lines if line.device == device]
        yield from (line for line in here if not line.dtypes)
        yield from (line for line in here if dtype in line.dtypes)


def choose_defaults(
    lines: Sequence[DeviceDefaults], names: Sequence[str], dtype: str | None = None
) -> dict[str, int]:
    """Return the default of each tunable that `lines_for` a device set."""
    chosen: dict[str, int] = {}
    for line in lines_for(lines, names, dtype):
        chosen.update(line.values)
    return chosen


def put_defaults_first(
    tunables: Mapping[str, tuple[int, ...]],
    lines: Sequence[DeviceDefaults],
    names: Sequence[str],
) -> dict[str, tuple[int, ...]]:
    """Return the tunables with the defaults of a device first; of its `names` the first counts."""
    chosen = choose_defaults(lines, names)
    return {
        name: (chosen[name], *(each for each in values if each != chosen[name]))
        if name in chosen
        else tuple(values)
        for name, values in tunables.items()
    }
