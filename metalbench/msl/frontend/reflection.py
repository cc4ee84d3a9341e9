"""Parse the parameters of functions and kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from metalbench.msl.frontend.constants import evaluate_expression
from metalbench.msl.frontend.declarations import (
    Attribute,
    Declaration,
    find_attributes,
    skip_attributes,
)
from metalbench.msl.frontend.tokens import Location, Tokens, find_opening_angle, is_name

ADDRESS_SPACES = frozenset({"device", "constant", "threadgroup", "thread"})
_PARAMETER_QUALIFIERS = ADDRESS_SPACES | {
    "const",
    "volatile",
    "restrict",
    "coherent",
    "typename",
    "struct",
}
THREAD_ATTRIBUTES = frozenset(
    [
        "thread_position_in_grid",
        "threads_per_grid",
        "thread_position_in_threadgroup",
        "threads_per_threadgroup",
        "threadgroup_position_in_grid",
        "threadgroups_per_grid",
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "thread_index_in_quadgroup",
        "simdgroup_index_in_threadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "quadgroups_per_threadgroup",
        "threads_per_simdgroup",
        "thread_execution_width",
        "dispatch_threads_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "dispatch_quadgroups_per_threadgroup",
        "grid_origin",
        "grid_size",
    ]
)
# The attributes whose types must have the same number of elements. MSL 5.2.3.6 lists them.
POSITIONS = frozenset(
    {
        "thread_position_in_grid",
        "threads_per_grid",
        "thread_position_in_threadgroup",
        "threads_per_threadgroup",
        "threadgroup_position_in_grid",
        "threadgroups_per_grid",
        "dispatch_threads_per_threadgroup",
    }
)
TEXTURE = re.compile(r"(?:texture|depth)(?:1d|2d|3d|cube|_buffer)\w*")
_LIST_SEPARATOR = re.compile(r"\s*([,<>])\s*")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function; `tokens` exclude attributes and the default argument."""

    position: int
    location: Location
    tokens: tuple[str, ...]
    name: str
    attributes: tuple[Attribute, ...]

    @property
    def address_space(self) -> str:
        """device, constant, threadgroup or thread; empty for a value."""
        return next((text for text in self.tokens if text in ADDRESS_SPACES), "")

    @property
    def is_pointer(self) -> bool:
        """Whether the parameter is a pointer, a reference or an array."""
        depth = 0
        for text in self.tokens:
            depth += (text == "<") - (text == ">")
            if depth == 0 and text in ("*", "&", "&&", "["):
                return True
        return False

    @property
    def pointee(self) -> tuple[str, ...]:
        """The tokens before the first * or & outside of template arguments."""
        depth = 0
        for index, text in enumerate(self.tokens):
            depth += (text == "<") - (text == ">")
            if depth == 0 and text in ("*", "&", "&&", "(", "["):
                return self.tokens[:index]
        return self.tokens[:-1] if self.name else self.tokens

    def spell_type(self, substitution: Mapping[str, str]) -> str:
        """Return the type of the pointee or value, template parameters substituted: `float4`."""
        words = [
            word for word in self.pointee if word not in _PARAMETER_QUALIFIERS and word != self.name
        ]
        words = [substitution.get(word, word) for word in words]
        text = " ".join(words).replace(" :: ", "::").replace(":: ", "::").removeprefix("metal::")
        return _LIST_SEPARATOR.sub(r"\1", text).replace(",", ", ")


def parse_parameters(tokens: Tokens, opening: int) -> list[Parameter]:
    """Return the parameters between the parenthesis at `opening` and its partner."""
    found: list[Parameter] = []
    for first, last in tokens.split(opening + 1, tokens.partner[opening]):
        kept = skip_attributes(tokens, first, last)
        words = tuple(tokens.text[index] for index in kept)
        if "=" in words:
            words = words[: words.index("=")]
        if words == ("void",):
            continue
        found.append(
            Parameter(
                len(found),
                tokens.locate_token(first),
                words,
                _find_parameter_name(words),
                tuple(find_attributes(tokens, first, last)),
            )
        )
    return found


def _find_parameter_name(words: tuple[str, ...]) -> str:
    """Return the declared name, empty if there is none."""
    end = len(words)
    while end and words[end - 1] == "]":
        end = end - 1 - words[:end][::-1].index("[")
    if end and words[end - 1] == ")":
        end -= 1
    if not end or not is_name(words[end - 1]) or words[end - 1] in _PARAMETER_QUALIFIERS:
        return ""
    before = [word for word in words[: end - 1] if word not in _PARAMETER_QUALIFIERS]
    return words[end - 1] if before and before[-1] != "::" else ""


def evaluate_attribute_index(
    tokens: Tokens, attribute: Attribute, names: Mapping[str, str]
) -> int | None:
    """Return n of [[buffer(n)]], None if it is not an integer constant."""
    return evaluate_expression(tokens.join(attribute.first, attribute.last), names)


# Find the kernels of a source: all forms of declarations and of template instantiations.

OTHER_STAGES = frozenset({"vertex", "fragment", "mesh", "object", "intersection"})
_STAGES = OTHER_STAGES | {"kernel"}


@dataclass(frozen=True)
class EntryPoint:
    """One `kernel` function that can be compiled by its `name`.

    `primary` is the definition. For an instantiated template, `instantiation` is the declaration
    with the template `arguments`. `expression` is an id-expression of the function, at token
    `name_index`. `signature` is the opening parenthesis of an instantiation's parameters.
    """

    name: str
    primary: Declaration
    instantiation: Declaration | None
    arguments: tuple[str, ...]
    expression: str
    signature: int | None
    name_index: int
    tokens: Tokens

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters in order."""
        assert self.primary.parameters is not None
        return parse_parameters(self.tokens, self.primary.parameters[0])

    @cached_property
    def typed(self) -> list[Parameter]:
        """The parameters with the types that an instantiation spells."""
        own = parse_parameters(self.tokens, self.signature) if self.signature is not None else []
        return own if len(own) == len(self.parameters) else self.parameters

    @cached_property
    def substitution(self) -> dict[str, str]:
        """The template arguments as text by parameter name, including defaults."""
        names: dict[str, str] = {}
        for index, (first, last) in enumerate(self.primary.template or ()):
            name, default = split_template_parameter(self.tokens, first, last)
            value = self.arguments[index] if index < len(self.arguments) else default
            if name and value:
                names[name] = names.get(value, value)
        return names

    @property
    def location(self) -> Location:
        """The source location of the name."""
        return self.tokens.locate_token(self.name_index)


def find_stage(tokens: Tokens, declaration: Declaration) -> str:
    """Return a function's stage: kernel, vertex, fragment ...; empty for other declarations."""
    if declaration.kind not in ("function", "instantiation"):
        return ""
    for attribute in declaration.attributes:
        if attribute.name in _STAGES:
            return attribute.name
    stop = declaration.parameters[0] if declaration.parameters else declaration.last
    if _STAGES.isdisjoint(tokens.text[declaration.head : stop]):
        return ""
    kept = skip_attributes(tokens, declaration.head, stop)
    for index in kept[:4]:
        if (
            tokens.text[index] in _STAGES
            and index + 1 < stop
            and tokens.text[index + 1] not in "(<,;="
        ):
            return tokens.text[index]
    return ""


def find_entry_points(tokens: Tokens, declared: Iterable[Declaration]) -> list[EntryPoint]:
    """Return all kernels of a file in order. Templates are included only if instantiated."""
    found: list[EntryPoint] = []
    functions: dict[str, list[Declaration]] = {}
    for declaration in declared:
        if declaration.kind == "function":
            functions.setdefault(declaration.name, []).append(declaration)
            concrete = not declaration.template
            if declaration.body and concrete and find_stage(tokens, declaration) == "kernel":
                found.append(_make_entry_point(tokens, declaration))
        elif declaration.kind == "instantiation" and find_stage(tokens, declaration) == "kernel":
            kernel = _instantiate_entry_point(tokens, declaration, functions)
            if kernel is not None:
                found.append(kernel)
    return found


def _read_host_name(tokens: Tokens, declaration: Declaration) -> str | None:
    attribute = declaration.find_attribute("host_name")
    if attribute is None:
        return None
    parts = tokens.text[attribute.first : attribute.last]
    return "".join(part.strip('"') for part in parts)


def _make_entry_point(tokens: Tokens, declaration: Declaration) -> EntryPoint:
    """Return the kernel of a plain function or of a full specialisation."""
    arguments = ""
    if declaration.specialisation_arguments:
        arguments = f"<{tokens.join(*declaration.specialisation_arguments)}>"
    return EntryPoint(
        name=_read_host_name(tokens, declaration) or declaration.qualified_name + arguments,
        primary=declaration,
        instantiation=None,
        arguments=(),
        expression=f"::{declaration.qualified_name}{arguments}",
        signature=None,
        name_index=declaration.name_index,
        tokens=tokens,
    )


def _instantiate_entry_point(
    tokens: Tokens, declaration: Declaration, functions: dict[str, list[Declaration]]
) -> EntryPoint | None:
    """Return the kernel of `template [[host_name("k")]] [[kernel]] decltype(f<T>) f<T>;`."""
    last = declaration.last - 1
    signature = None
    if tokens.text[last - 1] == ")" and tokens.text[tokens.partner[last - 1] - 1] != "decltype":
        signature = (tokens.partner[last - 1], last)
        last = signature[0]
    first, name_index, arguments = _parse_id_expression(tokens, declaration.head, last)
    expression = tokens.join(first, last)
    values = list(tokens.split(*arguments)) if arguments else []
    primary = _find_primary_template(
        tokens, functions.get(tokens.text[name_index], []), len(values), signature
    )
    if primary is None or primary.parameters is None:
        return None
    return EntryPoint(
        name=_read_host_name(tokens, declaration) or " ".join(expression.split()),
        primary=primary,
        instantiation=declaration,
        arguments=tuple(tokens.join(*value) for value in values),
        expression=expression,
        signature=signature[0] if signature else None,
        name_index=name_index,
        tokens=tokens,
    )


def _parse_id_expression(
    tokens: Tokens, limit: int, last: int
) -> tuple[int, int, tuple[int, int] | None]:
    """Return first token, name and arguments of the id-expression before token `last`."""
    index, arguments = last - 1, None
    if tokens.text[index] == ">":
        opened = find_opening_angle(tokens, index, limit)
        arguments = (opened + 1, index)
        index = opened - 1
    name_index = index
    while index - 1 > limit and tokens.text[index - 1] == "::" and is_name(tokens.text[index - 2]):
        index -= 2
    return index, name_index, arguments


def _find_primary_template(
    tokens: Tokens,
    candidates: list[Declaration],
    arguments: int,
    signature: tuple[int, int] | None,
) -> Declaration | None:
    """Return an instantiation's template, by the number of its arguments, then parameters."""
    templates = [found for found in candidates if found.template and found.body]
    fitting = [found for found in templates if len(found.template or ()) >= arguments]
    if signature is not None:
        wanted = len(parse_parameters(tokens, signature[0]))
        same = [
            found
            for found in fitting
            if found.parameters and len(parse_parameters(tokens, found.parameters[0])) == wanted
        ]
        fitting = same or fitting
    return next(iter(fitting or templates), None)


def split_template_parameter(tokens: Tokens, first: int, last: int) -> tuple[str, str]:
    """Return name and default argument of one template parameter; each may be empty."""
    words = tokens.text[first:last]
    depth, cut = 0, len(words)
    for index, word in enumerate(words):
        depth += (word == "<") - (word == ">")
        if word == "=" and depth <= 0:
            cut = index
            break
    name = words[cut - 1] if cut > 1 and is_name(words[cut - 1]) else ""
    return name, tokens.join(first + cut + 1, last)
