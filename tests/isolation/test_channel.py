"""What a worker sends cannot make the run do anything."""

from __future__ import annotations

import os
import pickle
import sys
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_results import correct, failed

from metalbench.isolation.channel import Channel
from metalbench.run.stages import Stage


@pytest.fixture
def ends() -> tuple[Channel, Channel]:
    left, right = Pipe()
    return Channel(left), Channel(right)


class Command:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("true",)


@pytest.mark.parametrize("value", [Command(), pickle.loads, np.load, Path(), sys.exit, correct])
def test_only_results_come_out(ends: tuple[Channel, Channel], value: object) -> None:
    ends[0].send("result", value)
    with pytest.raises(pickle.UnpicklingError, match="no part of a result"):
        ends[1].receive_plain()


def test_results_come_out_as_they_went_in(ends: tuple[Channel, Channel]) -> None:
    for value in (correct("relu"), failed("gelu"), Stage.CHECK, 0.5, "small", np.float64(2)):
        ends[0].send("result", value)
        name, got = ends[1].receive_plain()
        assert name == "result"
        assert repr(got) == repr(value)


def test_bytes_that_are_no_message_are_refused(ends: tuple[Channel, Channel]) -> None:
    ends[0]._connection.send_bytes(b"\x80\x05nonsense")
    with pytest.raises(pickle.UnpicklingError):
        ends[1].receive_plain()


def test_the_end_of_the_other_side_is_told(ends: tuple[Channel, Channel]) -> None:
    ends[0].close()
    assert ends[1].waiting(0)
    with pytest.raises(EOFError):
        ends[1].receive_plain()
