"""Devices whose kernels run in an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from scripted_executor import Script, ScriptedExecutor, Twice, device_apart

from metalbench import _core
from metalbench.sandbox.executors import Executor, Executors


@pytest.fixture
def scripted() -> Iterator[Callable[..., Twice]]:
    """A kernel in an executor with a script, which gets it as `scripted.last`."""
    made: list[ScriptedExecutor] = []

    def twice(script: Callable[[ScriptedExecutor], Script], function: str = "twice") -> Twice:
        def start() -> object:
            # What is started after the first one's end is honest.
            if made:
                return Executor()
            made.append(ScriptedExecutor(script))
            return made[0]

        with device_apart(start) as device:
            return Twice(device, function)

    yield twice
    for each in made:
        each.end()


@pytest.fixture
def here() -> _core.Device:
    """Kernels run in this process."""
    return _core.open("cpu")


@pytest.fixture
def device(here: _core.Device) -> Iterator[_core.Device]:
    """Kernels run in an executor."""
    executors = Executors()
    with device_apart(executors.start) as device:
        yield device
    executors.close()
