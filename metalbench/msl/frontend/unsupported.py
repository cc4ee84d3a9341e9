"""Refuse C++ that Metal does not have, by name and line, before clang compiles the source.

The `cpu` device runs kernels as native code, so an extension of clang beyond Metal could
circumvent the checks of results. This module refuses what has a name in the source. What has no
name, such as a call through a pointer, is found in the LLVM IR and in the object file
(toolchain/host_calls.py, toolchain/symbols.py).

References
----------
Metal Shading Language Specification 3.2, 1.5 (C++ features that Metal does not have) and 4.2
(program scope).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence, Set

from metalbench._core import CompileError, Unsupported
from metalbench.msl.frontend.declarations import Declaration, find_declared_names
from metalbench.msl.frontend.foreign_names import describe_foreign_name
from metalbench.msl.frontend.reflection import OTHER_STAGES, find_stage
from metalbench.msl.frontend.tokens import Location, Tokens, is_name

# AIR intrinsics that sources declare by an asm label and that the `cpu` device implements. The
# pattern matches a whole string literal, such as "air.simdgroup_async_copy_2d.p3i8.p1i8".
LABEL = re.compile(
    r'"(?:\\1|\\01|\\001)?air\.(?:simdgroup_(async_copy_[12]d)[\w.]*|(wait_simdgroup_events))"'
)
ASSEMBLY = ("asm", "__asm", "__asm__")
_ASSEMBLY = "illegal asm statement; inline assembly"
_WORDS = {
    **dict.fromkeys(ASSEMBLY, _ASSEMBLY),
    "thread_local": "'thread_local' is not supported in Metal; thread-local variables",
    "_Thread_local": "thread-local variables",
    "__thread": "thread-local variables",
    "new": "'new' is not supported in Metal; `new`",
    "delete": "'delete' is not supported in Metal; `delete`",
    "try": "'try' is not supported in Metal; exceptions",
    "catch": "exceptions",
    "throw": "'throw' is not supported in Metal; exceptions",
    "typeid": "type identification",
    "dynamic_cast": "'dynamic_cast' is not supported in Metal; dynamic_cast",
    "virtual": "virtual member functions are not supported in Metal; virtual functions",
    "__declspec": "__declspec",
}
# Attributes without effects beyond optimisation, layout and warnings.
_ATTRIBUTES = frozenset(
    """
    aligned always_inline annotate cold const convergent deprecated diagnose_if
    enable_if ext_vector_type fallthrough flatten hot likely
    may_alias maybe_unused no_unroll noduplicate noescape noinline nonnull noreturn nothrow
    opencl_unroll_hint overloadable packed
    pure returns_nonnull unavailable unlikely unused vector_size warn_unused_result
    """.split()  # noqa: SIM905
)
# Attributes of the code's emission, which have no meaning for a single kernel, and of editors. The
# rewriter erases them.
ERASED_ATTRIBUTES = frozenset(
    """
    availability enum_extensibility flag_enum internal_linkage max_total_threads_per_threadgroup
    minsize nodebug optnone optsize swift_name used visibility
    """.split()  # noqa: SIM905
)
ATTRIBUTE_SPELLINGS = frozenset({"__attribute__", "__attribute"})
_SCOPES = frozenset({"clang", "_Clang", "gnu", "__gnu__", "msvc"})
_BUILTIN = re.compile(
    r"__builtin_(?:(?:clz|ctz|popcount|parity|ffs|clrsb|bswap|bitreverse|rotateleft|rotateright)"
    r"\w*|expect\w*|assume\w*|unreachable|constant_p|is_constant_evaluated|convertvector"
    r"|shufflevector|bit_cast|offsetof|choose_expr|types_compatible_p|mem(?:cpy|move|set)(?:_inline)?"
    r"|(?:nan|inf|huge_val|isnan|isinf\w*|isfinite|isnormal|signbit|fpclassify|fabs|fmin|fmax"
    r"|copysign|floor|ceil|trunc|rint|nearbyint|round|roundeven|sqrt|fma)(?:f|f16)?"
    r"|(?:elementwise|reduce)_\w+|nontemporal_(?:load|store)|prefetch"
    r"|\w*(?:add|sub|mul)c?(?:l|ll)?_overflow|addressof|launder|assoc_barrier)"
)
# Reserved identifiers of C++ (two underscores, or one and a capital letter) that both clang and
# Metal define. A source may define all reserved identifiers that clang does not know.
_METAL_RESERVED = re.compile(
    r"__(?:attribute|extension|typeof|alignof|restrict|inline|const|volatile|signed)(?:__)?"
    r"|__(?:func__|FUNCTION__|PRETTY_FUNCTION__|null|label__|fp16|bf16|decltype|nullptr)"
    # Type traits, which the standard's type_traits is written with.
    r"|__(?:is|has|remove|add|make|reference)_[a-z_]+|__(?:u?int128(?:_t)?|underlying_type|decay)"
    r"|__(?:array_rank|array_extent|type_pack_element|integer_pack|arithmetic_fence|auto_type)"
    r"|_(?:Static_assert|Alignas|Alignof|Bool|Noreturn|Float16|Generic|Pragma|Nonnull|Nullable)"
    r"|_Null_unspecified"
    # Refused as assembly, thread-local variables and __declspec, in those words.
    r"|__(?:asm|asm__|thread|declspec)|_Thread_local|__builtin_\w+"
)
# Names that could be confused with mangled names of the rewriter's variables, with section bounds
# that a linker defines, or with the runtime functions of clang's sanitizers.
_RESERVED_BY_COMPILER = re.compile(
    r"\w*\dmb_(?:storage|part)_\w*|__(?:start|stop)_\w*|_Z\w*"
    r"|__(?:asan|msan|tsan|ubsan|sanitizer|sancov)_\w*|__truncsfbf2"
)
# Encoding prefix of a string literal, which the lexer may have split off as a token.
_ENCODING = re.compile(r"(?:u8|[uUL])?R?")
_PRAGMA = re.compile(r"^([ \t]*#[ \t]*pragma\b)[ \t]*(.*)$", re.M)
_FULL_UNROLLING = re.compile(r"^([ \t]*#[ \t]*pragma[ \t]+)unroll[ \t]*\([ \t]*full[ \t]*\)", re.M)
_PRAGMAS = re.compile(
    r"(?:unroll|nounroll|METAL|once|mark|pack|STDC|message|push_macro|pop_macro"
    r"|clang[ \t]+(?:loop|fp|diagnostic|optimize)|GCC[ \t]+diagnostic)\b.*|"
)
_HOST_PRAGMAS = re.compile(
    r"(?:clang|GCC|comment|weak|redefine_extname|\w*section|\w+_seg|detect_mismatch|include_alias"
    r"|export|intrinsic|OPENCL|ms_struct|vtordisp)\b.*"
)


# The end of each refusal's message. It distinguishes refusals from errors of the compiler.
REFUSAL_SUFFIX = "a kernel may have what Metal has, and no more"


def blank_unknown_pragmas(expanded: str) -> str:
    """Return the source with unknown pragmas blanked, as Metal's compiler ignores them.

    Pragmas that have an effect on host code stay, and are refused later. `unroll(full)` is one of
    Metal's that clang has in another form.
    """
    expanded = _FULL_UNROLLING.sub(r"\1clang loop unroll(full)", expanded)

    def blank_unknown(pragma: re.Match[str]) -> str:
        what = pragma[2].strip()
        known = _PRAGMAS.fullmatch(what) or _HOST_PRAGMAS.fullmatch(what)
        return pragma[0] if known else " " * len(pragma[0])

    return _PRAGMA.sub(blank_unknown, expanded)


def refuse_stray_text(tokens: Tokens) -> None:
    """Raise CompileError for text that cannot occur in a preprocessed valid source."""
    for offset in tokens.stray:
        what = tokens.source[offset : offset + 2].strip()
        raise make_host_code_error(tokens.locate(offset), f"stray `{what}`")


def refuse_host_code(
    tokens: Tokens,
    reserved: re.Pattern[str],
    compiler_words: Callable[[frozenset[str]], Set[str]],
) -> None:
    """Raise CompileError for the first construct of a source that Metal does not have.

    `reserved` matches the names that the MSL headers reserve. `compiler_words` returns those of
    some identifiers that clang knows.
    """
    found = min(_find_host_code(tokens, reserved, compiler_words), default=None)
    if found is not None:
        offset, what = found
        # A name of CUDA or OpenCL that clang knows is a mistake, not host code.
        if message := describe_foreign_name(what):
            raise CompileError(f"{tokens.locate(offset)}: error: {message}")
        raise make_host_code_error(tokens.locate(offset), what)


def make_host_code_error(where: Location | str, what: str) -> CompileError:
    """Return the error for a construct that Metal does not have."""
    return CompileError(f"{where}: error: {what}: {REFUSAL_SUFFIX}")


def _find_host_code(
    tokens: Tokens,
    reserved: re.Pattern[str],
    compiler_words: Callable[[frozenset[str]], Set[str]],
) -> Iterator[tuple[int, str]]:
    """Yield the offset and the name of every construct that Metal does not have."""
    strange = frozenset(
        word
        for word in tokens.occurrences
        if word[0] == "_" and _is_reserved(word) and not _METAL_RESERVED.fullmatch(word)
    )
    for word in compiler_words(strange) if strange else ():
        yield tokens.start[tokens.occurrences[word][0]], word
    for word, places in tokens.occurrences.items():
        if word in _WORDS:
            indices, what = [each for each in places if _is_keyword(tokens, each)], _WORDS[word]
        elif word.startswith("__builtin_"):
            indices, what = ([] if _BUILTIN.fullmatch(word) else places), word
        elif word[:3] in ("mb_", "MB_") and reserved.fullmatch(word):
            indices, what = places, f"{word}, a name of the engine's own"
        elif (word[0] == "_" or "mb_" in word) and _RESERVED_BY_COMPILER.fullmatch(word):
            indices, what = places, f"{word}, a name of the compiler's own"
        else:
            continue
        if indices:
            yield tokens.start[indices[0]], what
    yield from _find_engine_namespace(tokens)
    yield from _find_linkages(tokens)
    yield from _find_computed_gotos(tokens)
    for index, name in _find_compiler_attributes(tokens):
        if name.strip("_") not in _ATTRIBUTES | ERASED_ATTRIBUTES:
            yield tokens.start[index], f"attribute `{name}`"
    for pragma in _PRAGMA.finditer(tokens.source):
        what = pragma[2].strip()
        if _HOST_PRAGMAS.fullmatch(what) and not _PRAGMAS.fullmatch(what):
            yield pragma.start(), f"`#pragma {what}`"


def _is_keyword(tokens: Tokens, index: int) -> bool:
    """Return whether a word has its C++ meaning here: not `= delete`, not an asm label."""
    word, before = tokens.text[index], tokens.text[index - 1] if index else ""
    if word == "delete":
        return before != "="
    if _WORDS[word] is _ASSEMBLY:
        return not is_asm_label(tokens, index)
    return True


def _find_engine_namespace(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield uses of the engine's namespace `mb`. A variable may have the same name.

    C++ names a namespace before `::`, and in a declaration that begins with `namespace` or `using
    namespace`: nowhere else.
    """
    places = tokens.occurrences.get("mb", ())
    named = _find_namespace_names(tokens) if places else set()
    for index in places:
        if index in named or tokens.at(index + 1) == "::":
            yield tokens.start[index], "namespace mb, which is the engine's own"


def _find_namespace_names(tokens: Tokens) -> set[int]:
    """Return the tokens between each keyword `namespace` and the end of its declaration.

    Attributes there may contain any tokens, in brackets.
    """
    found: set[int] = set()
    for index in tokens.occurrences.get("namespace", ()):
        at = index + 1
        while at < len(tokens) and tokens.text[at] not in ("{", "}", ";", "namespace"):
            found.add(at)
            at = max(tokens.partner[at], at) + 1
    return found


def is_asm_label(tokens: Tokens, index: int) -> bool:
    """Return whether `asm` at `index` is the label of a declared AIR intrinsic.

    That is `name(parameters) asm("air...");` at program scope, with one plain string literal.
    """
    text, partner = tokens.text, tokens.partner
    declared = index > 1 and text[index - 1] == ")" and text[index + 1 : index + 2] == ["("]
    if not (declared and LABEL.fullmatch(tokens.at(index + 2))):
        return False
    opening = partner[index - 1]
    return (
        tokens.at(index + 3) == ")"
        and tokens.at(index + 4) == ";"
        and opening > 0
        and is_name(text[opening - 1])
    )


def _is_reserved(word: str) -> bool:
    """Return whether C++ reserves a name that begins with an underscore."""
    return word[1:2] == "_" or word[1:2].isupper()


def _find_linkages(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield `extern` with a string, except `extern "C"` in front of a kernel.

    A kernel is renamed, so its linkage has no effect.
    """
    for index in tokens.occurrences.get("extern", ()):
        literal = _read_string(tokens, index + 1)
        if not literal:
            continue
        stop = index
        while stop < len(tokens) and tokens.text[stop] not in "({;":
            stop += 1
        if literal != '"C"' or "kernel" not in tokens.text[index + 2 : stop]:
            yield tokens.start[index], f"`extern {literal}`"


def _read_string(tokens: Tokens, index: int) -> str:
    """Return the string literals that begin at a token, as written; empty if there are none.

    Adjacent literals are one literal to the compiler. So is a prefix and the next literal.
    """
    last = index
    while last < len(tokens):
        prefix = _ENCODING.match(tokens.text[last])
        end = prefix.end() if prefix else 0
        if tokens.text[last][end : end + 1] == '"':
            last += 1
        elif end == len(tokens.text[last]) and tokens.at(last + 1)[:1] == '"':
            last += 2
        else:
            break
    return tokens.join(index, last)


def _find_computed_gotos(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield each `goto *target`."""
    for index in tokens.occurrences.get("goto", ()):
        if tokens.at(index + 1) == "*":
            yield tokens.start[index], "jumps to computed places"


def _find_compiler_attributes(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield token index and name of each attribute in clang's, GCC's or Microsoft's syntax."""
    text, partner = tokens.text, tokens.partner
    for word in ATTRIBUTE_SPELLINGS.intersection(tokens.occurrences):
        for index in tokens.occurrences[word]:
            inner = index + 2
            if tokens.at(index + 1) == "(" and tokens.at(inner) == "(":
                yield from _find_attribute_names(tokens, inner + 1, partner[inner])
            else:
                yield index, word
    for scope in _SCOPES.intersection(tokens.occurrences):
        for index in tokens.occurrences[scope]:
            if tokens.at(index + 1) == "::" and is_name(tokens.at(index + 2)):
                yield index + 2, tokens.at(index + 2)
            elif index and text[index - 1] == "using" and tokens.at(index + 1) == ":":
                yield index, f"using {scope}"


def _find_attribute_names(tokens: Tokens, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the first token of each attribute in a list."""
    for begin, _ in tokens.split(first, last):
        yield begin, tokens.text[begin]


# Find and refuse features of Metal that the `cpu` device does not have, with their line.

_FEATURE = re.compile(
    r"(?P<textures>(?:texture|depth)2d_ms_array)"
    r"|(?P<raytracing>raytracing|intersector|intersection_query|(?:primitive|instance)_acceleration_structure)"
    r"|(?P<tables>visible_function_table|intersection_function_table)"
    r"|(?P<commands>command_buffer|render_command|compute_command)"
    r"|(?P<imageblocks>imageblock|threadgroup_imageblock)"
    r"|(?P<meshes>mesh|mesh_grid_properties)"
)
_FEATURE_NAMES = {
    "textures": "arrays of multisampled textures",
    "raytracing": "ray tracing",
    "tables": "function tables",
    "commands": "indirect command buffers",
    "imageblocks": "imageblocks",
    "meshes": "mesh shaders",
}


def find_feature(word: str) -> str:
    """Return the unsupported feature that a name belongs to, or an empty string."""
    found = _FEATURE.fullmatch(word)
    return _FEATURE_NAMES[str(found.lastgroup)] if found else ""


def _find_uses(tokens: Tokens) -> list[int]:
    """Return the tokens that use such names as Metal's, not as names of variables."""
    found = []
    for word, indices in tokens.occurrences.items():
        if find_feature(word):
            for index in indices:
                before, following = tokens.text[index - 1], tokens.at(index + 1)
                means = is_name(following) or following in ("<", "::") or before == "namespace"
                means = means or (before == "::" and following == ";")
                if word == "mesh" and following == "<":  # not a comparison
                    means = before in ("::", "typedef") or tokens.text[index - 3] == "using"
                if means and before not in (".", "->"):
                    found.append(index)
    return sorted(found)


def find_unsupported_declarations(
    tokens: Tokens, declared: Sequence[Declaration]
) -> list[tuple[Declaration, Declaration]]:
    """Return the declarations to remove, each with the unsupported one that it needs, or itself.

    Those are functions of other stages, declarations with unsupported types, and all that mention
    a removed name.
    """
    uses = _find_uses(tokens)
    if not uses and OTHER_STAGES.isdisjoint(tokens.occurrences):
        return []
    own = set()
    stages = []
    removed: dict[int, tuple[Declaration, Declaration]] = {}
    for declaration in declared:
        stage = find_stage(tokens, declaration)
        if stage not in ("", "kernel"):
            stages.append((declaration, declaration))
            continue
        if find_feature(declaration.name):
            own.add(declaration.name)
        inside = uses[bisect_left(uses, declaration.first) : bisect_left(uses, declaration.last)]
        if any(tokens.text[index] not in own for index in inside):
            removed[declaration.first] = declaration, declaration
    _add_users(tokens, declared, removed)
    return [*stages, *removed.values()]


def _add_users(
    tokens: Tokens,
    declared: Sequence[Declaration],
    removed: dict[int, tuple[Declaration, Declaration]],
) -> None:
    """Add the declarations that mention a name all of whose declarations are removed."""
    firsts = [declaration.first for declaration in declared]
    families: dict[str, list[Declaration]] = {}
    for declaration in declared:
        if declaration.kind in ("function", "variable"):
            families.setdefault(declaration.name, []).append(declaration)
    waiting = list(removed.values())
    while waiting:
        declaration, cause = waiting.pop()
        names = find_declared_names(tokens, declaration)
        if declaration.kind == "function":
            # The other overloads stay, and so do their callers.
            gone = all(each.first in removed for each in families[declaration.name])
            names = names if gone else []
        for index in (index for name in names for index in tokens.occurrences.get(name, ())):
            user = declared[bisect_right(firsts, index) - 1]
            if user.first in removed or index >= user.last:
                continue
            if tokens.text[index - 1] not in (".", "->"):
                removed[user.first] = user, cause
                waiting.append((user, cause))


def refuse_declaration(tokens: Tokens, declaration: Declaration, name: str) -> None:
    """Raise Unsupported for the first unsupported construct of a declaration."""
    for index in _find_uses(tokens):
        if declaration.first <= index < declaration.last:
            raise Unsupported(
                f"[{name}] {tokens.locate_token(index)}: {tokens.text[index]}: the cpu device has "
                f"no {find_feature(tokens.text[index])}; run this kernel on a Metal device"
            )
    stage = find_stage(tokens, declaration)
    raise Unsupported(
        f"[{name}] {tokens.locate_token(declaration.first)}: expected a kernel, got a {stage} "
        "function; the cpu device runs compute kernels only"
    )
