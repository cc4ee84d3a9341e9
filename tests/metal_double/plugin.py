"""`pytest -p metal_double.plugin`, with tests/ on PYTHONPATH: tests run on the double.

`metalbench._core` is the build that has the double's Metal in it. A test fails when the double saw
its Metal used wrongly; the run fails when objects are left at its end.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest
from metal_double.build import build

NAME = "metalbench._core"
LEFT = pytest.StashKey[str]()
GIVEN_UP_S = 15
# Apple's are there for as long as the process is.
SHARED = ("MTLCaptureManager", "NSProcessInfo")


class DoubleFinder(MetaPathFinder):
    """Finds the double's extension where the package's own would be found."""

    def __init__(self, extension: Path) -> None:
        self._extension = extension

    def find_spec(self, fullname: str, path: object = None, target: object = None):
        return spec_from_file_location(NAME, self._extension) if fullname == NAME else None


class Double:
    """The controls of the double's Metal, as its library exports them."""

    def __init__(self, extension: Path) -> None:
        self._library = ctypes.CDLL(str(extension))
        self._library.metal_double_set.argtypes = [ctypes.c_char_p, ctypes.c_double]
        self._library.metal_double_set.restype = None
        self._library.metal_double_get.argtypes = [ctypes.c_char_p]
        self._library.metal_double_get.restype = ctypes.c_double
        self._library.metal_double_text.argtypes = [ctypes.c_char_p]
        self._library.metal_double_text.restype = ctypes.c_char_p
        self._library.metal_double_reset.argtypes = []
        self._library.metal_double_reset.restype = None
        self._library.metal_double_mlx.argtypes = [
            ctypes.c_uint32,
            ctypes.c_uint32,
            ctypes.c_double,
        ]
        self._library.metal_double_mlx.restype = None
        self._library.metal_double_commit_is_replaced.argtypes = []
        self._library.metal_double_commit_is_replaced.restype = ctypes.c_bool

    def set(self, name: str, value: float = 1) -> None:
        """Make something happen, such as `fail_compile`."""
        self._library.metal_double_set(name.encode(), float(value))

    def get(self, name: str) -> float:
        """Return the count of an event, such as `command_buffers`."""
        return self._library.metal_double_get(name.encode())

    def text(self, name: str) -> str:
        """`violations`: what was used wrongly. `live_objects`: how many of which class."""
        answer = self._library.metal_double_text(name.encode())
        return (answer or b"").decode("utf-8", "replace")

    def reset(self) -> None:
        """Nothing that was set happens any more, and violations are forgotten."""
        self._library.metal_double_reset()

    @property
    def commit_is_replaced(self) -> bool:
        """Return whether the program has replaced `commit` of command buffers."""
        return bool(self._library.metal_double_commit_is_replaced())

    def mlx(self, repetitions: int, *, per_buffer: int = 1, cost_ns: float = 0) -> None:
        """Commit what MLX might on a separate queue, and wait for it.

        Command buffers of `per_buffer` repetitions each, every one of them `cost_ns` of GPU time.
        """
        self._library.metal_double_mlx(repetitions, per_buffer, float(cost_ns))


def _install() -> Path:
    if NAME in sys.modules:
        raise pytest.UsageError(f"metal_double.plugin: {NAME} is imported already; name it with -p")
    # Another build of it, such as one that notes what runs.
    named = os.environ.get("METAL_DOUBLE")
    extension = Path(named) if named else build()
    sys.meta_path.insert(0, DoubleFinder(extension))
    return extension


EXTENSION = _install()


def controls() -> Double:
    """The controls; loads the extension on first use."""
    import metalbench._core  # noqa: F401

    return Double(EXTENSION)


@pytest.fixture
def metal_double() -> Iterator[Double]:
    """The double's controls, which are back at rest after the test."""
    double = controls()
    yield double
    double.reset()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the suite for every device runs on the cpu device; it has its own run."""
    on_cpu = [item for item in items if _parameter(item, "device") == "cpu"]
    items[:] = [item for item in items if _parameter(item, "device") != "cpu"]
    config.hook.pytest_deselected(items=on_cpu)


def _parameter(item: pytest.Item, name: str) -> object:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(name) if callspec else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Fail a test that used Metal wrongly."""
    double = controls()
    before = double.get("violations")
    outcome = yield
    if double.get("violations") > before:
        pytest.fail(f"Metal was used wrongly:\n{double.text('violations')}", pytrace=False)
    return outcome


def _left() -> str:
    """Return the number of objects of each class."""
    gc.collect()
    lines = controls().text("live_objects").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(SHARED))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing of Metal's may outlive the tests. A failed test's traceback keeps what it had."""
    if exitstatus == pytest.ExitCode.OK:
        left = _left()
        # What a test gave up waiting for ends when the watchdog bites.
        deadline = time.monotonic() + GIVEN_UP_S
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = _left()
        if left:
            session.config.stash[LEFT] = left
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the classes of what is left."""
    left = terminalreporter.config.stash.get(LEFT, None)
    if left:
        terminalreporter.section("objects of Metal that were never released")
        terminalreporter.write(left)
