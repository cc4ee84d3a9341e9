"""What a task file by a model may contain, judged by its text before anything of it is run.

This catches code that does not belong in a task. It is not a sandbox: Python has ways around every
such list. The user confirms the file, and a confined process runs it.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from agent_steel.models.replies import ReplyError, object_schema, texts
from agent_steel.source import MOST_BYTES, check_source

MODULES = {
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "metalbench.task",
    "metalbench.task.oracles",
    "mlx.core",
    "mlx.nn",
    "numpy",
    "scipy",
}
# Modules of SciPy that only compute. Others read or write files, or compile.
REFUSED_MODULES = ("scipy.io", "scipy.datasets", "scipy.weave", "numpy.ctypeslib", "numpy.f2py")
REFUSED_NAMES = {
    *("breakpoint", "compile", "delattr", "dir", "eval", "exec", "exit", "getattr", "globals"),
    *("help", "input", "locals", "memoryview", "open", "quit", "setattr", "type", "vars"),
}
# Names of NumPy, SciPy and MLX that read or write files, load libraries or run code.
REFUSED_ATTRIBUTES = {
    *("ctypeslib", "datasets", "DataSource", "export_function", "f2py", "fast", "fromfile"),
    *("genfromtxt", "import_function", "io", "lib", "load", "load_library", "loadtxt"),
    *(
        "make_dataclass",
        "memmap",
        "metal",
        "open_memmap",
        "save",
        "save_gguf",
        "save_safetensors",
        "savetxt",
        "savez",
    ),
    *("savez_compressed", "testing", "tofile"),
}
# Exceptions: MLX's fused operations, and windows of arrays.
ALLOWED_WITHIN = {
    "fast": {"layer_norm", "rms_norm", "rope", "scaled_dot_product_attention"},
    "lib": {"stride_tricks"},
}


def fault_of(text: str, name: str) -> str:
    """Return forbidden code in `text`, a file with the task `name`; '' if there is none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        return f"{f'line {line}: ' if line else ''}{type(error).__name__}: {error}"
    if not ast.get_docstring(tree):
        return "expected a docstring that says in one line what the task is"
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    if not any(each.name == name and each.decorator_list for each in functions):
        return f"expected a function {name!r} under @task(...)"
    allowed = {id(inner) for node in ast.walk(tree) if (inner := _find_allowed_base(node))}
    for node in ast.walk(tree):
        fault = "" if id(node) in allowed else _refuse(node)
        if fault:
            return f"line {getattr(node, 'lineno', '?')}: {fault}"
    return ""


def same_code(one: str, other: str) -> bool:
    """Return whether two texts are the same but for comments, docstrings and the form of lines."""
    return _bare(one) == _bare(other)


def _bare(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.FunctionDef)) and body and _is_docstring(body[0]):
            body.pop(0)
    return ast.dump(tree)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _refuse(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return next((fault for each in node.names if (fault := _module(each.name))), "")
    if isinstance(node, ast.ImportFrom):
        return _import_from(node)
    if isinstance(node, ast.Name):
        return _name(node.id)
    if isinstance(node, ast.Attribute):
        return _attribute(node.attr)
    if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.While)):
        return f"a task needs no {type(node).__name__}"
    return ""


def _module(name: str) -> str:
    known = any(name == each or name.startswith(f"{each}.") for each in MODULES)
    if known and not name.startswith(REFUSED_MODULES) and "._" not in name:
        return ""
    return f"`import {name}`: expected one of {', '.join(sorted(MODULES))}"


def _import_from(node: ast.ImportFrom) -> str:
    module = node.module or "."
    if node.level:
        return "a task imports nothing from its folder"
    if module != "__future__":
        modules = [f"mlx.{each.name}" for each in node.names] if module == "mlx" else [module]
        fault = next((found for each in modules if (found := _module(each))), "")
        if fault:
            return fault
    names = [each.name for each in node.names]
    wrong = next((each for each in names if each.startswith("_") or each in REFUSED_ATTRIBUTES), "")
    return f"`{wrong}` has no place in a task" if wrong else ""


def _name(name: str) -> str:
    if name in REFUSED_NAMES or name.startswith("__"):
        return f"`{name}` has no place in a task"
    return ""


def _attribute(name: str) -> str:
    if name.startswith("_") or name in REFUSED_ATTRIBUTES:
        return f"`.{name}` has no place in a task"
    return ""


def _find_allowed_base(node: ast.AST) -> ast.Attribute | None:
    """Return the base of `node` if this attribute is an allowed exception."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return None
    return node.value if node.attr in ALLOWED_WITHIN.get(node.value.attr, ()) else None


# A draft of a task and its kernel, as a model writes it, and what of it can be seen at once.

DRAFT_SCHEMA = object_schema(
    {
        "name": "The task's name: lower-case letters, digits and underscores.",
        "summary": "For a reader, in two or three sentences: what it computes, and how.",
        "task": "The full task file, in Python.",
        "kernel": "The full .metal file.",
    }
)
LONGEST = {"name": 60, "summary": 1500, "task": 50_000, "kernel": MOST_BYTES}


@dataclass(frozen=True)
class Draft:
    """A task and a kernel before checking."""

    name: str
    summary: str
    task: str
    kernel: str

    def write(self, folder: Path) -> None:
        """Write NAME.py and NAME.metal into `folder`."""
        (folder / f"{self.name}.py").write_text(self.task, encoding="utf-8")
        (folder / f"{self.name}.metal").write_text(self.kernel, encoding="utf-8")


def valid_name(name: str) -> bool:
    """Return whether a task can be called so."""
    return bool(re.fullmatch(r"[a-z][a-z0-9_]*", name)) and not keyword.iskeyword(name)


def read_draft(text: str, name: str, taken: Collection[str] = ()) -> Draft:
    """Return the draft that a reply is. It is to be called `name`; '' leaves that to the model.

    Raise ReplyError, also for a name of `taken`.
    """
    fields = {key: value.strip() for key, value in texts(text, LONGEST).items()}
    given = fields["name"]
    if name and given != name:
        raise ReplyError(f"`name`: expected {name!r}, got {given!r}")
    if not valid_name(given):
        raise ReplyError(f"`name`: expected lower-case letters, digits and _, got {given!r}")
    if given in taken:
        raise ReplyError(f"`name`: there is a task called {given!r} already")
    for what, fault in (
        ("summary", "" if fields["summary"] else "it is empty"),
        ("task", fault_of(fields["task"], given)),
        ("kernel", check_source(fields["kernel"], name=given)),
    ):
        if fault:
            raise ReplyError(f"`{what}`: {fault}")
    return Draft(given, fields["summary"], f"{fields['task']}\n", f"{fields['kernel']}\n")


def read_polished(text: str, draft: Draft) -> Draft:
    """Return the polished `draft` that a reply is; raises ReplyError if its task is another one."""
    polished = read_draft(text, draft.name)
    if not same_code(polished.task, draft.task):
        raise ReplyError("`task`: only comments and docstrings may be different from before")
    return polished
