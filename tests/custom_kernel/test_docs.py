"""What docs/metal_kernel.md shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "metal_kernel.md"


def test_the_example():
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert "metal_kernel(" in code
    exec(compile(code, str(DOCS), "exec"), {})
