from __future__ import annotations

import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from frontend.address_spaces import FUNCTIONS, HEADER, KERNEL

from metalbench import _core
from metalbench.msl.frontend.source import Source
from metalbench.msl.toolchain.preprocess import parse

# Files whose tests are about the cache, or about the runs of clang. An empty cache has no
# precompiled headers, with which a kernel takes half as long.
WITH_EMPTY_CACHE = frozenset(
    {
        "test_cache",
        "test_cancelling",
        "test_diagnostics",
        "test_effort",
        "test_errors",
        "test_full_disk",
        "test_limits",
        "test_many",
        "test_messages",
        "test_precompiled",
        "test_precompiled_tools",
        "test_preprocess",
        "test_signature",
        "test_toolchain",
        "test_trees",
    }
)


@pytest.fixture(autouse=True)
def own_cache(request, tmp_path, monkeypatch):
    if request.path.stem in WITH_EMPTY_CACHE:
        monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def source() -> Callable[..., Source]:
    """Parse a text as `kernel.metal`; its first line is line 1."""

    def parse_text(text: str, **macros: str) -> Source:
        return parse(text, "kernel.metal", macros, [])

    return parse_text


@pytest.fixture(params=[False, True], ids=["", "checked"])
def run_body(request):
    """Compile declarations and the statements of a kernel, run one thread, give its 8 results."""
    device = _core.open("cpu")

    def run(declarations, body, name="f", **arguments):
        text = f"{HEADER}{FUNCTIONS}{declarations}\n{KERNEL}\n{body}\n}}\n"
        pipeline = device.compile(
            text, macros={"__METAL_VERSION__": "400"}, checked=request.param
        ).pipeline(name)
        given = {"d": np.arange(8, dtype=np.float32), "c": np.arange(8, dtype=np.float32)}
        given |= {"out": np.zeros(8, np.int32)} | arguments
        dispatch = _core.Dispatch(
            pipeline, given, threads_in_grid=1, threads=1, threadgroup_bytes={"dynamic": 32}
        )
        device.run([dispatch])
        return given["out"].tolist()

    return run


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of clang's runs with the MSL headers: parse, precompile, try, begin."""
    seen: list[str] = []
    start = subprocess.Popen

    def record_run(command: list[str], **options: object) -> object:
        if "c++-header" in command:
            seen.append("precompile")
        elif "-include-pch" in command:
            seen.append("try" if "-fsyntax-only" in command else "begin")
        elif "-emit-llvm" in command and "ir" not in command:
            seen.append("parse")
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", record_run)
    return seen
