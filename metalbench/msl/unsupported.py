"""What Metal has and the `cpu` device has not: named with its line, never silently dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from metalbench._core import Unsupported
from metalbench.msl.declarations import Declaration
from metalbench.msl.reflect import stage_of
from metalbench.msl.tokens import Tokens

_FEATURE = re.compile(
    r"(?P<textures>(?:texture|depth)(?:1d|2d|3d|cube|_buffer|2d_ms)\w*)"
    r"|(?P<samplers>sampler)"
    r"|(?P<raytracing>raytracing|intersector|intersection_query|(?:primitive|instance)_acceleration_structure)"
    r"|(?P<tables>visible_function_table|intersection_function_table)"
    r"|(?P<commands>command_buffer|render_command|compute_command)"
    r"|(?P<imageblocks>imageblock|threadgroup_imageblock)"
    r"|(?P<tensors>tensor_handle|tensor_inline|mpp)"
)
_WHAT = {
    "textures": "textures",
    "samplers": "samplers",
    "raytracing": "ray tracing",
    "tables": "function tables",
    "commands": "indirect command buffers",
    "imageblocks": "imageblocks",
    "tensors": "Metal 4 tensors",
}


def feature_of(word: str) -> str:
    """The unsupported feature that a name belongs to, or an empty string."""
    found = _FEATURE.fullmatch(word)
    return _WHAT[str(found.lastgroup)] if found else ""


def unsupported_declarations(tokens: Tokens, declared: Iterable[Declaration]) -> list[Declaration]:
    """Declarations that have to be removed: of other stages, or with unsupported types."""
    features = set(filter(feature_of, tokens.places))
    own = set()
    found = []
    for declaration in declared:
        stage = stage_of(tokens, declaration)
        if stage not in ("", "kernel"):
            found.append(declaration)
            continue
        if declaration.name in features:
            own.add(declaration.name)
        words = tokens.text[declaration.first : declaration.last]
        if features and not (features - own).isdisjoint(words):
            found.append(declaration)
    return found


def refuse(tokens: Tokens, declaration: Declaration, name: str) -> None:
    """Raise Unsupported for the first unsupported thing in a declaration that a kernel needs."""
    for index in range(declaration.first, declaration.last):
        feature = feature_of(tokens.text[index])
        if feature:
            raise Unsupported(
                f"[{name}] {tokens.where(index)}: {tokens.text[index]}: the cpu device "
                f"has no {feature}; use buffers, or run this kernel on a Metal device"
            )
    stage = stage_of(tokens, declaration)
    raise Unsupported(
        f"[{name}] {tokens.where(declaration.first)}: expected a kernel, got a {stage} function; "
        "the cpu device runs compute kernels only"
    )
