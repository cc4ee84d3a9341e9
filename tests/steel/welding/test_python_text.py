"""Text that a task file must not have, and equality of code."""

from __future__ import annotations

import pytest
from steel.welding.drafts import NAME, TASK

from agent_steel.welding.draft import fault_of, same_code
from metalbench.kernel.library import Library


def test_every_task_of_the_library_could_have_been_written_so():
    wrong = {each.name: fault_of(each.task_path.read_text(), each.name) for each in Library()}
    assert {name: fault for name, fault in wrong.items() if fault} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import numpy, socket",
        "import numpy.ctypeslib",
        "from . import other",
        "from metalbench import _core",
        "from metalbench.task import _private",
        "from mlx import data",
        "from numpy import fromfile",
        "import scipy.io",
        "open('/etc/passwd')",
        "eval('1')",
        "__import__('os')",
        "getattr(math, 'sqrt')",
        "().__class__",
        "np.load('x')",
        "np.lib.npyio",
        "mx.save('x', y)",
        "mx.fast.metal_kernel()",
        "f = mx.fast",
        "while True: pass",
        "class A: pass",
    ],
)
def test_fault_of_refuses_unsafe_lines(line):
    fault = fault_of(f"{TASK}\n{line}\n", NAME)
    assert fault.startswith(f"line {len(TASK.splitlines()) + 2}: "), fault


@pytest.mark.parametrize(
    "line", ["mx.fast.rms_norm(x)", "import scipy.special", "np.random.rand()"]
)
def test_fault_of_accepts_safe_lines(line):
    assert fault_of(f"{TASK}\n{line}\n", NAME) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def x(:", "line 1: SyntaxError"),
        ("import math", "expected a docstring"),
        (TASK.replace("def twice_and_one", "def other"), "expected a function 'twice_and_one'"),
        ("(" * 10_000, "Error"),
    ],
)
def test_fault_of_refuses_other_text(text, fault):
    assert fault in fault_of(text, NAME)


def test_same_code_ignores_comments_and_docstrings():
    other = TASK.replace("In float64.", "Exactly.").replace(
        "import itertools", "import itertools  # x"
    )
    assert same_code(TASK, other)
    assert not same_code(TASK, TASK.replace("1023", "1024"))
    assert not same_code(TASK, TASK.replace('"2 * n"', '"3 * n"'))
