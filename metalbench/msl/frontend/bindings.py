"""Assign the argument table indices of a kernel: `[[buffer(2)]]`, or the first free index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NoReturn

from metalbench._core import CompileError, Unsupported
from metalbench.msl.frontend.constants import evaluate_expression, read_program_constants
from metalbench.msl.frontend.reflection import (
    ADDRESS_SPACES,
    POSITIONS,
    TEXTURE,
    THREAD_ATTRIBUTES,
    EntryPoint,
    Parameter,
    evaluate_attribute_index,
)
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.standards import TENSORS_SINCE
from metalbench.msl.frontend.tokens import is_name, lex
from metalbench.msl.frontend.unsupported import find_feature

# A tensor has a second argument with its extents and strides, of this name behind the tensor's.
EXTENTS_SUFFIX = ".extents"
# Sizes of Metal's argument tables, by kind of argument.
TABLE_SIZES = {"buffer": 31, "threadgroup": 31, "texture": 128, "sampler": 16}


class ArgumentTable:
    """The argument tables of one kernel. An array of textures or samplers takes several indices."""

    def __init__(self, kernel: EntryPoint, names: Mapping[str, str]) -> None:
        self._kernel = kernel
        self._names = names
        self._taken: dict[tuple[str, int], Parameter] = {}
        self._found: list[tuple[Parameter, str, int]] = []
        self._waiting: list[tuple[Parameter, str]] = []

    def add(self, parameter: Parameter, kind: str) -> None:
        """Assign the indices of the parameter's attribute; without one, wait for the others.

        Raise CompileError if the indices are not constant or are in use.
        """
        attribute = next((found for found in parameter.attributes if found.name == kind), None)
        if attribute is None:
            self._waiting.append((parameter, kind))
            return
        index = evaluate_attribute_index(self._kernel.tokens, attribute, self._names)
        if index is None:
            given = self._kernel.tokens.join(attribute.first, attribute.last)
            self._fail(parameter, f"[[{kind}(n)]]: expected an integer constant, got {given}")
        self._take(parameter, kind, index)

    def reserve_last(self, parameter: Parameter) -> int:
        """Return the last free index of a buffer, for what a tensor has in addition to elements."""
        last = TABLE_SIZES["buffer"] - 1
        index = next((i for i in range(last, -1, -1) if ("buffer", i) not in self._taken), None)
        if index is None:
            self._fail(parameter, "a tensor needs a second index of a buffer, and all are in use")
        self._taken["buffer", index] = parameter
        return index

    def assign_indices(self) -> Iterator[tuple[Parameter, str, int]]:
        """Yield parameters with kind and first index, in the order of declaration."""
        for parameter, kind in self._waiting:
            size = self._size(parameter, kind)
            free = next(
                first
                for first in count()
                if not any((kind, index) in self._taken for index in range(first, first + size))
            )
            self._take(parameter, kind, free)
        self._waiting = []
        yield from sorted(self._found, key=lambda found: found[0].position)

    def _take(self, parameter: Parameter, kind: str, first: int) -> None:
        size = self._size(parameter, kind)
        if not 0 <= first <= TABLE_SIZES[kind] - size:
            most = TABLE_SIZES[kind] - size
            self._fail(
                parameter,
                f"got {first}",
                f"'{kind}' attribute parameter is out of bounds: must be between 0 and {most}; ",
            )
        for index in range(first, first + size):
            other = self._taken.setdefault((kind, index), parameter)
            if other is not parameter:
                self._fail(
                    parameter,
                    f"{other.name} has it; give one of them another index",
                    f"cannot reserve '{kind}' resource location at index {index}; ",
                )
        self._found.append((parameter, kind, first))

    def _size(self, parameter: Parameter, kind: str) -> int:
        """Return N of array<texture2d<T>, N>; 1 for everything else."""
        words = list(parameter.pointee)
        if kind not in ("texture", "sampler") or "array" not in words:
            return 1
        close = len(words) - 1 - words[::-1].index(">")
        comma = close - 1 - words[:close][::-1].index(",")
        text = " ".join(words[comma + 1 : close])
        size = evaluate_expression(text, self._names)
        if size is None or size < 1:
            self._fail(parameter, f"expected a constant number of elements, got {text}")
        return size

    def _fail(self, parameter: Parameter, what: str, message: str = "") -> NoReturn:
        """Raise CompileError: the message of Metal's compiler, if it has one, and what is wrong."""
        raise CompileError(
            f"{parameter.location}: error: {message}[{self._kernel.name}] {parameter.name}: {what}"
        )


# Bind the parameters of a kernel to arguments, with the values of its function constants.

DEFAULT_MAX_THREADS = 1024
# A type of a parameter has fewer words, and fewer replacements of its aliases.
MOST_WORDS_OF_TYPE = 1000
_NUMBER = re.compile(
    r"(?:metal::)?(?:(?P<unsigned>u(?:short|int)|unsigned(?: short| int)?|uint(?:16|32)_t)"
    r"|bool|u?char|u?long|short|int|half|float|bfloat|u?int(?:8|64)_t|int(?:16|32)_t)"
    r"(?P<count>[234]?)"
)
_UNSUPPORTED_ATTRIBUTES = {
    "stage_in": "vertex descriptors",
    "payload": "mesh payloads",
    "imageblock_data": "imageblocks",
    "thread_position_in_region": "tessellation",
}

# Inputs of vertex and fragment functions.
_INPUTS_OF_OTHER_STAGES = frozenset(
    """
    amplification_id barycentric_coord base_instance base_vertex front_facing instance_id
    point_coord position primitive_id sample_id sample_mask vertex_id
    """.split()  # noqa: SIM905
)


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
    tensors: dict[int, TensorType] = {}
    for parameter in kernel.parameters:
        _refuse_unsupported(kernel, parameter)
        attribute = next((a for a in parameter.attributes if a.name in THREAD_ATTRIBUTES), None)
        if not _is_present(source, parameter, names):
            found.macros.append("mb::absent")
        elif attribute is not None:
            found.macros.append(f"mb::attribute<mb::{attribute.name}>")
            kind = kernel.typed[parameter.position].spell_type(types)
            _check_input_type(kernel, parameter, attribute.name, kind)
            found.attributes.append({"name": attribute.name, "type": kind})
        else:
            found.macros.append("")
            tensor = read_tensor_type(source, kernel, parameter, names)
            if tensor is not None:
                tensors[parameter.position] = tensor
                slots.add(parameter, "buffer")
            else:
                slots.add(parameter, _find_kind(source, kernel, parameter))
    sizes = []
    for parameter, kind, index in list(slots.assign_indices()):
        found.macros[parameter.position] = f"mb::{kind}<{index}>"
        described = _describe_argument(kernel, parameter, (kind, index), types)
        if parameter.position in tensors:
            last = slots.reserve_last(parameter)
            found.macros[parameter.position] = f"mb::tensor_buffer<{index}, {last}>"
            tensor = tensors[parameter.position]
            described |= {"type": tensor.element}
            described |= {"access": "read" if tensor.is_const else "read_write"}
            length = 2 * tensor.rank
            sizes.append(
                described
                | {
                    "name": f"{described['name']}{EXTENTS_SUFFIX}",
                    "index": last,
                    "type": f"array<long, {length}>",
                    "address_space": "constant",
                    "access": "read",
                }
            )
        found.arguments.append(described)
    found.arguments += sizes
    return found


@dataclass(frozen=True)
class TensorType:
    """The type of a parameter that is a tensor of Metal 4: its element, such as half, and rank."""

    element: str
    is_const: bool
    rank: int


def read_tensor_type(
    source: Source, kernel: EntryPoint, parameter: Parameter, names: Mapping[str, str]
) -> TensorType | None:
    """Return the type of a parameter that is a tensor; None for other parameters.

    Type aliases are replaced by what they stand for. `names` are the values of constants. Raise
    CompileError for extents whose rank is not in the text, because hosts check the rank of arrays.
    """
    if source.version < TENSORS_SINCE or parameter.is_pointer:
        return None
    words = expand_aliases(source, kernel.typed[parameter.position].pointee, kernel.substitution)
    first = next((i for i, word in enumerate(words) if word == "tensor"), None)
    if first is None or (words[:first][-1:] == ["::"] and words[:first][-2:-1] != ["metal"]):
        return None
    element, extents = [*_list_template_arguments(words, first), [], []][:2]
    rank = _count_dimensions(extents, names)
    if rank < 1:
        raise CompileError(
            f"{parameter.location}: error: [{kernel.name}] {parameter.name}: expected extents of a "
            "known rank for a parameter that is a tensor, such as dextents<int32_t, 2>; got "
            f"{' '.join(extents) or 'none'}"
        )
    spelled = [word for word in element if word not in ADDRESS_SPACES | {"const", "volatile"}]
    return TensorType(
        " ".join(spelled).removeprefix("metal :: "),
        "const" in element or "constant" in element,
        rank,
    )


def expand_aliases(
    source: Source, words: Sequence[str], substitution: Mapping[str, str]
) -> list[str]:
    """Return the words of a type with template parameters and type aliases replaced.

    An alias that is a template gets its arguments. The number of replacements is limited, so that
    an alias that names itself ends.
    """
    waiting, found = list(reversed(words)), list[str]()
    for _ in range(MOST_WORDS_OF_TYPE):
        if not waiting:
            break
        word = waiting.pop()
        qualifiers = _list_qualifiers(found)
        alias = source.find_type_alias(word, qualifiers)
        if word in substitution:
            waiting += reversed(lex(substitution[word]).text)
            continue
        if alias is None:
            found.append(word)
            continue
        del found[len(found) - 2 * len(qualifiers) :]
        if alias.parameters is None:
            waiting += reversed(alias.words)
        else:
            following = [word, *reversed(waiting)]
            given = _list_template_arguments(following, 0)
            values = {
                name: given[i] if i < len(given) else list(default)
                for i, (name, default) in enumerate(alias.parameters)
            }
            count = _count_template_words(following, 1)
            del waiting[len(waiting) - count :]
            for each in reversed(alias.words):
                waiting += reversed(values.get(each, [each]))
    return found


def _list_qualifiers(words: Sequence[str]) -> list[str]:
    """Return the names that qualify the word after `words`: a and b after `a :: b ::`."""
    first = len(words)
    while first > 1 and words[first - 1] == "::" and is_name(words[first - 2]):
        first -= 2
    return [*words[first::2]]


def _count_template_words(words: Sequence[str], first: int) -> int:
    """Return the number of words of `< ... >` at `first`; 0 without it."""
    depth = 0
    for index in range(first, len(words)):
        depth += (words[index] == "<") - (words[index] == ">")
        if depth == 0:
            return index - first + 1 if index > first else 0
    return 0


def _list_template_arguments(words: Sequence[str], name: int) -> list[list[str]]:
    """Return the words of each template argument of the name at this index."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words[name + 1 : name + 1 + _count_template_words(words, name + 1)]:
        depth += (word in ("<", "(")) - (word in (">", ")"))
        if depth == 1 and word == ",":
            parts.append([])
        elif (depth, word) not in ((1, "<"), (0, ">")):
            parts[-1].append(word)
    return [part for part in parts if part]


def _count_dimensions(words: Sequence[str], names: Mapping[str, str]) -> int:
    """Return the rank of `dextents<I, N>` or `extents<I, a, b>`; 0 if it is not known."""
    kind = next((i for i, word in enumerate(words) if word in ("dextents", "extents")), None)
    if kind is None:
        return 0
    _, *sizes = _list_template_arguments(words, kind) or [[]]
    if words[kind] == "dextents":
        return evaluate_expression(" ".join(sizes[0]), names) or 0 if sizes else 0
    return len(sizes)


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


def _check_input_type(kernel: EntryPoint, parameter: Parameter, attribute: str, kind: str) -> None:
    """Raise CompileError unless an input of a thread has a type of MSL 5.2.3.6.

    A type that the front end does not know is left to the headers.
    """
    found = _NUMBER.fullmatch(kind)
    if found is None:
        return
    most = 3 if attribute in POSITIONS or attribute.startswith("grid_") else 1
    is_unsigned = bool(found["unsigned"])
    if is_unsigned and int(found["count"] or 1) <= most:
        return
    shapes = "uint, ushort or a vector of 2 or 3 of them" if most > 1 else "uint or ushort"
    raise CompileError(
        f"{parameter.location}: error: type '{kind}' is not valid for attribute '{attribute}'; "
        f"[{kernel.name}] parameter {parameter.name}: expected {shapes}"
    )


def _find_kind(source: Source, kernel: EntryPoint, parameter: Parameter) -> str:
    if parameter.is_pointer and parameter.address_space == "thread":
        raise CompileError(
            f"{parameter.location}: error: invalid address space qualification for buffer pointee "
            f"type '{parameter.spell_type({})}'; [{kernel.name}] parameter {parameter.name}: "
            "expected `device`, `constant` or `threadgroup`"
        )
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
    for attribute in parameter.attributes:
        if attribute.name in _INPUTS_OF_OTHER_STAGES:
            raise CompileError(
                f"{parameter.location}: error: invalid '{attribute.name}' attribute for input "
                f"declaration in a kernel function; [{kernel.name}] parameter {parameter.name}: "
                "expected an attribute such as [[thread_position_in_grid]]"
            )
    given = " ".join(parameter.tokens)
    raise CompileError(
        f"{parameter.location}: error: invalid type '{parameter.spell_type({})}' for input "
        f"declaration in a kernel function; [{kernel.name}] parameter "
        f"{parameter.name or parameter.position}: expected a device, constant or threadgroup "
        "pointer or reference, a texture, a sampler, or an attribute such as "
        f"[[thread_position_in_grid]]; got {given}"
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
