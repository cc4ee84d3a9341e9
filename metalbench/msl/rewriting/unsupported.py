"""Find and refuse features of Metal that the `cpu` device does not have, with their line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from metalbench._core import Unsupported
from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.reflect import OTHER_STAGES, find_stage
from metalbench.msl.reading.tokens import Tokens, is_name

_FEATURE = re.compile(
    r"(?P<textures>(?:texture|depth)2d_ms_array)"
    r"|(?P<raytracing>raytracing|intersector|intersection_query|(?:primitive|instance)_acceleration_structure)"
    r"|(?P<tables>visible_function_table|intersection_function_table)"
    r"|(?P<commands>command_buffer|render_command|compute_command)"
    r"|(?P<imageblocks>imageblock|threadgroup_imageblock)"
    r"|(?P<tensors>tensor_handle|tensor_inline|mpp)"
)
_FEATURE_NAMES = {
    "textures": "arrays of multisampled textures",
    "raytracing": "ray tracing",
    "tables": "function tables",
    "commands": "indirect command buffers",
    "imageblocks": "imageblocks",
    "tensors": "Metal 4 tensors",
}


def find_feature(word: str) -> str:
    """Return the unsupported feature that a name belongs to, or an empty string."""
    found = _FEATURE.fullmatch(word)
    return _FEATURE_NAMES[str(found.lastgroup)] if found else ""


def _find_uses(tokens: Tokens) -> list[int]:
    """Return the tokens that use such names as Metal's, not as names of variables."""
    found = []
    for word, indices in tokens.occurrences.items():
        if find_feature(word):
            for index in indices:
                before, following = tokens.text[index - 1], tokens.at(index + 1)
                means = is_name(following) or following in ("<", "::") or before == "namespace"
                means = means or (before == "::" and following == ";")
                if means and before not in (".", "->"):
                    found.append(index)
    return sorted(found)


def find_unsupported_declarations(
    tokens: Tokens, declared: Iterable[Declaration]
) -> list[Declaration]:
    """Return declarations to remove: those of other stages, and those with unsupported types."""
    uses = _find_uses(tokens)
    if not uses and OTHER_STAGES.isdisjoint(tokens.occurrences):
        return []
    own = set()
    found = []
    for declaration in declared:
        stage = find_stage(tokens, declaration)
        if stage not in ("", "kernel"):
            found.append(declaration)
            continue
        if find_feature(declaration.name):
            own.add(declaration.name)
        inside = uses[bisect_left(uses, declaration.first) : bisect_left(uses, declaration.last)]
        if any(tokens.text[index] not in own for index in inside):
            found.append(declaration)
    return found


def refuse_declaration(tokens: Tokens, declaration: Declaration, name: str) -> None:
    """Raise Unsupported for the first unsupported construct of a declaration."""
    for index in _find_uses(tokens):
        if declaration.first <= index < declaration.last:
            raise Unsupported(
                f"[{name}] {tokens.locate_token(index)}: {tokens.text[index]}: the cpu device has "
                f"no {find_feature(tokens.text[index])}; run this kernel on a Metal device"
            )
    stage = find_stage(tokens, declaration)
    raise Unsupported(
        f"[{name}] {tokens.locate_token(declaration.first)}: expected a kernel, got a {stage} "
        "function; the cpu device runs compute kernels only"
    )
