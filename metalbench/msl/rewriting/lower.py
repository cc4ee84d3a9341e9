"""Lower one kernel from MSL to C++: erase address spaces, keep one kernel, add its entry points.

Address spaces stay if the kernel can reach overloads that differ only in them (overloads.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench._core import CompileError
from metalbench.msl.reading.collectives import requires_fibers
from metalbench.msl.reading.constants import Value, format_literal, resolve_constants
from metalbench.msl.reading.declarations import Declaration, iterate_declarations
from metalbench.msl.reading.parameters import TEXTURE
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import EntryPoint, find_stage
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.bindings import Bindings, bind_parameters, read_max_threads
from metalbench.msl.rewriting.casts import has_both_half_formats, rewrite_casts
from metalbench.msl.rewriting.conditionals import rewrite_conditionals
from metalbench.msl.rewriting.edits import Edits, TranslationUnit
from metalbench.msl.rewriting.entry import name_entry_point
from metalbench.msl.rewriting.keywords import define_swizzles, rewrite_keywords
from metalbench.msl.rewriting.labels import has_asm_labels, rewrite_asm_labels
from metalbench.msl.rewriting.leaving import mark_loop_exits
from metalbench.msl.rewriting.literals import refuse_double
from metalbench.msl.rewriting.objects import find_defaulted_members, rewrite_member_functions
from metalbench.msl.rewriting.overloads import (
    Collision,
    find_constructor_qualifiers,
    merge_overloads,
)
from metalbench.msl.rewriting.own_names import find_metal_names, rename_in_headers
from metalbench.msl.rewriting.spaces import WITHOUT_ATTRIBUTE, rewrite_address_spaces
from metalbench.msl.rewriting.threadgroup import ThreadgroupVariables
from metalbench.msl.rewriting.unsupported import find_unsupported_declarations, refuse_declaration

_ALWAYS_INLINE = "inline __attribute__((always_inline)) "
_LINKAGE = frozenset({"inline", "static", "constexpr", "extern", "METAL_FUNC", "friend", "typedef"})


@dataclass(frozen=True)
class LoweredKernel:
    """C++ text for clang, and the kernel's reflection.

    With `spaces` the text has address spaces, which needs other compiler flags. With `any_order`
    the kernel has no atomics, so its threadgroups can run in any order.
    """

    code: TranslationUnit
    kernel: EntryPoint
    bindings: Bindings
    max_threads: int
    needs_fibers: bool
    spaces: bool
    any_order: bool


def lower(source: Source, name: str, constants: Mapping[str | int, Value]) -> LoweredKernel:
    """Lower the kernel `name` to C++, with function constants by name or index.

    Raise CompileError or Unsupported with the line of the user's file.
    """
    refuse_double(source.tokens)
    kernel = source.find_entry_point(name)
    reached = find_reachable_names(source, kernel)
    literals = _format_constants(source, kernel, constants, reached)
    bindings = bind_parameters(source, kernel, literals)
    edits, (scope,), spaces = rewrite_source(source, [kernel], reached, literals)
    fibers = requires_fibers(source.tokens, source.declarations_by_name, reached)
    limit_text, limit = read_max_threads(source, kernel)
    entry = ", ".join(["mb_entry_function", str(int(fibers)), f"({limit_text})", *bindings.macros])
    code = build_translation_unit(source, edits, f"{scope}MB_KERNEL({entry})\n")
    return LoweredKernel(
        code, kernel, bindings, limit, fibers, spaces, can_run_in_any_order(reached)
    )


def find_reachable_names(source: Source, kernel: EntryPoint) -> set[str]:
    """Return the names that a kernel mentions, directly or through its callees."""
    return source.references.find_reachable(_find_roots(source, kernel))


def can_run_in_any_order(reached: set[str]) -> bool:
    """Return whether no threadgroup can wait for another one: no atomics are reachable."""
    return not any("atomic" in name for name in reached)


def rewrite_source(
    source: Source, kernels: Sequence[EntryPoint], reached: set[str], literals: Mapping[str, str]
) -> tuple[Edits, list[str], bool]:
    """Rewrite the source so that it contains these kernels only.

    Return the edits, an expression that names each kernel, and whether address spaces stay.
    """
    tokens = source.tokens
    edits = Edits(tokens.source)
    unused = _find_unused_kernels(source, reached)
    for kernel in kernels:
        unused += _find_unsupported(source, kernel, reached)
    threadgroup = ThreadgroupVariables(tokens, unused)
    removed, spaces = _find_redundant_overloads(source, reached, needed=threadgroup.needs_spaces)
    removed += unused
    for declaration in {each.first: each for each in removed}.values():
        edits.blank(tokens.start[declaration.first], tokens.end(declaration.last - 1))
    _define_function_constants(source, edits, literals)
    scopes = [name_entry_point(source, edits, kernel, spaces=spaces) for kernel in kernels]
    _set_linkage(source, edits, {declaration.first for declaration in removed})
    for index in find_constructor_qualifiers(tokens, source.declarations):
        edits.blank(tokens.start[index], tokens.end(index))
    threadgroup.rewrite(edits)
    _rewrite_tokens(source, edits, spaces=spaces)
    return edits, scopes, spaces


def build_translation_unit(source: Source, edits: Edits, entries: str) -> TranslationUnit:
    """Return the whole text: headers, the edited source and the entry points."""
    opening = build_preamble(source.tokens, find_metal_names(source))
    labels = "#include <mb/async_copy_labels.h>\n" if has_asm_labels(source.tokens) else ""
    text = f'{opening}{edits.apply()}\n# 1 "<metalbench>"\n{labels}{entries}'
    return TranslationUnit(text, edits, len(opening))


def _rewrite_tokens(source: Source, edits: Edits, *, spaces: bool) -> None:
    """Rewrite the constructs of MSL that C++ does not have, in all declarations."""
    tokens = source.tokens
    if spaces:
        _rewrite_spaces_in_types(source, edits)
    rewrite_keywords(tokens, edits)
    rewrite_asm_labels(tokens, edits)
    mark_loop_exits(tokens, source.references, edits)
    if has_both_half_formats(tokens):
        rewrite_casts(tokens, source.declarations, source.aliases, edits)


def _rewrite_spaces_in_types(source: Source, edits: Edits) -> None:
    """Rewrite address spaces to attributes of types, for overload resolution."""
    rewrite_member_functions(source, edits)
    rewrite_conditionals(source.tokens, edits)
    functions = (
        found.parameters for found in iterate_declarations(source.declarations) if found.parameters
    )
    rewrite_address_spaces(source.tokens, edits, (opening for opening, _ in functions))


def bind_signature(source: Source, name: str, constants: Mapping[str | int, Value]) -> Bindings:
    """Return the bindings of a kernel's parameters, without lowering it. Raise as `lower` does."""
    kernel = source.find_entry_point(name)
    reached = source.references.find_reachable(_find_roots(source, kernel))
    return bind_parameters(source, kernel, _format_constants(source, kernel, constants, reached))


def build_preamble(tokens: Tokens, own: Sequence[str] = ()) -> str:
    """Return the text before the user's source: the MSL headers and the macros that configure them.

    Few different preambles exist, so clang can precompile one for many sources. `own` lists names
    of the headers that the source defines too.
    """
    distributed = (
        "#define MB_MATRIX_DISTRIBUTED 1\n" if "thread_elements" in tokens.occurrences else ""
    )
    textures = "#include <mb/texture_entry.h>\n" if has_textures(tokens) else ""
    copies = "#include <mb/async_copy.h>\n" if has_asm_labels(tokens) else ""
    headers = f"#include <mb/prelude.h>\n#include <mb/absent.h>\n{textures}{copies}"
    headers = rename_in_headers(own, headers)
    return f'# 1 "<metalbench>"\n{define_swizzles(tokens)}{distributed}{headers}'


def has_textures(tokens: Tokens) -> bool:
    """Return whether a source uses textures or samplers. Their headers are included only then."""
    return "sampler" in tokens.occurrences or any(map(TEXTURE.fullmatch, tokens.occurrences))


def _find_roots(source: Source, kernel: EntryPoint) -> set[str]:
    """Return the names that the kernel mentions, and all operators: calls do not name them."""
    words = {kernel.primary.name} | {
        name for name in source.declarations_by_name if name[:8] == "operator"
    }
    for declaration in filter(None, (kernel.primary, kernel.instantiation)):
        found = source.tokens.text[declaration.first : declaration.last]
        words.update(filter(str.isidentifier, found))
    return words


def _format_constants(
    source: Source, kernel: EntryPoint, constants: Mapping[str | int, Value], reached: set[str]
) -> dict[str, str]:
    """Return the values of the function constants as C++ text."""
    values = resolve_constants(source.constants, constants, kernel.name)
    literals = {}
    for constant in source.constants:
        if constant.name in values:
            literals[constant.name] = format_literal(constant, values[constant.name], kernel.name)
        elif constant.name in reached and not constant.is_optional:
            raise CompileError(
                f"{constant.location}: error: [{kernel.name}] function constant {constant.name} "
                f"({constant.type}, index {constant.index}) has no value; "
                f"give one: constants={{{constant.name!r}: ...}}"
            )
    return literals


def _find_unsupported(source: Source, kernel: EntryPoint, reached: set[str]) -> list[Declaration]:
    """Return declarations that the cpu device does not support. Raise if the kernel needs one."""
    found = find_unsupported_declarations(source.tokens, source.declarations)
    removed = {declaration.first for declaration in found}
    for declaration in found:
        family = source.declarations_by_name.get(declaration.name, ())
        gone = all(overload.first in removed for overload in family)
        if declaration.name and declaration.name in reached and gone:
            refuse_declaration(source.tokens, declaration, kernel.name)
    return found


def _find_redundant_overloads(
    source: Source, reached: set[str], *, needed: bool
) -> tuple[list[Declaration], bool]:
    """Return overloads that equal another one, and whether address spaces have to stay.

    They stay where overloads differ only in them, and where they are `needed` otherwise.
    """
    dropped, collisions = merge_overloads(source.tokens, source.declarations)
    if not needed and not any(
        _is_reachable_collision(collision, reached) for collision in collisions
    ):
        return dropped, False
    dropped, collisions = merge_overloads(source.tokens, source.declarations, WITHOUT_ATTRIBUTE)
    for collision in collisions:
        if _is_reachable_collision(collision, reached):
            where = source.tokens.locate_token(collision.dropped.first)
            raise CompileError(
                f"{where}: error: {collision.dropped.name} has another body than the one at "
                f"{source.tokens.locate_token(collision.kept.first)}, and its parameters differ "
                "only by an address space that the cpu device cannot distinguish; give both the "
                "same body, or rename one of them"
            )
    return dropped + find_defaulted_members(source.tokens, source.declarations), True


def _is_reachable_collision(collision: Collision, reached: set[str]) -> bool:
    """Return whether reachable code may call one of two functions that collide."""
    found = collision.dropped
    # An operator is called through its record, not by its name.
    operator = found.in_record and found.name.startswith("operator")
    return (found.scope[-1].split("@")[0] if operator else found.name) in reached


def _find_unused_kernels(source: Source, reached: set[str]) -> list[Declaration]:
    """Return kernels that nothing reachable mentions: they take time, and may be unsupported."""
    tokens, found = source.tokens, []
    mentioned = set(reached)
    for declaration in source.declarations:
        if find_stage(tokens, declaration) != "kernel":
            mentioned.update(tokens.text[declaration.first : declaration.last])
        elif declaration.kind == "function" and declaration.name not in reached:
            found.append(declaration)
    return [declaration for declaration in found if declaration.name not in mentioned]


def _define_function_constants(source: Source, edits: Edits, literals: Mapping[str, str]) -> None:
    tokens = source.tokens
    texts: dict[int, list[str]] = {}
    for constant in source.constants:
        value = literals.get(constant.name, f"{constant.type}()")
        text = f"static constexpr {constant.type} {constant.name} = {value};"
        texts.setdefault(constant.declaration.first, []).append(text)
    for constant in source.constants:
        start = tokens.start[constant.declaration.first]
        end = tokens.end(constant.declaration.last - 1)
        text = " ".join(texts[constant.declaration.first])
        edits.replace(start, end, text + "\n" * tokens.source.count("\n", start, end))
    for index in tokens.occurrences.get("is_function_constant_defined", ()):
        if tokens.at(index + 1) == "(":
            defined = "true" if tokens.text[index + 2] in literals else "false"
            edits.replace(
                tokens.start[index], tokens.end(tokens.partner[index + 1]), f"({defined})"
            )


def _set_linkage(source: Source, edits: Edits, removed: set[int]) -> None:
    """Make kernels static and other functions inline, so that only entry points are emitted."""
    tokens = source.tokens
    for declaration in source.declarations:
        start = tokens.start[declaration.head]
        if declaration.first in removed:
            continue
        if declaration.kind == "instantiation":
            edits.blank(tokens.start[declaration.first], tokens.end(declaration.last - 1))
        elif find_stage(tokens, declaration) == "kernel":
            # A specialisation has the linkage of its template.
            edits.insert(
                start, _ALWAYS_INLINE if declaration.template == [] else "static " + _ALWAYS_INLINE
            )
        elif declaration.kind == "function" and declaration.body and not declaration.template:
            head = tokens.text[declaration.head : declaration.name_index]
            if not _LINKAGE.intersection(head):
                edits.insert(start, "inline ")
