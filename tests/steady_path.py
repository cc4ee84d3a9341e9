"""A folder of the test that has the same path in each test of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the test's folder the same path as that of the tests before it.

    A compiled kernel contains the path of its source, so its key in the cache does, too. Kernels
    that many tests write are thus compiled once in a process, and not once in a test. Libraries in
    such a folder must not be loaded: the system takes the next one at that path for the same.
    """
    folder = tmp_path_factory.getbasetemp() / "test"
    tmp_path.rename(folder)
    yield folder
    folder.rename(tmp_path)
