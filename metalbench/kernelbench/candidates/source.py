"""Check the text of a Python candidate: required definitions and forbidden names.

What is refused here would fail in the sealed process as well; here it gets a plain message.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from metalbench.errors import CompileError, DeclarationError
from metalbench.kernel.header import Kernel
from metalbench.kernel.source_files import read_candidate_text
from metalbench.task.dtypes import FLOATS

MODULES = (
    "__future__",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "mlx",
    "numpy",
    "operator",
    "typing",
)
OF_METALBENCH = ("metal_kernel", "patch_mlx")
# Functions that read files or run text as code.
BUILTINS = ("__import__", "breakpoint", "compile", "eval", "exec", "input", "open")
CLASS = "ModelNew"
# Beginnings of messages for candidates whose results or times do not come from their kernels.
NO_KERNEL = "no kernel of its own ran"
NOT_NEEDED = "its result does not come from a kernel of its own"
TOO_LITTLE = "its time is not that of its own kernels"
OWN_WORK_MISSING = (NO_KERNEL, NOT_NEEDED, TOO_LITTLE)


class ForbiddenError(DeclarationError):
    """A candidate asks for what it does not get: a module, a file."""


def read(path: Path, task: str) -> Kernel:
    """Return the candidate for `task` in a file.

    Raises as `parse`, and DeclarationError without a file. A link that leads out of the folder of
    the file is not read: lines of what it leads to would be shown and kept.
    """
    if not is_local_file(path):
        raise DeclarationError(
            f"[{task}] {path}: expected a file, got a link that leads out of its folder, or no "
            "regular file; it was not read. Name the file itself"
        )
    try:
        source = read_candidate_text(path)
    except DeclarationError as error:
        raise DeclarationError(f"[{task}] {error}") from error
    return parse(source, name=task, path=path)


def is_local_file(path: Path) -> bool:
    """Return whether a path is a regular file or a link within its folder, or does not exist."""
    if not path.is_symlink():
        return path.is_file() or not path.exists()
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):  # of links in a circle
        return False
    return real.is_file() and real.is_relative_to(path.parent.resolve())


def parse(source: str, *, name: str, path: Path) -> Kernel:
    """Return the candidate with the text `source` for the task `name`, without running it.

    Raise CompileError for a syntax error, ForbiddenError for a forbidden name, and DeclarationError
    without `class ModelNew` or a function of the task's name.
    """
    kernel = parse_unchecked(source, name=name, path=path)
    tree = _parse_tree(source, path.name)
    fault = next(_find_faults(tree), None)
    if fault is not None:
        line, what = fault
        raise ForbiddenError(f"{path.name}:{line}: {what}")
    names = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    names |= {
        target.id
        for each in tree.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    if not names & {CLASS, name}:
        raise DeclarationError(
            f"[{name}] {path.name}: expected `class {CLASS}` or a function `{name}`, got "
            f"{', '.join(sorted(names)) or 'neither a class nor a function'}"
        )
    return kernel


def parse_unchecked(source: str, *, name: str, path: Path) -> Kernel:
    """The candidate as it is."""
    lines = (line.strip("# \t") for line in source.splitlines() if line.lstrip().startswith("#"))
    return Kernel(name, path, source, None, next(lines, ""), dispatches=(), dtypes=FLOATS)


def _parse_tree(source: str, file: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, file)
    except SyntaxError as error:
        raise CompileError(
            f"{file}:{error.lineno}:{error.offset or 1}: error: {error.msg}"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CompileError(f"{file}:1:1: error: no Python: {error}") from None


def _find_faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each forbidden use in the text, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if not _is_allowed(each.name):
                    yield node.lineno, _describe_import(each.name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if module == "metalbench":
                for each in node.names:
                    if each.name not in OF_METALBENCH:
                        yield node.lineno, _describe_import(f"metalbench.{each.name}")
            elif not _is_allowed(module):
                yield node.lineno, _describe_import(module)
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.lineno, f"`{node.id}` is nothing that a candidate gets: it computes, only"


def _is_allowed(module: str) -> bool:
    return module == "metalbench" or module.partition(".")[0] in MODULES


def _describe_import(name: str) -> str:
    return f"imports {name}; a candidate gets {', '.join(MODULES)} and metalbench.metal_kernel"


# Messages of compilers about a kernel that a candidate makes from text.

_QUOTED = re.compile(
    r"^<\w+ source>:\d+:(?P<column>\d+): (?P<text>[^\n]*)\n"
    r"(?P<margin> *\d+) \| (?P<code>[^\n]*)$",
    re.MULTILINE,
)
_NAMED = re.compile(r"^(?=<\w+(?: \w+)?>)", re.MULTILINE)


def locate_in_file(message: str, file: str, text: str) -> str:
    """Return a compiler's message about a kernel of the candidate `file`, at the file's lines.

    The line of code that the message quotes is looked up in `text`, the candidate's source. If it
    is not exactly once there, the name of the file precedes the compiler's place.
    """
    lines = text.splitlines()

    def replace_place(found: re.Match[str]) -> str:
        code = found["code"].strip()
        places = [number for number, line in enumerate(lines) if code and code in line]
        if len(places) != 1:
            return found[0]
        (place,) = places
        indent = len(found["code"]) - len(found["code"].lstrip())
        column = int(found["column"]) - indent + lines[place].index(code)
        margin = f"{place + 1:>{len(found['margin'])}}"
        return f"{file}:{place + 1}:{column}: {found['text']}\n{margin} | {found['code']}"

    return _NAMED.sub(f"{file}: ", _QUOTED.sub(replace_place, message))
