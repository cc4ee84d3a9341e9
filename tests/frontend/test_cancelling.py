"""An interrupted compilation ends its compilers, and caches nothing about the source."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from metalbench.msl.toolchain.compiler_pool import (
    CompilationCancelledError,
    ToolGroup,
    find_group,
    open_compiler_pool,
)
from metalbench.msl.toolchain.run_tool import run_tool

# A program that runs longer than any test may take.
ENDLESS = ["sleep", "1000"]
LIMIT_S = 60


def interrupt_pool(outcomes):
    """Interrupt a pool of two threads that both run an endless program."""
    started = threading.Barrier(3)

    def work():
        started.wait(LIMIT_S)
        return run_tool(ENDLESS, "")

    with open_compiler_pool(2) as pool:
        outcomes += [pool.submit(work) for _ in range(4)]
        started.wait(LIMIT_S)
        raise KeyboardInterrupt


def test_an_interrupted_pool_ends_its_programs():
    outcomes = []
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_pool(outcomes)
    assert time.monotonic() - begin < LIMIT_S
    assert [each.cancelled() for each in outcomes] == [False, False, True, True]
    for each in outcomes[:2]:
        assert isinstance(each.exception(), CompilationCancelledError)


def test_a_pool_without_an_interruption_waits_for_its_programs():
    with open_compiler_pool(2) as pool:
        found = [pool.submit(run_tool, ["echo", str(each)], "") for each in range(4)]
    assert [each.result().stdout for each in found] == [f"{each}\n" for each in range(4)]


def test_a_cancelled_group_starts_no_program(tmp_path):
    made = tmp_path / "made"
    outcomes = []

    def work():
        group = ToolGroup()
        group.bind_thread()
        group.cancel()
        try:
            run_tool(["touch", str(made)], "", writes=[tmp_path])
        except CompilationCancelledError as error:
            outcomes.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(LIMIT_S)
    assert len(outcomes) == 1
    assert not made.exists()
    # Other threads are not concerned.
    find_group().check()


def test_a_program_that_ctrl_c_ends_is_no_failure_of_its_input():
    """The terminal sends SIGINT to the compiler, too; its result must not be cached."""
    command = ["sh", "-c", f"trap - INT; kill -{int(signal.SIGINT)} $$; sleep 1000"]
    with pytest.raises(CompilationCancelledError, match="interrupted"):
        run_tool(command, "")
