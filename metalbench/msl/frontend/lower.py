"""Rewrite a kernel to C++ for clang, in place, so that lines stay where they are.

Sources define names that only later versions of Metal have. While the MSL headers are parsed,
macros rename these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from metalbench._core import CompileError
from metalbench.msl.frontend.address_spaces import (
    WITHOUT_ATTRIBUTE,
    Collision,
    find_constructor_qualifiers,
    find_defaulted_members,
    merge_overloads,
    rewrite_address_spaces,
    rewrite_conditionals,
    rewrite_member_functions,
)
from metalbench.msl.frontend.bindings import Bindings, bind_parameters, read_max_threads
from metalbench.msl.frontend.constants import Value, format_literal, resolve_constants
from metalbench.msl.frontend.declarations import Declaration, iterate_declarations
from metalbench.msl.frontend.edits import Edits, TranslationUnit
from metalbench.msl.frontend.loop_exits import mark_loop_exits
from metalbench.msl.frontend.reflection import TEXTURE, EntryPoint, find_stage
from metalbench.msl.frontend.source import Source, requires_fibers
from metalbench.msl.frontend.standards import DEFAULT_STANDARD, STANDARDS, TENSORS_SINCE
from metalbench.msl.frontend.threadgroup_variables import ThreadgroupVariables
from metalbench.msl.frontend.token_rewrites import (
    define_swizzles,
    has_asm_labels,
    has_both_half_formats,
    refuse_double,
    rewrite_asm_labels,
    rewrite_casts,
    rewrite_keywords,
)
from metalbench.msl.frontend.tokens import Tokens, is_name, lex
from metalbench.msl.frontend.unsupported import refuse_declaration


def find_metal_names(source: Source) -> list[str]:
    """Return the variables, types and enumerators that the source defines in namespace `metal`.

    Specialisations and functions are not included, because they add to those of the headers. Names
    that the source also uses for members are not included: they may be members of the headers'
    types.
    """
    tokens = source.tokens
    found = [name for each in source.declarations for name in _find_defined_names(tokens, each)]
    members = {
        name
        for name in found
        if any(tokens.text[index - 1] in (".", "->") for index in tokens.occurrences[name])
    }
    return sorted(set(found) - members)


def rename_in_headers(names: Sequence[str], includes: str) -> str:
    """Return includes of headers, between macros that rename these names in them."""
    before = "".join(f"#define {name} mb_headers_{name}\n" for name in names)
    behind = "".join(f"#undef {name}\n" for name in names)
    return f"{before}{includes}{behind}"


def _find_defined_names(tokens: Tokens, declaration: Declaration) -> Iterable[str]:
    if declaration.scope != ("metal",) or declaration.specialisation_arguments:
        return []
    words = tokens.text[declaration.head : declaration.last]
    if declaration.kind == "alias":
        if words[0] == "using" and words[2:3] == ["="]:
            return [words[1]]
        return [words[-2]] if words[0] == "typedef" and is_name(words[-2]) else []
    if declaration.kind == "variable":
        return [declaration.name] if declaration.name and words[0] != "extern" else []
    if declaration.kind == "record" and declaration.name:
        scoped = words[:2] in (["enum", "class"], ["enum", "struct"])
        listed = (
            _find_enumerator_names(tokens, declaration) if words[0] == "enum" and not scoped else ()
        )
        return [declaration.name, *listed]
    return []


def _find_enumerator_names(tokens: Tokens, declaration: Declaration) -> Iterator[str]:
    assert declaration.body is not None
    opening, closing = declaration.body
    for first, _ in tokens.split(opening + 1, closing):
        yield tokens.text[first]


# Declare an unambiguous name for a kernel, without commas, for the macro of its entry points.

_FUNCTION = "mb_kernel_function"


def name_entry_point(source: Source, edits: Edits, kernel: EntryPoint, *, spaces: bool) -> str:
    """Declare a name for the kernel; return the text that refers to it at global scope."""
    tokens = source.tokens
    if kernel.instantiation is None:
        if not _is_overloaded(source, kernel.primary):
            return f"static constexpr auto& mb_entry_function = {kernel.expression};\n"
        assert kernel.primary.parameters is not None
        text = _declare_reference(kernel, kernel.primary.parameters[0], spaces=spaces)
        edits.insert(tokens.end(kernel.primary.last - 1), f" {text}")
        return _declare_at_global_scope(kernel.primary)
    declaration = kernel.instantiation
    text = _declare_reference(kernel, kernel.signature, spaces=spaces)
    start, end = tokens.start[declaration.first], tokens.end(declaration.last - 1)
    edits.replace(start, end, text)
    return _declare_at_global_scope(declaration)


def _is_overloaded(source: Source, function: Declaration) -> bool:
    """Return whether another function of its scope has the same name."""
    return any(
        each is not function and each.kind == "function" and each.scope == function.scope
        for each in source.declarations_by_name[function.name]
    )


def _declare_reference(kernel: EntryPoint, signature: int | None, *, spaces: bool) -> str:
    """Return a declaration of a reference to the kernel; `signature` opens its parameter list."""
    target = f"auto& {_FUNCTION}"
    if signature is not None:
        tokens = kernel.tokens
        parameters = tokens.join(signature, tokens.partner[signature] + 1)
        target = f"void (&{_FUNCTION}){_rewrite_text(parameters, spaces=spaces)}"
    return f"static constexpr {target} = {_rewrite_text(kernel.expression, spaces=spaces)};"


def _declare_at_global_scope(declaration: Declaration) -> str:
    scope = "".join(f"::{name}" for name in declaration.scope)
    return f"static constexpr auto& mb_entry_function = {scope}::{_FUNCTION};\n"


def _rewrite_text(text: str, *, spaces: bool) -> str:
    """Return a name or a parameter list as C++."""
    tokens = lex(text)
    edits = Edits(text)
    if spaces:
        rewrite_address_spaces(tokens, edits, [0] if text.startswith("(") else [])
    rewrite_keywords(tokens, edits)
    rewrite_asm_labels(tokens, edits)
    return edits.apply().replace("\n", " ")


# Lower one kernel from MSL to C++: erase address spaces, keep one kernel, add its entry points.
#
# Address spaces stay if the kernel can reach overloads that differ only in them (overloads.py).

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
    if not source.allows_double:
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
        unused += _find_unsupported(source, kernel)
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
    opening = build_preamble(
        source.tokens,
        find_metal_names(source),
        version=source.version,
        tensor_layout=source.tensor_layout,
    )
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


_METAL4_LINE = "#define MB_METAL4 1\n"
# Names that only sources with tensors have. Their headers are included only then.
_TENSOR_NAMES = frozenset(
    """
    cooperative_tensor dextents execution_simdgroup execution_simdgroups execution_thread
    execution_threads extents int4b_format mpp tensor tensor_handle tensor_inline uint4b_format
    """.split()  # noqa: SIM905
)


def is_metal4(text: str) -> bool:
    """Return whether a lowered text is of Metal 4, which needs other compiler flags."""
    return text.find(_METAL4_LINE, 0, 200) >= 0


def uses_tensors(tokens: Tokens) -> bool:
    """Return whether a source of Metal 4 names tensors or includes their headers."""
    names = not _TENSOR_NAMES.isdisjoint(tokens.occurrences)
    return names or any("/empty_metal4/" in file for file in tokens.files)


def build_preamble(
    tokens: Tokens,
    own: Sequence[str] = (),
    *,
    version: int = STANDARDS[DEFAULT_STANDARD],
    tensor_layout: int = 0,
) -> str:
    """Return the text before the user's source: the MSL headers and the macros that configure them.

    Few different preambles exist, so clang can precompile one for many sources. `own` lists names
    of the headers that the source defines too. `version` is the value of __METAL_VERSION__, and
    `tensor_layout` the number of the layout of cooperative tensors.
    """
    distributed = (
        "#define MB_MATRIX_DISTRIBUTED 1\n" if "thread_elements" in tokens.occurrences else ""
    )
    textures = "#include <mb/texture_entry.h>\n" if has_textures(tokens) else ""
    copies = "#include <mb/async_copy.h>\n" if has_asm_labels(tokens) else ""
    names = "#include <mb/simd_names.h>\n" if _includes_simd(tokens) else ""
    metal4 = tensors = ""
    if version >= TENSORS_SINCE:
        metal4 = _METAL4_LINE
        if uses_tensors(tokens):
            layout = f"#define MB_TENSOR_LAYOUT {tensor_layout}\n" if tensor_layout else ""
            tensors = f"{layout}#include <mb/metal4.h>\n"
    includes = f"{textures}{copies}{names}{tensors}"
    headers = f"#include <mb/prelude.h>\n#include <mb/absent.h>\n{includes}"
    headers = rename_in_headers(own, headers)
    return f'# 1 "<metalbench>"\n{metal4}{define_swizzles(tokens)}{distributed}{headers}'


def _includes_simd(tokens: Tokens) -> bool:
    """Return whether a source includes <simd/simd.h> or another empty header of that folder."""
    return any("/empty/simd/" in file for file in tokens.files)


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


def _find_unsupported(source: Source, kernel: EntryPoint) -> list[Declaration]:
    """Return declarations that the cpu device does not support. Raise if the kernel needs one."""
    if not source.unsupported:
        return []
    removed = {declaration.first for declaration, _ in source.unsupported}
    reached = source.supported_references.find_reachable(_find_roots(source, kernel))
    for declaration, cause in source.unsupported:
        family = source.declarations_by_name.get(declaration.name, ())
        gone = all(overload.first in removed for overload in family)
        if declaration.name and declaration.name in reached and gone:
            refuse_declaration(source.tokens, cause, kernel.name)
    return [declaration for declaration, _ in source.unsupported]


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


# Lower several kernels of a source to one translation unit, so that clang parses it once.


@dataclass(frozen=True)
class BatchedKernel:
    """One kernel of a batch. The names of its entry points end in `entry_name`.

    `entry` is the macro call for a text with this kernel alone.
    """

    kernel: EntryPoint
    entry_name: str
    bindings: Bindings
    max_threads: int
    any_order: bool
    entry: str


@dataclass(frozen=True)
class LoweredBatch:
    """C++ text for clang with the entry points of all `kernels`, which begin at offset `end`."""

    code: TranslationUnit
    kernels: list[BatchedKernel]
    end: int

    def separate_text(self, one: BatchedKernel) -> str:
        """Return the text with the entry points of one kernel, as `lower` returns it."""
        return f"{self.code.text[: self.end]}{one.entry}"


def find_batch_kind(source: Source, name: str) -> bool | None:
    """Return whether the threads of a kernel synchronise; None if it cannot be part of a batch.

    A kernel in a batch has no function constants, no overloads and no template arguments. If its
    threads do not synchronise, it also has no threadgroup variables, because these would be shared
    by all kernels of the module. Raise CompileError for an unknown kernel.
    """
    kernel = source.find_entry_point(name)
    if kernel.instantiation or source.constants:
        return None
    overloads = [
        each for each in source.declarations_by_name[kernel.primary.name] if each.kind == "function"
    ]
    if len(overloads) != 1:
        return None
    reached = find_reachable_names(source, kernel)
    if requires_fibers(source.tokens, source.declarations_by_name, reached):
        return True
    return None if _uses_threadgroup_memory(source, reached) else False


def _uses_threadgroup_memory(source: Source, reached: set[str]) -> bool:
    """Return whether reachable declarations mention `threadgroup`."""
    places = source.tokens.occurrences.get("threadgroup", ())
    return any(
        each.name in reached and any(each.first <= place < each.last for place in places)
        for each in source.declarations
    )


def lower_many(
    source: Source, names: Sequence[str], *, synchronise: bool = False
) -> LoweredBatch | None:
    """Lower kernels that all `synchronise`, or none; return None if they need address spaces.

    All must be allowed by `find_batch_kind`. Raise as `lower` does.
    """
    if not source.allows_double:
        refuse_double(source.tokens)
    kernels = [source.find_entry_point(name) for name in names]
    reached = {kernel.name: find_reachable_names(source, kernel) for kernel in kernels}
    edits, _, spaces = rewrite_source(source, kernels, set().union(*reached.values()), {})
    if spaces:
        return None
    found, entries = [], []
    for number, kernel in enumerate(kernels):
        bindings = bind_parameters(source, kernel, {})
        text, limit = read_max_threads(source, kernel)
        entry_name, any_order = f"_{number}", can_run_in_any_order(reached[kernel.name])
        rest = ", ".join([f"({text})", *bindings.macros])
        entries.append(f"MB_ONE_OF_MANY({entry_name}, {kernel.expression}, {rest})\n")
        entry = f"MB_KERNEL({kernel.expression}, {int(synchronise)}, {rest})\n"
        found.append(BatchedKernel(kernel, entry_name, bindings, limit, any_order, entry))
    if synchronise:
        entries.append("MB_OF_ALL\n")
    code = build_translation_unit(source, edits, "".join(entries))
    return LoweredBatch(code, found, len(code.text) - sum(map(len, entries)))
