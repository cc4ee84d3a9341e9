"""What is C++ for a host and no Metal: refused by its name and line, before clang sees it.

The `cpu` device runs kernels as code of this machine, so that whatever clang takes beyond Metal
would be a way around every check of a result. What is here are the words; what has none, such as a
call through a pointer, is found in what clang makes of it (building/host_calls.py,
building/imports.py).

References
----------
Metal Shading Language Specification 3.2, 1.5 (what of C++ Metal has not) and 4.2 (program scope).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set

from metalbench._core import CompileError
from metalbench.msl.reading.tokens import Location, Tokens, is_name

# Names of functions inside Metal's compiler that sources declare, and the `cpu` device has too: the
# whole of a string literal, such as "air.simdgroup_async_copy_2d.p3i8.p1i8".
LABEL = re.compile(
    r'"(?:\\1|\\01|\\001)?air\.(?:simdgroup_(async_copy_[12]d)[\w.]*|(wait_simdgroup_events))"'
)
ASSEMBLY = ("asm", "__asm", "__asm__")
_ASSEMBLY = "inline assembly"
_WORDS = {
    **dict.fromkeys(ASSEMBLY, _ASSEMBLY),
    "thread_local": "thread-local variables",
    "_Thread_local": "thread-local variables",
    "__thread": "thread-local variables",
    "new": "`new`",
    "delete": "`delete`",
    "try": "exceptions",
    "catch": "exceptions",
    "throw": "exceptions",
    "typeid": "type identification",
    "dynamic_cast": "dynamic_cast",
    "virtual": "virtual functions",
    "__declspec": "__declspec",
}
# What does no more than tell the compiler about a function or a type.
_ATTRIBUTES = frozenset(
    """
    aligned always_inline annotate cold const convergent deprecated diagnose_if
    enable_if ext_vector_type fallthrough flatten hot likely may_alias maybe_unused no_unroll
    noduplicate noescape noinline nonnull noreturn nothrow opencl_unroll_hint overloadable packed
    pure returns_nonnull unavailable unlikely unused vector_size warn_unused_result
    """.split()  # noqa: SIM905
)
_SPELLINGS = frozenset({"__attribute__", "__attribute"})
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
# What clang gives a meaning to and Metal has, of the names that C++ reserves: two underscores, or
# one and a capital letter. Names without a meaning are a source's own.
_METAL_WORDS = re.compile(
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
# Names of variables that the rewriter makes, as a part of a longer name that could be mistaken for
# a mangled one; and the ends of sections, which a linker defines.
# Also the functions that the code of clang's own checks calls.
_CONFUSABLE = re.compile(
    r"\w*\dmb_(?:storage|part)_\w*|__(?:start|stop)_\w*|_Z\w*"
    r"|__(?:asan|msan|tsan|ubsan|sanitizer|sancov)_\w*|__truncsfbf2"
)
# What a string literal begins with, whole or as a token in front of its quote.
_ENCODING = re.compile(r"(?:u8|[uUL])?R?")
_PRAGMA = re.compile(r"^([ \t]*#[ \t]*pragma\b)[ \t]*(.*)$", re.M)
_PRAGMAS = re.compile(
    r"(?:unroll|nounroll|METAL|once|mark|pack|STDC|message|push_macro|pop_macro"
    r"|clang[ \t]+(?:loop|fp|diagnostic|optimize)|GCC[ \t]+diagnostic)\b.*|"
)
_HOST_PRAGMAS = re.compile(
    r"(?:clang|GCC|comment|weak|redefine_extname|\w*section|\w+_seg|detect_mismatch|include_alias"
    r"|export|intrinsic|OPENCL|ms_struct|vtordisp)\b.*"
)


# How every refusal ends, by which it can be told from errors of a compiler.
REFUSAL_SUFFIX = "a kernel may have what Metal has, and no more"


def blank_unknown_pragmas(expanded: str) -> str:
    """Blank what Metal's compiler ignores, and clang might know: all but Metal's own pragmas.

    Those that a host means something by stay, to be refused.
    """

    def kept(pragma: re.Match[str]) -> str:
        what = pragma[2].strip()
        known = _PRAGMAS.fullmatch(what) or _HOST_PRAGMAS.fullmatch(what)
        return pragma[0] if known else " " * len(pragma[0])

    return _PRAGMA.sub(kept, expanded)


def refuse_stray_text(tokens: Tokens) -> None:
    """Raise CompileError for text that a preprocessor leaves behind in no valid source."""
    for offset in tokens.stray:
        what = tokens.source[offset : offset + 2].strip()
        raise make_host_code_error(tokens.locate(offset), f"stray `{what}`")


def refuse_host_code(
    tokens: Tokens,
    reserved: re.Pattern[str],
    compiler_words: Callable[[frozenset[str]], Set[str]],
) -> None:
    """Raise CompileError for the first thing in a source that Metal has not and a host has.

    `reserved` matches the names that the MSL headers have for themselves. `compiler_words` returns
    which of some words clang gives a meaning to.
    """
    found = min(_found(tokens, reserved, compiler_words), default=None)
    if found is not None:
        offset, what = found
        raise make_host_code_error(tokens.locate(offset), what)


def make_host_code_error(where: Location | str, what: str) -> CompileError:
    """The error for something that Metal has not."""
    return CompileError(f"{where}: error: {what}: {REFUSAL_SUFFIX}")


def _found(
    tokens: Tokens,
    reserved: re.Pattern[str],
    compiler_words: Callable[[frozenset[str]], Set[str]],
) -> Iterator[tuple[int, str]]:
    """Yield the offset and the name of everything that is not Metal's."""
    strange = frozenset(
        word
        for word in tokens.occurrences
        if word[0] == "_" and _is_reserved(word) and not _METAL_WORDS.fullmatch(word)
    )
    for word in compiler_words(strange) if strange else ():
        yield tokens.start[tokens.occurrences[word][0]], word
    for word, places in tokens.occurrences.items():
        if word in _WORDS:
            indices, what = [each for each in places if _is_meant(tokens, each)], _WORDS[word]
        elif word.startswith("__builtin_"):
            indices, what = ([] if _BUILTIN.fullmatch(word) else places), word
        elif word[:3] in ("mb_", "MB_") and reserved.fullmatch(word):
            indices, what = places, f"{word}, a name of the engine's own"
        elif (word[0] == "_" or "mb_" in word) and _CONFUSABLE.fullmatch(word):
            indices, what = places, f"{word}, a name of the compiler's own"
        else:
            continue
        if indices:
            yield tokens.start[indices[0]], what
    yield from _own_namespace(tokens)
    yield from _linkages(tokens)
    yield from _labels_as_values(tokens)
    for index, name in _attributes(tokens):
        if name.strip("_") not in _ATTRIBUTES:
            yield tokens.start[index], f"attribute `{name}`"
    for pragma in _PRAGMA.finditer(tokens.source):
        what = pragma[2].strip()
        if _HOST_PRAGMAS.fullmatch(what) and not _PRAGMAS.fullmatch(what):
            yield pragma.start(), f"`#pragma {what}`"


def _is_meant(tokens: Tokens, index: int) -> bool:
    """Whether a word stands there for what it means to a host's compiler."""
    word, before = tokens.text[index], tokens.text[index - 1] if index else ""
    if word == "delete":
        return before != "="
    if _WORDS[word] is _ASSEMBLY:
        return not is_asm_label(tokens, index)
    return True


def _own_namespace(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield the engine's namespace where a source names it; variables may be called `mb` as well.

    C++ names a namespace before `::`, and in a declaration that begins with `namespace` or `using
    namespace`: nowhere else.
    """
    places = tokens.occurrences.get("mb", ())
    named = _names_of_namespaces(tokens) if places else set()
    for index in places:
        if index in named or tokens.at(index + 1) == "::":
            yield tokens.start[index], "namespace mb, which is the engine's own"


def _names_of_namespaces(tokens: Tokens) -> set[int]:
    """Return the tokens between every word `namespace` and the end of what it declares.

    Attributes there may hold any tokens, in brackets.
    """
    found: set[int] = set()
    for index in tokens.occurrences.get("namespace", ()):
        at = index + 1
        while at < len(tokens) and tokens.text[at] not in ("{", "}", ";", "namespace"):
            found.add(at)
            at = max(tokens.partner[at], at) + 1
    return found


def is_asm_label(tokens: Tokens, index: int) -> bool:
    """Return whether `asm` at `index` names a function that is declared by its name inside Metal.

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
    """Return whether C++ reserves a name that begins with an underscore for the compiler."""
    return word[1:2] == "_" or word[1:2].isupper()


def _linkages(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """Yield `extern` with a string, except a plain `extern "C"` in front of a kernel.

    A kernel is renamed, so that there its linkage has no effect.
    """
    for index in tokens.occurrences.get("extern", ()):
        literal = _string_at(tokens, index + 1)
        if not literal:
            continue
        stop = index
        while stop < len(tokens) and tokens.text[stop] not in "({;":
            stop += 1
        if literal != '"C"' or "kernel" not in tokens.text[index + 2 : stop]:
            yield tokens.start[index], f"`extern {literal}`"


def _string_at(tokens: Tokens, index: int) -> str:
    """Return the string literals that begin at a token, as written; empty if none does.

    Adjacent literals are one literal to the compiler, and so is a prefix with what follows it.
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


def _labels_as_values(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """`goto *where`, and the addresses of labels that it needs."""
    for index in tokens.occurrences.get("goto", ()):
        if tokens.at(index + 1) == "*":
            yield tokens.start[index], "jumps to computed places"


def _attributes(tokens: Tokens) -> Iterator[tuple[int, str]]:
    """The attributes of clang's that a source has, each with its token."""
    text, partner = tokens.text, tokens.partner
    for word in _SPELLINGS.intersection(tokens.occurrences):
        for index in tokens.occurrences[word]:
            inner = index + 2
            if tokens.at(index + 1) == "(" and tokens.at(inner) == "(":
                yield from _heads(tokens, inner + 1, partner[inner])
            else:
                yield index, word
    for scope in _SCOPES.intersection(tokens.occurrences):
        for index in tokens.occurrences[scope]:
            if tokens.at(index + 1) == "::" and is_name(tokens.at(index + 2)):
                yield index + 2, tokens.at(index + 2)
            elif index and text[index - 1] == "using" and tokens.at(index + 1) == ":":
                yield index, f"using {scope}"


def _heads(tokens: Tokens, first: int, last: int) -> Iterator[tuple[int, str]]:
    """The first token of each attribute in a list of them."""
    for begin, _ in tokens.split(first, last):
        yield begin, tokens.text[begin]
