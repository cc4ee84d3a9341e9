"""Times of an executor count only as far as measured time supports them."""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import numpy as np
import pytest
from scripted_executor import DONE, Request, Script, ScriptedExecutor, Twice

from metalbench import _core
from metalbench.errors import ForgedTimes

HELD_BACK_S = 0.02
PLAUSIBLE_S = 1e-3
MOST_OF_A_HANDSHAKE_NS = 500e3


def reporting(change: Callable[[float], float]) -> Callable[[ScriptedExecutor], Script]:
    """A script that reports other times of windows."""

    def script(_: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            honest = ask()
            if kind is not Request.RUN:
                return honest
            (time_ns,) = struct.unpack("<d", honest[4:])
            return DONE + struct.pack("<d", change(time_ns))

        return answer

    return script


@pytest.mark.parametrize("reported", [1e12, -1.0, math.nan, math.inf])
def test_impossible_times_are_reported_as_forged(
    scripted: Callable[..., Twice], reported: float
) -> None:
    twice = scripted(reporting(lambda _: reported))
    with pytest.raises(ForgedTimes, match=r"of which only .* passed"):
        twice.run()


def test_short_times_gain_at_most_a_handshake(
    scripted: Callable[..., Twice],
) -> None:
    def slow(_: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            honest, end = ask(), monotonic() + HELD_BACK_S
            if kind is not Request.RUN:
                return honest
            while monotonic() < end:
                pass
            return DONE + struct.pack("<d", 0.0)

        return answer

    assert scripted(slow).run() >= 1e9 * HELD_BACK_S - MOST_OF_A_HANDSHAKE_NS


def test_times_that_are_always_too_short_are_reported() -> None:
    audit = _core.TimeAudit()
    audit.note_handshake(30e3)
    for _ in range(31):
        assert audit.audit_window(0.0, 5e6) == 5e6 - 45e3
    with pytest.raises(ForgedTimes, match=r"in 32 of 32 windows .* far less time than passed"):
        audit.audit_window(0.0, 5e6)


def test_work_after_an_answer_is_found(scripted: Callable[..., Twice]) -> None:
    """The kernel continues after the executor has reported completion, while others are timed."""
    beside: list[threading.Thread] = []

    def script(executor: ScriptedExecutor) -> Script:
        def answer(kind: Request, ask: Callable[[], bytes]) -> bytes:
            if kind is not Request.RUN:
                return DONE + bytes(8) if beside else ask()
            if not beside:
                beside.append(threading.Thread(target=until_it_is_ended, args=(ask,)))
                beside[0].start()
            # As long as it takes: a time too short is another forgery, and may be reported first.
            start = monotonic()
            while monotonic() < start + PLAUSIBLE_S:
                pass
            return DONE + struct.pack("<d", 1e9 * PLAUSIBLE_S)

        return answer

    endless = scripted(script, "endless")
    with pytest.raises(ForgedTimes, match="continues to work after it has reported completion"):
        endless.device.sample(
            endless.dispatches,
            lambda _: np.sort(np.random.default_rng(0).random(200_000)),
            candidate_window=1,
            reference_window=1,
            warmup_ns=0,
            max_pairs=100,
        )
    for each in beside:
        each.join()


def until_it_is_ended(ask: Callable[[], bytes]) -> None:
    with suppress(OSError, EOFError):
        ask()


def test_little_work_between_answers_is_accepted() -> None:
    audit = _core.TimeAudit()
    for _ in range(1000):
        audit.check_idle(0.9e6, 1e6)
        audit.check_idle(1e6, 100e6)
    with pytest.raises(ForgedTimes):
        audit.check_idle(30e6, 40e6)


def test_a_busy_machine_is_not_reported_as_forgery() -> None:
    """Delays of any length, as long as some windows have none, count to the kernel's time."""
    audit = _core.TimeAudit()
    audit.note_handshake(50e3)
    for _ in range(100):
        assert audit.audit_window(15e6, 15.05e6) == 15e6
        for _ in range(8):
            assert audit.audit_window(3e6, 15e6) == 15e6 - 75e3
            assert audit.audit_window(5e6, 15e6) == 15e6 - 75e3


def test_the_way_to_an_executor_does_not_count_as_its_time() -> None:
    audit = _core.TimeAudit()
    for seen_ns in (40e3, 20e3, 30e3):
        audit.note_handshake(seen_ns)
    assert audit.handshake_ns == 30e3
    assert audit.audit_window(1e6, 1.03e6) == 1e6
    # What is more than a handshake costs is the kernel's.
    assert audit.audit_window(1e6, 1.1e6) == 1.1e6 - 45e3


def test_an_executor_cannot_extend_its_handshake() -> None:
    audit = _core.TimeAudit()
    audit.note_handshake(30e3)
    assert audit.audit_window(1e6, 2e6) == 2e6 - 45e3
    for _ in range(100):
        audit.note_handshake(10e6)
    assert audit.handshake_ns == 10e6
    assert audit.audit_window(1e6, 2e6) == 2e6 - 90e3


def test_a_busy_start_of_the_machine_allows_little() -> None:
    audit = _core.TimeAudit()
    audit.note_handshake(10e6)
    assert audit.audit_window(1e6, 20e6) == 20e6 - 500e3
