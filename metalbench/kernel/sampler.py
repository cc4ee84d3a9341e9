"""Parse the `// sampler:` lines of standalone kernels, which use MSL's syntax."""

from __future__ import annotations

import re
from typing import Any

from metalbench import _core
from metalbench.errors import DeclarationError, suggestion

Options = dict[str, Any]

_AXES = ("s_address", "t_address", "r_address")
_NAMED = {
    "address": "address",
    "filter": "filter",
    "mag_filter": "mag_filter",
    "min_filter": "min_filter",
    "mip_filter": "mip_filter",
    "border_color": "border_color",
    "compare_func": "compare",
}
_KNOWN = (*_NAMED, *_AXES, "coord", "max_anisotropy", "lod_clamp")
_WORD = re.compile(r"\s*(\w+)(?:::(\w+)|\(([^()]*)\))\s*(?:,|$)")


def sampler_options(text: str) -> Options:
    """Return arguments of `_core.Sampler` for text such as `address::repeat, filter::linear`.

    Empty text gives MSL's default: nearest, clamped to the edge, normalised coordinates. Raise
    DeclarationError for wrong syntax, DispatchError for an unsupported sampler.
    """
    options: Options = {}
    axes = dict.fromkeys(_AXES, "")
    place = 0
    while text[place:].strip():
        match = _WORD.match(text, place)
        if match is None:
            raise DeclarationError(
                f"expected words such as filter::linear with commas, got `{text[place:].strip()}`"
            )
        place = match.end()
        name, value, numbers = match.groups()
        if name in axes and value is not None:
            axes[name] = value
        else:
            options |= _option(name, value, numbers)
    if any(axes.values()):
        every = options.get("address", "clamp_to_edge")
        options["address"] = tuple(axes[each] or every for each in _AXES)
    _core.Sampler(**options)
    return options


def _option(name: str, value: str | None, numbers: str | None) -> Options:
    if value is not None and name in _NAMED:
        return {_NAMED[name]: value}
    if name == "coord" and value in ("normalized", "pixel"):
        return {"normalized": value == "normalized"}
    try:
        if name == "max_anisotropy" and numbers is not None:
            return {"max_anisotropy": _anisotropy(numbers)}
        if name == "lod_clamp" and numbers is not None:
            least, most = (float(each.strip().removesuffix("f")) for each in numbers.split(","))
            return {"lod_clamp": (least, most)}
    except ValueError:
        pass
    if name not in _KNOWN:
        raise DeclarationError(f"unknown word {name!r} of a sampler; {suggestion(name, _KNOWN)}")
    forms = {
        "coord": "coord::normalized or coord::pixel",
        "max_anisotropy": "max_anisotropy(1) to max_anisotropy(16)",
        "lod_clamp": "lod_clamp(0.0, 4.0)",
    }
    got = f"{name}::{value}" if value is not None else f"{name}({numbers})"
    raise DeclarationError(f"expected {forms.get(name, f'{name}::NAME')}, got {got}")


def _anisotropy(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 16:
        raise ValueError(text)
    return number
