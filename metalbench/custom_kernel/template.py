"""Template arguments: element types, integers and booleans, as MLX takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from metalbench.custom_kernel.element_types import element_type, is_dtype
from metalbench.errors import DispatchError

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class TemplateArgument:
    """One argument: `kind` is "typename", "int" or "bool", `value` as MLX writes it."""

    name: str
    kind: str
    value: str


def template_arguments(
    where: str, given: Sequence[tuple[str, object]] | None
) -> tuple[TemplateArgument, ...]:
    """Read `template=[("T", mx.float32), ("N", 4), ...]`.

    Raise DispatchError beginning with `where`.
    """
    found: list[TemplateArgument] = []
    for pair in given or ():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise DispatchError(f"{where}: expected pairs such as ('T', mx.float32), got {pair!r}")
        name, value = pair
        if not IDENTIFIER.fullmatch(name):
            raise DispatchError(f"{where}: expected a name as MSL has them, got {name!r}")
        if any(name == other.name for other in found):
            raise DispatchError(f"{where}: {name!r} is given twice")
        found.append(_argument(f"{where}: {name}", name, value))
    return tuple(found)


def _argument(where: str, name: str, value: object) -> TemplateArgument:
    if isinstance(value, (bool, np.bool_)):
        return TemplateArgument(name, "bool", str(int(value)))
    if isinstance(value, Integral):
        if not -(2**31) <= int(value) < 2**31:
            raise DispatchError(f"{where}: {value} does not fit an int of 32 bits")
        return TemplateArgument(name, "int", str(int(value)))
    if is_dtype(value):
        return TemplateArgument(name, "typename", element_type(value, where).msl)
    raise DispatchError(
        f"{where}: expected a dtype, an int or a bool, got {type(value).__name__} {value!r}"
    )
