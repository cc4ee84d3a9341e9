"""MSL to C++: address spaces erased, one kernel kept, its entry points added at the end.

Address spaces stay where the kernel reaches overloads that differ by nothing else (overloads.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metalbench._core import CompileError
from metalbench.msl.reading.collectives import needs_fibers
from metalbench.msl.reading.constants import Value, literal, resolve
from metalbench.msl.reading.declarations import Declaration, every
from metalbench.msl.reading.parameters import TEXTURE
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import Kernel, stage_of
from metalbench.msl.reading.tokens import Tokens
from metalbench.msl.rewriting.bindings import Bindings, bind, max_threads
from metalbench.msl.rewriting.casts import mixes_half_formats, rewrite_casts
from metalbench.msl.rewriting.conditionals import rewrite_conditionals
from metalbench.msl.rewriting.edits import Code, Edits
from metalbench.msl.rewriting.entry import name_kernel
from metalbench.msl.rewriting.keywords import rewrite_keywords, swizzle_macros
from metalbench.msl.rewriting.labels import has_labels, rewrite_labels
from metalbench.msl.rewriting.leaving import mark_leaving
from metalbench.msl.rewriting.literals import refuse_double
from metalbench.msl.rewriting.objects import defaulted, rewrite_objects
from metalbench.msl.rewriting.overloads import Collision, constructor_qualifiers, merge
from metalbench.msl.rewriting.own_names import own_names, renamed
from metalbench.msl.rewriting.spaces import WITHOUT_ATTRIBUTE, rewrite_spaces
from metalbench.msl.rewriting.threadgroup import Threadgroup
from metalbench.msl.rewriting.unsupported import refuse, unsupported_declarations

_ALWAYS_INLINE = "inline __attribute__((always_inline)) "
_LINKAGE = frozenset({"inline", "static", "constexpr", "extern", "METAL_FUNC", "friend", "typedef"})


@dataclass(frozen=True)
class Lowered:
    """C++ text for clang, and what reflection says about the kernel.

    With `spaces` it has address spaces, and is to be compiled so. With `any_order` it knows no
    atomics, so that no threadgroup can wait for another.
    """

    code: Code
    kernel: Kernel
    bindings: Bindings
    max_threads: int
    needs_fibers: bool
    spaces: bool
    any_order: bool


def lower(source: Source, name: str, constants: Mapping[str | int, Value]) -> Lowered:
    """C++ of one kernel, `name`, with these function constants (by name or index).

    Raises CompileError or Unsupported, naming the line of the user's own file.
    """
    refuse_double(source.tokens)
    kernel = source.kernel(name)
    reached = reached_by(source, kernel)
    literals = _literals(source, kernel, constants, reached)
    bindings = bind(source, kernel, literals)
    edits, (scope,), spaces = edited(source, [kernel], reached, literals)
    fibers = needs_fibers(source.tokens, source.by_name, reached)
    limit_text, limit = max_threads(source, kernel)
    entry = ", ".join(["mb_entry_function", str(int(fibers)), f"({limit_text})", *bindings.macros])
    code = code_of(source, edits, f"{scope}MB_KERNEL({entry})\n")
    return Lowered(code, kernel, bindings, limit, fibers, spaces, is_any_order(reached))


def reached_by(source: Source, kernel: Kernel) -> set[str]:
    """The names that a kernel mentions, and those that these do."""
    return source.references.reached(_roots(source, kernel))


def is_any_order(reached: set[str]) -> bool:
    """Whether what is reached lets no threadgroup wait for another."""
    return not any("atomic" in name for name in reached)


def edited(
    source: Source, kernels: Sequence[Kernel], reached: set[str], literals: Mapping[str, str]
) -> tuple[Edits, list[str], bool]:
    """The source with these kernels alone, what names each, and whether spaces are kept."""
    tokens = source.tokens
    edits = Edits(tokens.source)
    unused = _other_kernels(source, reached)
    for kernel in kernels:
        unused += _unsupported(source, kernel, reached)
    threadgroup = Threadgroup(tokens, unused)
    removed, spaces = _redundant(source, reached, needed=threadgroup.needs_spaces)
    removed += unused
    for declaration in {each.first: each for each in removed}.values():
        edits.blank(tokens.start[declaration.first], tokens.end(declaration.last - 1))
    _function_constants(source, edits, literals)
    scopes = [name_kernel(source, edits, kernel, spaces=spaces) for kernel in kernels]
    _linkage(source, edits, {declaration.first for declaration in removed})
    for index in constructor_qualifiers(tokens, source.declared):
        edits.blank(tokens.start[index], tokens.end(index))
    threadgroup.rewrite(edits)
    _rewrite(source, edits, spaces=spaces)
    return edits, scopes, spaces


def code_of(source: Source, edits: Edits, entries: str) -> Code:
    """The whole text: headers, the source as it is edited, and the entry points."""
    opening = prologue(source.tokens, own_names(source))
    labels = "#include <mb/async_copy_labels.h>\n" if has_labels(source.tokens) else ""
    text = f'{opening}{edits.apply()}\n# 1 "<metalbench>"\n{labels}{entries}'
    return Code(text, edits, len(opening))


def _rewrite(source: Source, edits: Edits, *, spaces: bool) -> None:
    """What MSL has and C++ has not, wherever it stands."""
    tokens = source.tokens
    if spaces:
        _keep_spaces(source, edits)
    rewrite_keywords(tokens, edits)
    rewrite_labels(tokens, edits)
    mark_leaving(tokens, source.references, edits)
    if mixes_half_formats(tokens):
        rewrite_casts(tokens, source.declared, source.aliases, edits)


def _keep_spaces(source: Source, edits: Edits) -> None:
    """Let address spaces be part of types, where they decide what is called."""
    rewrite_objects(source, edits)
    rewrite_conditionals(source.tokens, edits)
    functions = (found.parameters for found in every(source.declared) if found.parameters)
    rewrite_spaces(source.tokens, edits, (opening for opening, _ in functions))


def signature(source: Source, name: str, constants: Mapping[str | int, Value]) -> Bindings:
    """What the parameters of one kernel are bound to, without lowering it; raises as `lower`."""
    kernel = source.kernel(name)
    reached = source.references.reached(_roots(source, kernel))
    return bind(source, kernel, _literals(source, kernel, constants, reached))


def prologue(tokens: Tokens, own: Sequence[str] = ()) -> str:
    """What precedes every source: the MSL headers, set up for what it mentions.

    Few of these texts are, so that clang may parse them once for many sources. `own` are names of
    the headers that the source defines itself.
    """
    distributed = "#define MB_MATRIX_DISTRIBUTED 1\n" if "thread_elements" in tokens.places else ""
    textures = "#include <mb/texture_entry.h>\n" if has_textures(tokens) else ""
    copies = "#include <mb/async_copy.h>\n" if has_labels(tokens) else ""
    headers = f"#include <mb/prelude.h>\n#include <mb/absent.h>\n{textures}{copies}"
    return f'# 1 "<metalbench>"\n{swizzle_macros(tokens)}{distributed}{renamed(own, headers)}'


def has_textures(tokens: Tokens) -> bool:
    """Whether a source mentions textures or samplers, whose headers others do without."""
    return "sampler" in tokens.places or any(map(TEXTURE.fullmatch, tokens.places))


def _roots(source: Source, kernel: Kernel) -> set[str]:
    """Names that the kernel itself mentions, and operators, which nobody calls by name."""
    words = {kernel.primary.name} | {name for name in source.by_name if name[:8] == "operator"}
    for declaration in filter(None, (kernel.primary, kernel.instantiation)):
        found = source.tokens.text[declaration.first : declaration.last]
        words.update(filter(str.isidentifier, found))
    return words


def _literals(
    source: Source, kernel: Kernel, constants: Mapping[str | int, Value], reached: set[str]
) -> dict[str, str]:
    """The function constants' values as C++ text."""
    values = resolve(source.constants, constants, kernel.name)
    literals = {}
    for constant in source.constants:
        if constant.name in values:
            literals[constant.name] = literal(constant, values[constant.name], kernel.name)
        elif constant.name in reached and not constant.optional:
            raise CompileError(
                f"{constant.where}: error: [{kernel.name}] function constant {constant.name} "
                f"({constant.type}, index {constant.index}) has no value; "
                f"give one: constants={{{constant.name!r}: ...}}"
            )
    return literals


def _unsupported(source: Source, kernel: Kernel, reached: set[str]) -> list[Declaration]:
    """Declarations that the cpu device has no use for; an error if the kernel has."""
    found = unsupported_declarations(source.tokens, source.declared)
    removed = {declaration.first for declaration in found}
    for declaration in found:
        family = source.by_name.get(declaration.name, ())
        gone = all(overload.first in removed for overload in family)
        if declaration.name and declaration.name in reached and gone:
            refuse(source.tokens, declaration, kernel.name)
    return found


def _redundant(
    source: Source, reached: set[str], *, needed: bool
) -> tuple[list[Declaration], bool]:
    """Overloads that another one stands for, and whether address spaces have to stay.

    They have to where overloads differ by nothing else, and where they are `needed` anyway.
    """
    dropped, collisions = merge(source.tokens, source.declared)
    if not needed and not any(_matters(collision, reached) for collision in collisions):
        return dropped, False
    dropped, collisions = merge(source.tokens, source.declared, WITHOUT_ATTRIBUTE)
    for collision in collisions:
        if _matters(collision, reached):
            where = source.tokens.where(collision.dropped.first)
            raise CompileError(
                f"{where}: error: {collision.dropped.name} differs from the one at "
                f"{source.tokens.where(collision.kept.first)} only by an address space that the "
                "cpu device cannot tell there, but not in what it does; make them one, or give one "
                "of them another name"
            )
    return dropped + defaulted(source.tokens, source.declared), True


def _matters(collision: Collision, reached: set[str]) -> bool:
    """Whether code that is reached may call one of two functions that collide."""
    found = collision.dropped
    # Nobody calls an operator by its name.
    operator = found.in_record and found.name.startswith("operator")
    return (found.scope[-1].split("@")[0] if operator else found.name) in reached


def _other_kernels(source: Source, reached: set[str]) -> list[Declaration]:
    """Kernels that nothing here mentions: they cost time, and may need what there is not."""
    tokens, found = source.tokens, []
    mentioned = set(reached)
    for declaration in source.declared:
        if stage_of(tokens, declaration) != "kernel":
            mentioned.update(tokens.text[declaration.first : declaration.last])
        elif declaration.kind == "function" and declaration.name not in reached:
            found.append(declaration)
    return [declaration for declaration in found if declaration.name not in mentioned]


def _function_constants(source: Source, edits: Edits, literals: Mapping[str, str]) -> None:
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
    for index in tokens.places.get("is_function_constant_defined", ()):
        if tokens.at(index + 1) == "(":
            defined = "true" if tokens.text[index + 2] in literals else "false"
            edits.replace(
                tokens.start[index], tokens.end(tokens.partner[index + 1]), f"({defined})"
            )


def _linkage(source: Source, edits: Edits, removed: set[int]) -> None:
    """Nothing but the entry points is emitted: kernels are static, other functions inline."""
    tokens = source.tokens
    for declaration in source.declared:
        start = tokens.start[declaration.head]
        if declaration.first in removed:
            continue
        if declaration.kind == "instantiation":
            edits.blank(tokens.start[declaration.first], tokens.end(declaration.last - 1))
        elif stage_of(tokens, declaration) == "kernel":
            # A specialisation takes its linkage from the template.
            edits.insert(
                start, _ALWAYS_INLINE if declaration.template == [] else "static " + _ALWAYS_INLINE
            )
        elif declaration.kind == "function" and declaration.body and not declaration.template:
            head = tokens.text[declaration.head : declaration.name_index]
            if not _LINKAGE.intersection(head):
                edits.insert(start, "inline ")
