"""Load the cases of openxla/stablehlo's interpreter tests as programs that return what they check.

Each `check.expect_*_const %v, dense<...> : T` becomes a constant, and both are returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metalbench.hlo.ir import Block

_CONST = re.compile(
    r'"?check\.(expect_\w+?)_const"?\s*\(?\s*(%[\w#]+)\s*\)?\s*(?:,\s*|<?\{\s*value\s*=\s*)'
    r"(dense<.*?>|dense_resource<.*?>)\s*(?:\}>?)?\s*:\s*(?:\()?(tensor<[^>]*>+)(?:\)?\s*->\s*\(\))?",
    re.DOTALL,
)
_PAIR = re.compile(r"check\.(expect_\w+)\s+(%[\w#]+),\s*(%[\w#]+)[^:\n]*:\s*(tensor<[^>]*>+)[^\n]*")
_HEAD = re.compile(
    r"func\.func\s+(?:public\s+|private\s+)?@([\w.]+)\s*\(\s*\)\s*(?:attributes\s*\{[^}]*\}\s*)?\{"
)


_CALL = re.compile(
    r"stablehlo\.custom_call @check\.expect_(\w+)\((%[\w#]+), (%[\w#]+)\)[^\n]*?: "
    r"\(([^\n]*)\) -> (?:\(\)|tuple<>)"
)
_CONSTANT = re.compile(
    r"(%\w+) = (\"?)stablehlo\.constant\2[^\n]*?dense<.*?>[^\n]*?: (?:\(\) -> )?(tensor<[^>]*>+)",
    re.DOTALL,
)
# Operations whose operands are shapes, and must stay constants.
_SHAPES = re.compile(r"stablehlo\.(dynamic_(?!slice|update)|real_dynamic|set_dimension)|_dynamic")


@dataclass(frozen=True)
class Case:
    """One function: its program, and the comparison of each pair of results."""

    name: str
    text: str
    entry: str
    kinds: tuple[str, ...]


def cases(folder: Path) -> Iterator[Case]:
    """Yield every function with a check of `stablehlo/tests/interpret`."""
    for path in sorted(folder.rglob("*.mlir")):
        text = re.sub(r"//(?! -----).*", "", path.read_text())
        for number, chunk in enumerate(text.split("// -----")):
            yield from _functions(f"{path.stem}-{number}", chunk)


def jax_files(folder: Path) -> Iterator[Case]:
    """Return every file of `stablehlo/testdata`, which JAX has generated."""
    for path in sorted(folder.glob("*.mlir")):
        text = path.read_text()
        checks = _CALL.findall(text)
        pairs = [f"{got}, {expected}" for _, got, expected, _ in checks]
        types = [types for *_, types in checks]
        head, main = text.split("func.func public @main", 1)
        arguments, _, rest = main.partition("{\n")
        taken = re.match(r"\s*\(([^)]*)\)", arguments)
        if not checks or taken is None or taken.group(1).strip():
            yield Case(path.stem, "takes arguments", "", ())
            continue
        body = _CALL.sub("", rest)
        returned = f"return {', '.join(pairs)} : {', '.join(types)}\n"
        body = re.sub(r"(?m)^\s*(?:func\.)?return\b[^\n]*\n", returned, body, count=1)
        main = f"{head}func.func public @main() -> ({', '.join(types)}) {{\n{body}"
        kinds = tuple(f"expect_{kind}" for kind, *_ in checks)
        yield Case(path.stem, _hidden(main, 0), "main", kinds)


def _functions(name: str, chunk: str) -> Iterator[Case]:
    heads = list(re.finditer(r"func\.func\b", chunk))
    bounds = [each.start() for each in heads] + [len(chunk)]
    parts = [chunk[bounds[n] : bounds[n + 1]] for n in range(len(heads))]
    head = chunk[: bounds[0]]
    for number, part in enumerate(parts):
        if "check." not in part:
            continue
        match = _HEAD.match(part)
        if match is None:
            yield Case(f"{name}-{number}", "takes arguments", "", ())
            continue
        # Other functions with checks are left out: they are separate cases.
        others = [each for each in parts if each is not part and "check." not in each]
        body, kinds = _returning(part, match)
        yield Case(
            f"{name}-{match.group(1)}", "\n".join([head, body, *others]), match.group(1), kinds
        )


def _returning(part: str, match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    kinds: list[str] = []
    names: list[str] = []
    types: list[str] = []

    def constant(found: re.Match[str]) -> str:
        kind, value, dense, type_ = found.groups()
        kinds.append(kind)
        names.extend((value, f"%expected_{len(kinds)}"))
        types.extend((type_, type_))
        return f"%expected_{len(kinds)} = stablehlo.constant {dense} : {type_}"

    def pair(found: re.Match[str]) -> str:
        kinds.append(found.group(1))
        names.extend(found.group(2, 3))
        types.extend([found.group(4)] * 2)
        return ""

    part = _hidden(part, match.end())
    body = _PAIR.sub(pair, _CONST.sub(constant, part[match.end() :]))
    body = re.sub(
        r"(func\.)?return\s*\n", f"func.return {', '.join(names)} : {', '.join(types)}\n", body
    )
    return f"func.func @{match.group(1)}() -> ({', '.join(types)}) {{{body}", tuple(kinds)


def _hidden(part: str, start: int) -> str:
    """Return the function with a barrier after each constant.

    `make_constants_arguments` makes arguments of these.
    """
    if _SHAPES.search(part):
        return part

    def behind(found: re.Match[str]) -> str:
        whole, (name, _, type_) = found.group(0), found.groups()
        held = f"%held_{found.start()}"
        barrier = f"{name} = stablehlo.optimization_barrier {held} : {type_}"
        return f"{whole.replace(f'{name} =', f'{held} =', 1)}\n{barrier}"

    return part[:start] + _CONSTANT.sub(behind, part[start:])


def make_constants_arguments(block: Block) -> list[np.ndarray]:
    """Turn constants behind barriers into arguments, so that the compiler cannot fold them."""
    values = []
    for operation in list(block.operations):
        source = operation.operands[0].operation if operation.operands else None
        if operation.name == "optimization_barrier" and source and source.name == "constant":
            (value,) = operation.results
            value.operation = None
            block.arguments.append(value)
            block.operations.remove(operation)
            values.append(source.attributes["value"].astype(value.type.element.numpy))
    return values


def agree(got: np.ndarray, expected: np.ndarray, kind: str) -> bool:
    """Return whether a result passes a check of this kind; complex numbers compare by parts."""
    if got.dtype.kind == "c":
        ours, theirs = (np.stack([each.real, each.imag]) for each in (got, expected))
        return agree(ours, theirs, kind)
    if kind == "expect_eq" or got.dtype.kind in "biu" or "int" in got.dtype.name:
        return np.array_equal(got, expected) or _same_floats(got, expected)
    tolerance = 1e-3 if got.dtype.itemsize >= 4 else 2e-2 if got.dtype.name == "bfloat16" else 2e-3
    wide, wanted = got.astype(np.float64), expected.astype(np.float64)
    return bool(np.allclose(wide, wanted, rtol=tolerance, atol=tolerance, equal_nan=True))


def _same_floats(got: np.ndarray, expected: np.ndarray) -> bool:
    if not got.dtype.name.startswith(("float", "bfloat")):
        return False
    return np.array_equal(got.astype(np.float64), expected.astype(np.float64), equal_nan=True)
