"""The ways on which the cpu device runs kernels that synchronise, for tests that try them all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from metalbench.msl import engine

_ASKED_FOR = os.environ.get(engine.ENGINE_VARIABLE)
WAYS = [_ASKED_FOR] if _ASKED_FOR else list(engine.ENGINES)


@contextmanager
def on(way: str, node: pytest.Item) -> Iterator[None]:
    """Build a test's kernels on a way.

    On that of vectors all that synchronise have to be vectors, unless the test is marked
    `stays_on_fibers`; that has a kernel then that cannot.
    """
    with pytest.MonkeyPatch.context() as patch, _recorded(patch) as built:
        patch.setenv(engine.ENGINE_VARIABLE, way)
        yield
    if way == "vectors" and built:
        refused = {each.name: each.reason for each in built if each.engine == "fibers"}
        marked = node.get_closest_marker("stays_on_fibers") is not None
        assert bool(refused) == marked, f"marked stays_on_fibers: {marked}; on fibers: {refused}"


@contextmanager
def _recorded(patch: pytest.MonkeyPatch) -> Iterator[list[engine.CompiledKernel]]:
    """The kernels that synchronise and are built meanwhile, but for checked and counted builds."""
    found: list[engine.CompiledKernel] = []
    build = engine.build

    def recording(*kernel: Any, **options: Any) -> engine.CompiledKernel:
        built = build(*kernel, **options)
        if built.needs_fibers and not options.get("checked") and not options.get("counted"):
            found.append(built)
        return built

    patch.setattr(engine, "build", recording)
    yield found
