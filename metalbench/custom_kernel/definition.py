"""The definition of a kernel: the arguments of `metal_kernel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench.custom_kernel.template import IDENTIFIER
from metalbench.errors import DeclarationError, suggestion

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
