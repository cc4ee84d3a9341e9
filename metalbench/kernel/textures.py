"""Parse the `// sampler:` lines of standalone kernels, which use MSL's syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import DeclarationError, DispatchError, suggestion
from metalbench.kernel.memory import GuardedBuffer
from metalbench.task.dtypes import DType, storage_type
from metalbench.task.inputs import Draw

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
        if name == "max_anisotropy" and numbers is not None and 1 <= int(numbers) <= 16:
            return {"max_anisotropy": int(numbers)}
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


# Textures of kernels: pixel formats and extents of `// texture:` lines.

_BY_COMPONENTS = re.compile(r"(?:r|rg|rgba|bgra|depth)(?:8|16|32)")
# The kinds of texture, by how many extents they have: width; and height; and depth, elements or
# faces.
_EXTENTS = {
    "1d": 1,
    "buffer": 1,
    "1d_array": 2,
    "2d": 2,
    "2d_array": 3,
    "2d_ms": 3,
    "3d": 3,
    "cube": 3,
    "cube_array": 3,
}


@dataclass(frozen=True)
class PixelFormat:
    """A format such as rgba8unorm. `dtype` is the stored type of each of the `components`."""

    name: str
    dtype: DType
    components: int

    def shape_of(self, extents: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
        """Return the shape of an array of texels, x last; `one` is the extent of the components."""
        inner = () if self.components == 1 else (one,)
        return (*reversed(extents), *inner)

    def draw_stored(self, draw: Draw) -> Draw:
        """Return a function that draws stored texels: 1.0 is stored as 255 in `8unorm`."""
        is_signed = self.name.endswith("snorm")
        if not self.name.removesuffix("_srgb").endswith(("unorm", "snorm")) or self._is_packed:
            return draw
        most = float(np.iinfo(self.dtype.numpy).max)

        def scale(
            random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
        ) -> np.ndarray[Any, Any]:
            drawn = np.asarray(draw(random, shape, values), np.float32)
            clipped = np.clip(drawn, -1.0 if is_signed else 0.0, 1.0)
            return np.asarray(np.rint(clipped * most))

        return scale

    @property
    def drawn_as(self) -> DType | None:
        """The element type that kernels read; None for floats."""
        return self.dtype if self.name.endswith(("uint", "sint")) or self._is_packed else None

    @property
    def _is_packed(self) -> bool:
        """Whether one number stores several components. Such numbers are drawn directly."""
        return not _BY_COMPONENTS.match(self.name)


def pixel_format(name: str) -> PixelFormat:
    """Return the format called `name`; raise DispatchError, with the known ones, if unknown."""
    stored, components = _core.texel_type(name)
    return PixelFormat(name, storage_type(stored), components)


def texture_over(buffer: GuardedBuffer, format_name: str, argument: _core.Argument) -> object:
    """Return a buffer's texels as what `argument` takes: a texture, or a list of them for an array.

    Raise DispatchError if the buffer's shape is that of another kind.
    """
    texels = buffer.shape if pixel_format(format_name).components == 1 else buffer.shape[:-1]
    extents = tuple(reversed(texels))
    _check_extents(extents, argument)
    if argument.count == 1:
        return _texture(buffer.buffer, format_name, extents, argument)
    each = buffer.nbytes // argument.count
    return [
        _texture(buffer.buffer.slice(i * each, each), format_name, extents[:-1], argument)
        for i in range(argument.count)
    ]


def _texture(
    memory: _core.Buffer, format_name: str, extents: tuple[int, ...], argument: _core.Argument
) -> _core.Texture:
    if argument.texture == "1d_array":
        extents = (extents[0], 1, extents[1])
    width, height, slices = (*extents, 1, 1)[:3]
    return _core.texture_in(memory, format_name, (width, height, slices), kind=argument.texture)


def _check_extents(extents: tuple[int, ...], argument: _core.Argument) -> None:
    """Raise DispatchError if a line's extents are not those of what the kernel takes."""
    names = ("width", "height", "depth")[: _EXTENTS[argument.texture]]
    if argument.texture in ("1d_array", "2d_array", "2d_ms", "cube", "cube_array"):
        names = (*names[:-1], "samples" if argument.texture == "2d_ms" else "slices")
    if argument.count > 1:
        names = (*names, "textures")
    if len(extents) != len(names):
        raise DispatchError(
            f"{argument.name}: expected {len(names)} extents ({', '.join(names)}) for "
            f"{argument.type}, got {len(extents)} in its `// texture:` line"
        )
    if argument.count > 1 and extents[-1] != argument.count:
        raise DispatchError(
            f"{argument.name}: expected {argument.count} textures, as the kernel takes, got "
            f"{extents[-1]} in its `// texture:` line"
        )
