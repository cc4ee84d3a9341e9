"""A parsed source: its functions, what they refer to, and which kernels synchronise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from metalbench._core import CompileError
from metalbench.msl.frontend.constants import FunctionConstant, find_function_constants
from metalbench.msl.frontend.declarations import (
    Declaration,
    find_declared_names,
    iterate_declarations,
    parse_declarations,
)
from metalbench.msl.frontend.reflection import (
    EntryPoint,
    find_entry_points,
    split_template_parameter,
)
from metalbench.msl.frontend.standards import DEFAULT_STANDARD, STANDARDS
from metalbench.msl.frontend.tokens import Location, Tokens, is_name, lex
from metalbench.msl.frontend.unsupported import find_unsupported_declarations

_COLLECTIVE_NAME = re.compile(
    r"(?:threadgroup|simdgroup|quadgroup)_barrier|__metal_(?:simd|quad|wg)\w*"
    r"|(?:simd|quad)_(?:all|any|ballot|sum|product|min|max|and|or|xor|is_first|is_helper_thread"
    r"|active_threads_mask|broadcast(?:_first)?|prefix_\w+|shuffle\w*|vote)"
    r"|simdgroup_(?:matrix|load|store|multiply\w*|async_copy\w*|event|(?:float|half|bfloat)8x8)"
    r"|make_filled_simdgroup_matrix|mpp|tensor_ops|matmul2d\w*|convolution2d\w*"
    r"|execution_simdgroups?|reduce_(?:rows|columns)"
)


def is_collective(name: str) -> bool:
    """Return whether a name is a barrier, or a function or type for a SIMD-group or quad-group."""
    return _COLLECTIVE_NAME.fullmatch(name) is not None


_ALIASES = frozenset({"using", "typedef"})


class References:
    """The names that each declaration of a source mentions: a call graph by name."""

    def __init__(self, tokens: Tokens, declared: Iterable[Declaration]) -> None:
        self.tokens = tokens
        self._mentions: dict[str, set[str]] = {}
        for declaration in iterate_declarations(list(declared)):
            if declaration.kind == "instantiation":
                continue
            words = set(filter(str.isidentifier, tokens.text[declaration.first : declaration.last]))
            for name in find_declared_names(tokens, declaration):
                self._mentions.setdefault(name, set()).update(words)

    def __contains__(self, name: str) -> bool:
        return name in self._mentions

    def find_reachable(self, roots: Iterable[str]) -> set[str]:
        """Return every name that code reachable from `roots` mentions, including `roots`."""
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self._mentions.get(name, set()) - seen)
        return seen


def requires_fibers(
    tokens: Tokens, declared: Mapping[str, list[Declaration]], reached: set[str]
) -> bool:
    """Return whether a kernel that reaches these names must run its threads concurrently.

    Barriers and SIMD-group functions need that, and so does a loop that polls an atomic variable.
    """
    if any(map(is_collective, reached)):
        return True
    if "atomic_load_explicit" not in reached:
        return False
    found = chain.from_iterable(declared.get(name, ()) for name in reached)
    return any(_waits(tokens, declaration) for declaration in found)


def _waits(tokens: Tokens, declaration: Declaration) -> bool:
    words = tokens.text[declaration.first : declaration.last]
    return "while" in words and "atomic_load_explicit" in words


@dataclass(frozen=True)
class TypeAlias:
    """The words of a type that has another name, and the parameters of an alias template.

    `scope` has the namespaces of the name. A parameter is a name and its default argument's words.
    """

    scope: tuple[str, ...]
    words: tuple[str, ...]
    parameters: tuple[tuple[str, tuple[str, ...]], ...] | None = None


# A parsed source: tokens, declarations and kernels, each computed once on first use.


@dataclass
class Source:
    """One MSL source. All properties are derived from its text on first use."""

    text: str
    filename: str
    # The preprocessor's output for `text`, including line markers.
    expanded: str
    # Folders of included files, in addition to the source's folder.
    include_dirs: tuple[str, ...] = ()
    # Whether `double` is allowed, which Metal does not have.
    allows_double: bool = False
    # Whether LLVM runs few passes on kernels that do not synchronise.
    compiles_quickly: bool = False
    # The value of __METAL_VERSION__, and the number of the layout of cooperative tensors.
    version: int = STANDARDS[DEFAULT_STANDARD]
    tensor_layout: int = 0

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the preprocessed source."""
        return lex(self.expanded)

    @cached_property
    def declarations(self) -> list[Declaration]:
        """The declarations in order. The source's brackets must match."""
        return parse_declarations(self.tokens)

    @cached_property
    def declarations_by_name(self) -> dict[str, list[Declaration]]:
        """Declarations outside of records, by unqualified name."""
        found: dict[str, list[Declaration]] = {}
        for declaration in self.declarations:
            found.setdefault(declaration.name, []).append(declaration)
        return found

    @cached_property
    def references(self) -> References:
        """The names that each declaration mentions."""
        return References(self.tokens, self.declarations)

    @cached_property
    def unsupported(self) -> list[tuple[Declaration, Declaration]]:
        """The declarations that the `cpu` device does not support, each with its cause."""
        return find_unsupported_declarations(self.tokens, self.declarations)

    @cached_property
    def supported_references(self) -> References:
        """The names that each supported declaration mentions."""
        removed = {declaration.first for declaration, _ in self.unsupported}
        kept = [each for each in self.declarations if each.first not in removed]
        return References(self.tokens, kept)

    @cached_property
    def constants(self) -> list[FunctionConstant]:
        """The function constants."""
        return find_function_constants(self.tokens, self.declarations)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The targets of plain type aliases by name, such as bfloat for bfloat16_t."""
        found: dict[str, str] = {}
        for declaration in self.declarations:
            words = self.tokens.text[declaration.first : declaration.last - 1]
            is_plain = len(words) > 2 and not {"<", "*", "{", "("}.intersection(words)
            if declaration.kind == "alias" and is_plain:
                if words[0] == "using" and words[2:3] == ["="]:
                    found[words[1]] = found.get(words[-1], " ".join(words[3:]))
                elif words[0] == "typedef":
                    found[words[-1]] = found.get(words[-2], " ".join(words[1:-1]))
        return found

    @cached_property
    def _type_aliases(self) -> dict[str, list[TypeAlias]]:
        """All type aliases outside of records by unqualified name, templates among them."""
        found: dict[str, list[TypeAlias]] = {}
        for declaration in self.declarations:
            if declaration.kind != "alias":
                continue
            words = self.tokens.text[declaration.head : declaration.last - 1]
            if words[:1] == ["using"] and words[2:3] == ["="]:
                parameters = None
                if declaration.template is not None:
                    split = (
                        split_template_parameter(self.tokens, *p) for p in declaration.template
                    )
                    parameters = tuple((name, tuple(lex(value).text)) for name, value in split)
                alias = TypeAlias(declaration.scope, tuple(words[3:]), parameters)
                found.setdefault(words[1], []).append(alias)
            elif words[:1] == ["typedef"] and len(words) > 2:
                alias = TypeAlias(declaration.scope, tuple(words[1:-1]))
                found.setdefault(words[-1], []).append(alias)
        return found

    def find_type_alias(self, name: str, qualifiers: Sequence[str] = ()) -> TypeAlias | None:
        """Return the type alias with this name, in the namespaces `qualifiers` if there are any."""
        for alias in self._type_aliases.get(name, ()):
            if not qualifiers or [*alias.scope[-len(qualifiers) :]] == [*qualifiers]:
                return alias
        return None

    @cached_property
    def entry_points(self) -> dict[str, EntryPoint]:
        """The kernels by name. Raise CompileError if two have the same name."""
        found: dict[str, EntryPoint] = {}
        for kernel in find_entry_points(self.tokens, self.declarations):
            other = found.setdefault(kernel.name, kernel)
            if other is not kernel:
                raise CompileError(
                    f"{kernel.location}: error: two kernels are named {kernel.name}; "
                    f"the other is at {other.location}: rename one of them or give it a host_name"
                )
        return found

    def find_entry_point(self, name: str) -> EntryPoint:
        """Return the kernel with this name; a unique name needs no namespace.

        Raise CompileError that lists the names of all kernels.
        """
        if name in self.entry_points:
            return self.entry_points[name]
        short = [
            kernel for full, kernel in self.entry_points.items() if full.split("::")[-1] == name
        ]
        if len(short) == 1:
            return short[0]
        raise CompileError(self._explain_unknown_kernel(name))

    def _explain_unknown_kernel(self, name: str) -> str:
        known = list(self.entry_points)
        listed = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        message = f"{self.filename}: error: no kernel is named {name}; "
        for declaration in self.declarations_by_name.get(name, ()):
            where = self.tokens.locate_token(declaration.first)
            if declaration.template:
                return (
                    f"{message}{name} at {where} is a template: instantiate it with "
                    f'`template [[host_name("{name}_float")]] [[kernel]] decltype({name}<float>) '
                    f"{name}<float>;` and ask for {name}_float"
                )
            if declaration.kind == "function":
                message += f"{name} at {where} is a function without `kernel`; "
        return f"{message}expected one of: {listed or 'nothing, the source has no kernel'}"


# Find tests for NaN and infinity in a kernel: fast math may assume that they are false.

_FUNCTIONS = frozenset({"isnan", "isinf", "isfinite", "isnormal", "isordered", "isunordered"})
# Tokens that may precede or follow an operand of ==. Other tokens extend the operand.
_BEFORE = frozenset({"(", "{", "[", ",", ";", "=", "?", ":", "&&", "||", "!", "return"})
_AFTER = frozenset({")", "}", "]", ",", ";", "?", ":", "&&", "||"})


def find_nan_tests(source: Source, function: str) -> Iterator[tuple[Location, str]]:
    """Yield location and text of each such test in a kernel and its callees, in source order.

    Tests are calls of `isnan` and its relatives, and comparisons of a value with itself.
    """
    kernel = source.find_entry_point(function)
    roots = {kernel.primary.name, *re.findall(r"\w+", kernel.expression)}
    roots.update(name for name in source.declarations_by_name if name.startswith("operator"))
    reached = source.references.find_reachable(roots)
    found = (each for name in reached for each in source.declarations_by_name.get(name, ()))
    own = {name for name in _FUNCTIONS if name in source.declarations_by_name}
    for index in sorted(set(_find_test_tokens(source.tokens, found, _FUNCTIONS - own))):
        yield source.tokens.locate_token(index), _format_test(source.tokens, index)


def _find_test_tokens(
    tokens: Tokens, declared: Iterable[Declaration], functions: frozenset[str]
) -> Iterator[int]:
    for declaration in declared:
        if declaration.body is None:
            continue
        for index in range(*declaration.body):
            word = tokens.text[index]
            called = word in functions and tokens.at(index + 1) == "("
            if called or (word in ("==", "!=") and _find_equal_operands(tokens, index)):
                yield index


def _find_equal_operands(tokens: Tokens, index: int) -> list[str]:
    """Return the tokens of an operand of == or !=, if both operands are the same; else nothing."""
    last = index + 1
    while tokens.at(last) and tokens.at(last) not in _AFTER:
        last = tokens.partner[last] + 1 if tokens.text[last] in "([{" else last + 1
    right = tokens.text[index + 1 : last]
    first = index - len(right)
    left = tokens.text[max(first, 0) : index]
    is_value = bool(right) and (is_name(right[0]) or right[0] == "(")
    return right if is_value and left == right and tokens.at(first - 1) in _BEFORE else []


def _format_test(tokens: Tokens, index: int) -> str:
    operand = "".join(_find_equal_operands(tokens, index))
    return f"{operand} {tokens.text[index]} {operand}" if operand else tokens.text[index]
