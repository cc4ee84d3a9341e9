"""A Python candidate that sends the judge forged messages, from its real process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.errors import KernelDied, MetalBenchError, TimeLimitExceeded
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates import candidate as module
from metalbench.kernelbench.candidates.candidate import Candidate
from metalbench.kernelbench.candidates.source import parse
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp and Landlock are Linux's")
TASK = Library().entry("relu").task
HEAD = """def playing():
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        found = frame.f_locals.get("self")
        if type(found).__name__ == "_CandidateServer":
            return found
        frame = frame.f_back


place = playing()
known = type(place)._execute.__globals__


def relu(x):
    return x


"""
ASKS = """def call(count):
    place._kernels.wanted[known["Launch"](NAME, FILE, UNIT, "fast", (1, 1, 1), 0)] = None


place._call = call
"""
SECRET = "the secret of the host"
KERNEL = "kernel void k(device float* y [[buffer(0)]]) { y[0] = unknown; }"
PRELUDE = '#include "mlx.h"\n'
# By the way in which the judge's compiler is asked to read the file FOLDER/secret.h.
READS = {
    "an include in the name": ('<a\n#include "FOLDER/secret.h"\n//>', PRELUDE + KERNEL),
    "a carriage return in the name": ('<a\r#include "FOLDER/secret.h"\r//>', PRELUDE + KERNEL),
    "a quote in the name": ('<a"\n#include "FOLDER/secret.h">', PRELUDE + KERNEL),
    "the folder of the name": ("FOLDER/a", PRELUDE + '#include "secret.h"\n' + KERNEL),
    "the folder in brackets": ("<FOLDER/a>", PRELUDE + '#include "secret.h"\n' + KERNEL),
    "the working directory": ("<a>", PRELUDE + '#include "secret.h"\n' + KERNEL),
    "an absolute name": ("<a>", PRELUDE + '#include "FOLDER/secret.h"\n' + KERNEL),
    "a parent folder": ("<a>", PRELUDE + "#include <../../../../FOLDER/secret.h>\n" + KERNEL),
    "a file that is embedded": ("<a>", PRELUDE + '#embed "FOLDER/secret.h"\n' + KERNEL),
    "a line that is named": (
        "<a>",
        PRELUDE + '#line 1 "FOLDER/a"\n#include "secret.h"\n' + KERNEL,
    ),
    "another prelude": ("<a>", '#include "secret.h"\n' + KERNEL),
}


def failure(text: str) -> MetalBenchError:
    """Return the error that the judge raises for a candidate at its first call."""
    kernel = parse(text, name="relu", path=Path("answer.py"))
    work = workload(TASK, "small", seed=3)
    with (
        Candidate(_core.open("cpu"), kernel, TASK, dtype("float32")) as candidate,
        pytest.raises(MetalBenchError) as caught,
    ):
        candidate.call(candidate.bind(work).dispatches[0])
    return caught.value


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(each, marks=() if number < 2 else pytest.mark.slow)
        for number, each in enumerate(READS)
    ],
)
def test_no_file_of_the_host_is_read_by_the_judge_s_compiler(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.h").write_text(f"{SECRET};\n")
    monkeypatch.chdir(tmp_path)
    file, unit = (each.replace("FOLDER", str(tmp_path)) for each in READS[way])
    asks = ASKS.replace("NAME", "'k'").replace("FILE", repr(file)).replace("UNIT", repr(unit))
    message = str(failure(HEAD + asks))
    assert "expected" in message or "not allowed" in message
    assert "secret of" not in message


def test_a_prelude_of_the_working_directory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mlx.h").write_text(f"{SECRET};\n")
    monkeypatch.chdir(tmp_path)
    asks = ASKS.replace("NAME", "'k'").replace("FILE", "'<a>'")
    message = str(failure(HEAD + asks.replace("UNIT", repr(PRELUDE + KERNEL))))
    assert "undeclared identifier 'unknown'" in message
    assert "secret" not in message


@pytest.mark.parametrize("part", [r"\0\0\x10\0D", r"\0\0\x10\0" + "D" * 4095])
def test_part_of_a_message_ends_with_the_time_limit(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIME_LIMIT", 0.5)
    send = f"known['os'].write(place._connection.fileno(), b'{part}')\nwhile True:\n    pass\n"
    assert isinstance(failure(HEAD + send), TimeLimitExceeded)


def test_a_message_of_an_impossible_length_is_refused() -> None:
    send = r"known['os'].write(place._connection.fileno(), b'\x7f\xff\xff\xff')"
    found = failure(HEAD + send + "\nwhile True:\n    pass\n")
    assert isinstance(found, KernelDied)
    assert "expected a message of at most" in str(found)
