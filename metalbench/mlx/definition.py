"""The definition of a custom kernel as MLX has it: element types, template arguments, source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, DispatchError, suggestion


@dataclass(frozen=True)
class SignatureType:
    """One element type; `name` is numpy's and mlx's, `msl` what MLX writes into a signature."""

    name: str
    msl: str

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype; that of bfloat16 comes from ml_dtypes."""
        if self.name == "bfloat16":
            import ml_dtypes

            found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return found
        return np.dtype(self.name)


_INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
TYPES = {
    each.name: each
    for each in (
        SignatureType("bool", "bool"),
        *(SignatureType(name, f"{name}_t") for name in _INTEGERS),
        SignatureType("float16", "float16_t"),
        SignatureType("bfloat16", "bfloat16_t"),
        SignatureType("float32", "float"),
        SignatureType("complex64", "complex64_t"),
    )
}
_NARROWER = {"float64": "float32", "complex128": "complex64"}


def is_mlx_dtype(value: object) -> bool:
    """Return whether `value` is an mlx.core.Dtype; does not import MLX."""
    return type(value).__name__ == "Dtype" and type(value).__module__.startswith("mlx.")


def mlx_dtype(type_: SignatureType) -> Any:
    """Return the mlx.core.Dtype of an element type."""
    import mlx.core as mx

    return mx.bool_ if type_.name == "bool" else getattr(mx, type_.name)


def is_dtype(value: object) -> bool:
    """Return whether `value` is an mlx or numpy dtype, or a scalar type of numpy."""
    scalar = isinstance(value, type) and issubclass(value, np.generic)
    return scalar or isinstance(value, np.dtype) or is_mlx_dtype(value)


def element_type(value: object, where: str) -> SignatureType:
    """Return the type that an mlx or numpy dtype or its name ("float32") stands for.

    Raise DispatchError beginning with `where` when kernels have no such type.
    """
    name = _name(value)
    if name in TYPES:
        return TYPES[name]
    if name in _NARROWER:
        raise DispatchError(f"{where}: Metal has no {name}; use {_NARROWER[name]}")
    got = name or repr(value)
    raise DispatchError(f"{where}: expected one of {', '.join(TYPES)}, got {got}")


def narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array in a type that Metal has and in native byte order, as MLX converts one."""
    wanted = np.dtype(_NARROWER.get(array.dtype.name, array.dtype)).newbyteorder("=")
    return array if array.dtype == wanted else array.astype(wanted)


def _name(value: object) -> str:
    if is_mlx_dtype(value):
        return str(value).rpartition(".")[2]
    if isinstance(value, str) and value in TYPES:
        return value
    if value is None:  # which numpy takes for float64
        return ""
    try:
        return np.dtype(value).name  # type: ignore[call-overload, no-any-return]
    except TypeError:
        return ""


# Template arguments: element types, integers and booleans, as MLX takes them.

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


# The definition of a kernel: the arguments of `metal_kernel`.

DEVICES = ("auto", "cpu", "cuda", "mlx")
MATH_MODES = ("safe", "relaxed", "fast")
_SCALAR, _VECTOR = "uint", "uint3"
ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": _SCALAR,
    "dispatch_simdgroups_per_threadgroup": _SCALAR,
    "dispatch_threads_per_threadgroup": _VECTOR,
    "grid_origin": _VECTOR,
    "grid_size": _VECTOR,
    "quadgroup_index_in_threadgroup": _SCALAR,
    "quadgroups_per_threadgroup": _SCALAR,
    "simdgroup_index_in_threadgroup": _SCALAR,
    "simdgroups_per_threadgroup": _SCALAR,
    "thread_execution_width": _SCALAR,
    "thread_index_in_quadgroup": _SCALAR,
    "thread_index_in_simdgroup": _SCALAR,
    "thread_index_in_threadgroup": _SCALAR,
    "thread_position_in_grid": _VECTOR,
    "thread_position_in_threadgroup": _VECTOR,
    "threadgroup_position_in_grid": _VECTOR,
    "threadgroups_per_grid": _VECTOR,
    "threads_per_grid": _VECTOR,
    "threads_per_simdgroup": _SCALAR,
    "threads_per_threadgroup": _VECTOR,
}


@dataclass(frozen=True)
class Definition:
    """The arguments of `metal_kernel`, checked."""

    name: str
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    source: str
    header: str
    ensure_row_contiguous: bool
    atomic_outputs: bool
    math_mode: str

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that the source mentions, with their types."""
        return {name: type_ for name, type_ in ATTRIBUTES.items() if name in self.source}

    def mentions(self, input_name: str, what: str) -> bool:
        """Return whether the source uses the input's `what`: "shape", "strides" or "ndim"."""
        return f"{input_name}_{what}" in self.source


def definition(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str,
    *,
    ensure_row_contiguous: bool,
    atomic_outputs: bool,
    compile_options: Mapping[str, str] | None,
) -> Definition:
    """Check the arguments of `metal_kernel`; raises DeclarationError."""
    where = f"[{name}]" if isinstance(name, str) and name else "[metal_kernel]"
    if not isinstance(name, str) or not name or not IDENTIFIER.fullmatch(f"_{name}"):
        raise DeclarationError(f"{where} name: expected letters, digits and _, got {name!r}")
    inputs = _names(where, "input_names", input_names)
    outputs = _names(where, "output_names", output_names)
    if not outputs:
        raise DeclarationError(f"{where} output_names: expected at least one, got none")
    for each in (*inputs, *outputs):
        if (*inputs, *outputs).count(each) > 1:
            raise DeclarationError(f"{where} {each!r} names two inputs or outputs; rename one")
    for what, text in (("source", source), ("header", header)):
        if not isinstance(text, str):
            raise DeclarationError(f"{where} {what}: expected text, got {type(text).__name__}")
    return Definition(
        name=name,
        input_names=inputs,
        output_names=outputs,
        source=source,
        header=header,
        ensure_row_contiguous=ensure_row_contiguous,
        atomic_outputs=atomic_outputs,
        math_mode=_math_mode(where, compile_options),
    )


def _names(where: str, what: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise DeclarationError(f"{where} {what}: expected a list of names, got {given!r}")
    for name in given:
        if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
            raise DeclarationError(f"{where} {what}: expected names as MSL has them, got {name!r}")
    return tuple(given)


def _math_mode(where: str, options: Mapping[str, str] | None) -> str:
    given = {"math_mode": "safe"} | dict(options or {})
    for option in given:
        if option != "math_mode":
            hint = suggestion(option, ["math_mode"])
            raise DeclarationError(f"{where} compile_options: unknown option {option!r}; {hint}")
    mode = given["math_mode"]
    if mode not in MATH_MODES:
        raise DeclarationError(
            f"{where} math_mode: {mode!r} is none; {suggestion(mode, MATH_MODES)}"
        )
    return mode


# Generate the kernel around a source, with the signature that MLX generates.
#
# Follows MLX 0.32 (mlx/backend/common/metal_kernel.cpp): inputs of fewer than eight elements are in
# the constant address space, those without dimensions are references.

PRELUDE = Path(__file__).parent / "prelude"
_CONSTANT_BELOW = 8
_EXTENTS = {"shape": "int*", "strides": "int64_t*", "ndim": "int&"}


@dataclass(frozen=True)
class Passing:
    """The parameter form of one input. Calls with equal forms share a compiled kernel."""

    type: SignatureType
    is_scalar: bool
    is_small: bool

    @classmethod
    def of(cls, type_: SignatureType, shape: tuple[int, ...], size: int) -> Passing:
        """Return the form for an array of this type, shape and number of elements."""
        return cls(type_, not shape, size < _CONSTANT_BELOW)

    @property
    def tag(self) -> str:
        """The input's part of the kernel's name."""
        return self.type.msl + ("s" if self.is_scalar else "c" if self.is_small else "")


@dataclass(frozen=True)
class Variant:
    """One way to call a kernel; `outputs` are element types."""

    template: tuple[TemplateArgument, ...]
    inputs: tuple[Passing, ...]
    outputs: tuple[SignatureType, ...]


class Generated:
    """The kernel that is generated for a definition and a variant."""

    def __init__(self, definition: Definition, variant: Variant) -> None:
        self.definition = definition
        self.variant = variant
        # A minus would end the name; MLX leaves it there, and such kernels do not compile.
        values = [each.value.replace("-", "minus") for each in variant.template]
        tags = [each.tag for each in variant.inputs] + [each.msl for each in variant.outputs]
        template = ["", *values] if values else []
        self.name = "_".join(["custom_kernel", definition.name, *template, *tags])

    @property
    def text(self) -> str:
        """The kernel as `verbose` shows it, without the prelude."""
        return "".join([_end_line(self.definition.header), self._opening(), *self._body()])

    @property
    def unit(self) -> str:
        """The compiled source. Line numbers are those of the user's header and source."""
        name = self.definition.name
        source, closing = self._body()
        return "\n".join(
            [
                '#include "mlx.h"',
                f'#line 1 "{self.file("header")}"',
                self.definition.header,
                f'#line 1 "{self.file("signature")}"',
                f'{self._opening()}#line 1 "{self.file("source")}"',
                f'{source}\n#line 1 "<end of {name}>"{closing}',
            ]
        )

    def file(self, part: str) -> str:
        """Return the name of the user's "source" or "header" in messages."""
        return f"<{self.definition.name} {part}>"

    def _opening(self) -> str:
        parameters = [*self._inputs(), *self._outputs()]
        lines = [f"  {text} [[buffer({index})]]" for index, text in enumerate(parameters)]
        attributes = self.definition.attributes.items()
        lines += [f"  {type_} {name} [[{name}]]" for name, type_ in attributes]
        template = ", ".join(f"{each.kind} {each.name}" for each in self.variant.template)
        first = f"template <{template}>\n" if template else ""
        return f"{first}[[kernel]] void {self.name}(\n" + ",\n".join(lines) + ") {\n"

    def _inputs(self) -> list[str]:
        found: list[str] = []
        for name, passing in zip(self.definition.input_names, self.variant.inputs, strict=True):
            space = "constant" if passing.is_small else "device"
            mark = "&" if passing.is_scalar else "*"
            found.append(f"const {space} {passing.type.msl}{mark} {name}")
            for what in self.extents(name, passing):
                found.append(f"const constant {_EXTENTS[what]} {name}_{what}")
        return found

    def extents(self, name: str, passing: Passing) -> list[str]:
        """Return the additional arguments of an input that the source uses: "shape", ..."""
        wanted = [what for what in _EXTENTS if self.definition.mentions(name, what)]
        return [] if passing.is_scalar else wanted

    def _outputs(self) -> list[str]:
        form = "device atomic<{}>* {}" if self.definition.atomic_outputs else "device {}* {}"
        types = zip(self.variant.outputs, self.definition.output_names, strict=True)
        return [form.format(type_.msl, name) for type_, name in types]

    def _body(self) -> tuple[str, str]:
        """Return the source, and what ends and instantiates the kernel."""
        values = ", ".join(each.value for each in self.variant.template)
        closing = "\n}\n"
        if values:
            function = f"{self.name}<{values}>"
            closing += f'\ntemplate [[host_name("{self.name}")]] [[kernel]] '
            closing += f"decltype({function}) {function};\n"
        return self.definition.source, closing


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
