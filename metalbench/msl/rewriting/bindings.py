"""Bind the parameters of a kernel to arguments, with the values of its function constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalbench._core import CompileError, Unsupported
from metalbench.msl.reading.arithmetic import evaluate_expression
from metalbench.msl.reading.constants import read_program_constants
from metalbench.msl.reading.parameters import TEXTURE, THREAD_ATTRIBUTES, Parameter
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import EntryPoint
from metalbench.msl.rewriting.slots import TABLE_SIZES, ArgumentTable
from metalbench.msl.rewriting.unsupported import find_feature

DEFAULT_MAX_THREADS = 1024
_UNSUPPORTED_ATTRIBUTES = {
    "stage_in": "vertex descriptors",
    "payload": "mesh payloads",
    "imageblock_data": "imageblocks",
    "thread_position_in_region": "tessellation",
}


@dataclass
class Bindings:
    """The bindings of all parameters of a kernel.

    `macros` holds one argument of MB_KERNEL for each parameter. `arguments` and `attributes` are
    for reflection.
    """

    macros: list[str] = field(default_factory=list)
    arguments: list[dict[str, str | int]] = field(default_factory=list)
    attributes: list[dict[str, str]] = field(default_factory=list)


def bind_parameters(source: Source, kernel: EntryPoint, literals: Mapping[str, str]) -> Bindings:
    """Bind every parameter of a kernel. `literals` are the values of the function constants.

    Raise CompileError for a parameter without a binding or with an index that is in use. Raise
    Unsupported for parameters that only other stages have.
    """
    names = _collect_names(source, kernel, literals)
    types = {**source.aliases, **kernel.substitution}
    found = Bindings()
    slots = ArgumentTable(kernel, names)
    for parameter in kernel.parameters:
        _refuse_unsupported(kernel, parameter)
        attribute = next((a for a in parameter.attributes if a.name in THREAD_ATTRIBUTES), None)
        if not _is_present(source, parameter, names):
            found.macros.append("mb::absent")
        elif attribute is not None:
            found.macros.append(f"mb::attribute<mb::{attribute.name}>")
            kind = kernel.typed[parameter.position].spell_type(types)
            found.attributes.append({"name": attribute.name, "type": kind})
        else:
            found.macros.append("")
            slots.add(parameter, _find_kind(source, kernel, parameter))
    for parameter, kind, index in slots.assign_indices():
        found.macros[parameter.position] = f"mb::{kind}<{index}>"
        found.arguments.append(_describe_argument(kernel, parameter, (kind, index), types))
    return found


def read_max_threads(source: Source, kernel: EntryPoint) -> tuple[str, int]:
    """Return [[max_total_threads_per_threadgroup(n)]] as C++ text and as a number.

    The number is the default of 1024 if only the compiler can evaluate n. `mb_info` has the exact
    value.
    """
    declarations = (kernel.instantiation, kernel.primary)
    for declaration in declarations:
        attribute = (
            declaration.find_attribute("max_total_threads_per_threadgroup") if declaration else None
        )
        if attribute is not None:
            words = source.tokens.text[attribute.first : attribute.last]
            text = " ".join(
                f"({kernel.substitution[w]})" if w in kernel.substitution else w for w in words
            )
            names = read_program_constants(source.tokens, source.declarations)
            limit = evaluate_expression(text, names)
            if limit is None and len(words) == 1 and words[0][0].isdigit():
                where = source.tokens.locate_token(attribute.first)
                raise CompileError(
                    f"{where}: error: max_total_threads_per_threadgroup: expected a number of "
                    f"threads, got {words[0][:24]}{'...' if len(words[0]) > 24 else ''}"
                )
            return text, limit or DEFAULT_MAX_THREADS
    return str(DEFAULT_MAX_THREADS), DEFAULT_MAX_THREADS


def _collect_names(
    source: Source, kernel: EntryPoint, literals: Mapping[str, str]
) -> dict[str, str]:
    """Return the values of names in the attributes of this kernel's parameters."""
    names = {
        "true": "1",
        "false": "0",
        **read_program_constants(source.tokens, source.declarations),
    }
    for constant in source.constants:
        defined = constant.name in literals
        names[constant.name] = literals.get(constant.name, "0")
        names[f"is_function_constant_defined({constant.name})"] = str(int(defined))
    return {**names, **kernel.substitution}


def _is_present(source: Source, parameter: Parameter, names: Mapping[str, str]) -> bool:
    """Return whether the parameter has no [[function_constant(x)]], or x is true."""
    for attribute in parameter.attributes:
        if attribute.name == "function_constant":
            value = evaluate_expression(source.tokens.join(attribute.first, attribute.last), names)
            return value is None or value != 0
    return True


def _refuse_unsupported(kernel: EntryPoint, parameter: Parameter) -> None:
    listed = [_UNSUPPORTED_ATTRIBUTES.get(attribute.name, "") for attribute in parameter.attributes]
    listed += [find_feature(word) for word in parameter.pointee if word != parameter.name]
    feature = next(filter(None, listed), None)
    if feature:
        raise Unsupported(
            f"[{kernel.name}] {parameter.location}: {parameter.name}: the cpu device has no "
            f"{feature}; run this kernel on a Metal device"
        )


def _find_kind(source: Source, kernel: EntryPoint, parameter: Parameter) -> str:
    for attribute in parameter.attributes:
        if attribute.name in TABLE_SIZES:
            return attribute.name
    if parameter.address_space in ("", "thread"):
        words = source.references.find_reachable(
            parameter.pointee
        )  # an alias may stand for the type
        if any(map(TEXTURE.fullmatch, words)):
            return "texture"
        if "sampler" in words:
            return "sampler"
    if parameter.is_pointer and parameter.address_space in ("device", "constant"):
        return "buffer"
    if parameter.is_pointer and parameter.address_space == "threadgroup":
        return "threadgroup"
    given = " ".join(parameter.tokens)
    raise CompileError(
        f"{parameter.location}: error: [{kernel.name}] "
        f"parameter {parameter.name or parameter.position}: expected a device, constant or "
        "threadgroup pointer or reference, a texture, a sampler, or an attribute such as "
        "[[thread_position_in_grid]]; "
        f"got {given}"
    )


def _describe_argument(
    kernel: EntryPoint, parameter: Parameter, slot: tuple[str, int], types: Mapping[str, str]
) -> dict[str, str | int]:
    kind, index = slot
    space = parameter.address_space or ("threadgroup" if kind == "threadgroup" else "device")
    constant = space == "constant" or "const" in parameter.pointee
    if kind in ("texture", "sampler"):
        space = ""
        constant = not {"write", "read_write"}.intersection(parameter.pointee)
    return {
        "name": parameter.name or f"argument{parameter.position}",
        "kind": kind,
        "index": index,
        "type": kernel.typed[parameter.position].spell_type(types),
        "address_space": space,
        "access": "read" if constant else "read_write",
        "parameter": parameter.position,
    }
