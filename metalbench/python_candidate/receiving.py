"""What comes from a candidate's process, received and decoded: every field of it may be hostile.

Code of the candidate can reach the objects of its process and send the judge whatever it likes.
"""

from __future__ import annotations

import os
import re
import select
import unicodedata
from multiprocessing.connection import Connection
from time import monotonic

from metalbench.custom_kernel.definition import MATH_MODES
from metalbench.errors import EncodingError
from metalbench.isolation.encoding import decode
from metalbench.python_candidate.messages import MOST_BYTES, CandidateError, Launch

# Kernels that one call may need, and the length of the text of each.
MOST_LAUNCHES = 256
MOST_TEXT = 1 << 20
MOST_MESSAGE = 4000
# A message is preceded by its length in four bytes, as `Connection` sends it.
_LENGTH_BYTES = 4
_CHUNK = 1 << 16
_NAME = re.compile(r"[A-Za-z_]\w{0,999}", re.ASCII)
_FILE = re.compile(r"<\w{1,250}>", re.ASCII)
_KIND = re.compile(r"\w{1,100}", re.ASCII)
_BEGIN = '#include "mlx.h"\n'
_BLANKS = "\t\n\v\f\r"
_MOST_THREADS = 2**31 - 1


def receive(connection: Connection, limit_s: float) -> bytes | None:
    """Return the next message, or None if it is not complete within the limit.

    Raises EOFError if the other end is closed, and EncodingError for a message that is too long.
    """
    deadline = monotonic() + limit_s
    header = _read_exactly(connection, _LENGTH_BYTES, deadline)
    if header is None:
        return None
    length = int.from_bytes(header, "big", signed=True)
    if not 0 <= length <= MOST_BYTES:
        raise EncodingError(f"expected a message of at most {MOST_BYTES} bytes, got {length}")
    return _read_exactly(connection, length, deadline)


def decode_launches(data: bytes) -> tuple[Launch, ...]:
    """Return the launches that a message asks for; raises EncodingError if one cannot be."""
    found: tuple[Launch, ...] = decode(data, tuple[Launch, ...])
    if not 1 <= len(found) <= MOST_LAUNCHES:
        raise EncodingError(f"expected 1 to {MOST_LAUNCHES} kernels, got {len(found)}")
    for each in found:
        _check(each)
    return found


def decode_error(data: bytes) -> CandidateError:
    """Return what the process says went wrong, as text that can be shown and kept."""
    told = decode(data, CandidateError)
    kind = told.kind if _KIND.fullmatch(told.kind) else "raised"
    return CandidateError(kind, _escape(told.message[:MOST_MESSAGE])[:MOST_MESSAGE])


def _read_exactly(connection: Connection, count: int, deadline: float) -> bytes | None:
    number = connection.fileno()
    poll = select.poll()
    poll.register(number, select.POLLIN)
    found = bytearray()
    while len(found) < count:
        left = deadline - monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        part = os.read(number, min(count - len(found), _CHUNK))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _check(launch: Launch) -> None:
    _expect(_NAME.fullmatch(launch.name), "name", "an identifier", launch.name)
    _expect(_FILE.fullmatch(launch.file), "file", "<NAME> of letters, digits and _", launch.file)
    _expect(launch.math in MATH_MODES, "math", " or ".join(MATH_MODES), launch.math)
    unit = launch.unit
    _expect(len(unit) <= MOST_TEXT, "unit", f"at most {MOST_TEXT} characters", len(unit))
    _expect(unit.startswith(_BEGIN), "unit", f"a text that begins with {_BEGIN!r}", unit[:40])
    odd = next((each for each in unit if _is_odd(each)), None)
    _expect(odd is None, "unit", "characters of Unicode without control characters", odd)
    for size in launch.threads:
        _expect(0 < size <= _MOST_THREADS, "threads", f"1 to {_MOST_THREADS}", size)
    _expect(
        0 <= launch.last < launch.threads[0], "last", "fewer threads than a group's", launch.last
    )


def _is_odd(character: str) -> bool:
    return character not in _BLANKS and unicodedata.category(character) in {"Cc", "Cs"}


def _expect(holds: object, field: str, expected: str, got: object) -> None:
    if not holds:
        shown = ascii(got)
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        raise EncodingError(f"{field} of a kernel: expected {expected}, got {shown}")


def _escape(text: str) -> str:
    return "".join(
        each.encode("unicode_escape").decode("ascii") if _is_odd(each) else each for each in text
    )
