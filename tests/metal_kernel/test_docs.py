"""The examples of docs/how-to/metal_kernel.md and training.md work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
EXAMPLES = [
    code
    for page in ("metal_kernel.md", "training.md")
    for code in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples(code):
    # In a separate process, because they patch MLX.
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_there_are_examples_of_each():
    for name in ("metal_kernel(", "patch_mlx(", "patched_mlx(", "KernelFunction("):
        assert any(name in code for code in EXAMPLES)
