"""The tool that writes the kernels of KernelBench's language models."""

from __future__ import annotations

from collections import Counter

import pytest
from tool_module import load_tool

from metalbench.kernel.library import Entry, find

tool = load_tool("language_kernels")
ENTRIES = find((), "kernelbench/level4")
every_model = pytest.mark.parametrize("entry", ENTRIES, ids=lambda each: each.name)


def test_the_kernels_of_all_language_models_are_current() -> None:
    files = dict(tool.write_files())
    assert list(files) == [each.name for each in ENTRIES]
    for name, text in files.items():
        assert (tool.FOLDER / f"{name}.metal").read_text() == text, (
            "run python tools/language_kernels.py"
        )


def test_problems_that_differ_in_sizes_share_a_kernel() -> None:
    """BigBird has two: of full attention, and of blocks."""
    kernels = Counter(each.kernel().path for each in ENTRIES)
    assert sorted(kernels.values()) == [1, 2, 2, 3, 3, 3, 3, 3]


@every_model
def test_each_parameter_is_bound_by_one_dispatch(entry: Entry) -> None:
    """Only the table of tokens has two uses: embeddings and logits."""
    bound = Counter(
        each.find_source(argument)
        for each in entry.kernel().dispatches
        for argument in each.arguments
    )
    counts = {each: bound[each] for each in entry.task.inputs if each != "x"}
    assert sum(each == 2 for each in counts.values()) <= 1
    assert set(counts.values()) <= {1, 2}, counts


@every_model
def test_layers_share_the_functions_of_a_kernel(entry: Entry) -> None:
    functions = Counter(each.function for each in entry.kernel().dispatches)
    assert len(functions) <= 12
    assert functions.total() >= 12 * 6


def test_a_function_has_one_instance() -> None:
    kernel = tool.Kernel(layers=1, heads=1)
    kernel.dense("h", tool.Linear.of("fc"), "wide")
    with pytest.raises(ValueError, match="dense"):
        kernel.dense("h", tool.Linear.of("fc", layout="ByInput"), "wide")
