"""The tool that writes the kernels of KernelBench's language models."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metalbench.kernel.header import parse
from metalbench.kernel.library import Library

TOOL = Path(__file__).parents[2] / "tools" / "language_kernels.py"


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("language_kernels", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["language_kernels"] = module
    # As for a script, whose folder is the first of the path: the tool imports another one.
    sys.path.insert(0, str(TOOL.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOL.parent))
    return module


tool = load_tool()
TASKS = {each.name: each for each in tool.tasks()}


def test_every_language_model_has_a_kernel() -> None:
    assert list(TASKS) == Library().names("kernelbench/level4")
    assert all((tool.FOLDER / f"{name}.metal").exists() for name in TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_the_kernel_of_a_language_model_is_current(name: str) -> None:
    text = tool.write_kernel(TASKS[name])
    assert (tool.FOLDER / f"{name}.metal").read_text() == text, (
        f"run python tools/language_kernels.py {name}"
    )


@pytest.mark.parametrize("name", TASKS)
def test_each_parameter_is_bound_by_one_dispatch(name: str) -> None:
    """Only the table of tokens has two uses: embeddings and logits."""
    kernel = parse((tool.FOLDER / f"{name}.metal").read_text(), name=name)
    bound = Counter(
        each.find_source(argument) for each in kernel.dispatches for argument in each.arguments
    )
    parameters = [each for each in TASKS[name].inputs if each != "x"]
    counts = {each: bound[each] for each in parameters}
    tables = [each for each in parameters if counts[each] == 2]
    assert len(tables) <= 1
    assert set(counts.values()) <= {1, 2}, counts


@pytest.mark.parametrize("name", TASKS)
def test_a_kernel_shares_functions_between_layers(name: str) -> None:
    kernel = parse((tool.FOLDER / f"{name}.metal").read_text(), name=name)
    functions = {each.function for each in kernel.dispatches}
    assert len(functions) <= 12
    assert len(kernel.dispatches) >= 12 * 6


def test_a_function_has_one_instance() -> None:
    kernel = tool.Kernel(layers=1, heads=1)
    kernel.dense("h", tool.Linear.of("fc"), "wide")
    with pytest.raises(ValueError, match="dense"):
        kernel.dense("h", tool.Linear.of("fc", layout="ByInput"), "wide")
