"""Write the MSL source of kernels, with the functions of this folder's headers that they call.

Clang and this package's front end read a source as often as it has kernels to compile, so a source
has no function that it does not need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metalbench.hlo.codegen.elementwise import (
    COMPLEX_HEADER,
    COMPLEX_TYPE,
    DOUBLE_COMPLEX_HEADER,
    DOUBLE_COMPLEX_TYPE,
    DOUBLE_HEADER,
    DOUBLE_TYPE,
    SMALL_FLOAT_HEADER,
    SMALL_FLOAT_TYPES,
)
from metalbench.hlo.codegen.factorizations import (
    DOUBLE_FACTORIZATION_HEADER,
    FACTORIZATION_CALLS,
    FACTORIZATION_HEADER,
)
from metalbench.hlo.codegen.matrices import MATRIX_CALL, MATRIX_HEADER

# The folder of the headers.
INCLUDE = Path(__file__).parent
_NAMESPACE = "shlo"
# Headers of all kernels.
_HEADERS = ("stablehlo.h", "rows.h")
_COMMENT = re.compile(r"[ \t]*//[^\n]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_RECORD = re.compile(r"\b(?:struct|class|enum(?:\s+class)?)\s+(\w+)")
_FUNCTION = re.compile(r"(\w+)\s*(?:<[^()]*>\s*)?\(")
_USING = re.compile(r"using\s+(?:\w+::)*(\w+)\s*[;=]")
_VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=")


@dataclass(frozen=True)
class HeaderDeclaration:
    """A declaration of a header: its text, and its name, which is empty for a directive."""

    text: str
    name: str
    words: frozenset[str]


def format_library(kernels: Iterable[str]) -> str:
    """Return the source of kernels; `kernels` are their texts."""
    body = "\n".join(kernels)
    matrices = MATRIX_HEADER if MATRIX_CALL in body else ""
    functions = select_functions(body)
    return f"{matrices}#include <metal_stdlib>\nusing namespace metal;\n{functions}\n{body}"


def select_functions(kernels: str) -> str:
    """Return the declarations that kernels need, in a namespace; empty if they need none.

    A declaration is needed if kernels mention its name, or a declaration that is needed does.
    Declarations of one name stay together.
    """
    declared = [each for name in _list_headers(kernels) for each in read_declarations(name)]
    needed = _find_needed(declared, kernels)
    if not needed:
        return ""
    texts = "\n".join(each.text for each in declared if not each.name or each.name in needed)
    # A comment would have to be removed by clang (msl/toolchain/preprocess.py).
    return f"namespace {_NAMESPACE} {{\n{texts}\n}}\n"


def _list_headers(kernels: str) -> list[str]:
    """Return the names of the headers whose overloads kernels may call."""
    names = list(_HEADERS)
    has_factorizations = any(each in kernels for each in FACTORIZATION_CALLS)
    has_double = DOUBLE_TYPE in kernels
    has_double_complex = DOUBLE_COMPLEX_TYPE in kernels or (has_double and has_factorizations)
    if has_double:
        # Before the templates that call its functions.
        names.insert(1, DOUBLE_HEADER)
    if any(each in kernels for each in SMALL_FLOAT_TYPES):
        names.append(SMALL_FLOAT_HEADER)
    if COMPLEX_TYPE in kernels or has_double_complex or has_factorizations:
        names.append(COMPLEX_HEADER)
    if has_double_complex:
        names.append(DOUBLE_COMPLEX_HEADER)
    if has_factorizations and has_double_complex:
        names.append(DOUBLE_FACTORIZATION_HEADER)
    if has_factorizations:
        names.append(FACTORIZATION_HEADER)
    return names


def _find_needed(declared: Sequence[HeaderDeclaration], kernels: str) -> set[str]:
    """Return the names of the declarations that kernels reach."""
    words: dict[str, set[str]] = {}
    for each in declared:
        words.setdefault(each.name, set()).update(each.words)
    words.pop("", None)
    needed: set[str] = set()
    waiting = [each for each in _WORD.findall(kernels) if each in words]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += words[name] & words.keys()
    return needed


@cache
def read_declarations(header: str) -> list[HeaderDeclaration]:
    """Return the declarations in the namespace of a header of this folder, without comments."""
    text = _COMMENT.sub("", (INCLUDE / header).read_text())
    inside = text.partition(f"namespace {_NAMESPACE} {{\n")[2].rpartition("}")[0]
    found: list[HeaderDeclaration] = []
    lines: list[str] = []
    depth = 0
    for line in inside.split("\n"):
        if not line.strip() and not lines:
            continue
        lines.append(line)
        depth += line.count("{") - line.count("}")
        ends = line.rstrip().endswith(("}", ";")) or line.lstrip().startswith("#")
        if depth == 0 and ends:
            declaration = "\n".join(lines)
            words = frozenset(_WORD.findall(declaration))
            found.append(HeaderDeclaration(declaration, _find_name(declaration), words))
            lines = []
    if lines:
        raise AssertionError(f"{header}: expected the end of a declaration after {lines[0]!r}")
    return found


def _find_name(declaration: str) -> str:
    """Return the name that a declaration introduces; empty for directives."""
    head = re.sub(r"^template\s*<[^{;]*?>\s*(?=\w)", "", declaration.strip())
    if head.startswith(("#", "using namespace")):
        return ""
    if used := _USING.match(head):
        return used[1]
    record = _RECORD.match(head)
    found = record or _FUNCTION.search(head.partition("{")[0]) or _VARIABLE.search(head)
    if found is None:
        raise AssertionError(f"expected a function, record or variable, got {head.splitlines()[0]}")
    return found[1]
