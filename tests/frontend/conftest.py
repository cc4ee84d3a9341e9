from __future__ import annotations

from collections.abc import Callable

import pytest

from metalbench.msl.building.parse import parse
from metalbench.msl.reading.program import Source

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def source() -> Callable[..., Source]:
    """Parse a text as `kernel.metal`; its first line is line 1."""

    def parsed(text: str, **macros: str) -> Source:
        return parse(text, "kernel.metal", macros, [])

    return parsed
