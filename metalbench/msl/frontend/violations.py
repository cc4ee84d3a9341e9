"""Constructs that Metal refuses, and the words of the language that the rules share."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A construct that Metal refuses: its token, the message of Metal's compiler, and a remedy."""

    index: int
    message: str
    remedy: str


# Types of Metal, except templates.
METAL_TYPE = re.compile(
    r"(?:packed_)?(?:bool|u?(?:char|short|int|long)|half|bfloat|float)[234]?|void|signed|unsigned"
    r"|size_t|ptrdiff_t|u?int(?:8|16|32|64)_t|(?:half|float)[234]x[234]|simdgroup_\w+8x8"
    r"|atomic_(?:u?int|u?long|bool|float)|sampler"
)
BUILTIN_TYPES = frozenset(
    {"bool", "char", "short", "int", "long", "float", "unsigned", "signed", "void", "auto"}
)
# Names before a declared name that are not its type.
NOT_TYPES = frozenset(
    """
    return case else do goto and or not const constexpr volatile static inline extern register
    mutable typename typedef using struct class union enum public private protected friend operator
    device constant thread threadgroup threadgroup_imageblock ray_data object_data coherent sizeof
    alignof new template kernel vertex fragment explicit virtual restrict unsigned signed namespace
    METAL_FUNC noexcept
    """.split()  # noqa: SIM905
)
