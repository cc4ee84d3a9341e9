"""Workers on another machine: to those who have kernels tried, the same as those on this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.kernel.installed import library_folder
from metalbench.remote.failures import ConnectionLostError, RemoteError
from metalbench.remote.messages import Job, Opened, Opening
from metalbench.remote.reading import files_of, modules_of
from metalbench.remote.trace import Trace
from metalbench.run.stages import Observer, Silent

if TYPE_CHECKING:
    from metalbench.comparison.match import Match, Outcome
    from metalbench.isolation.channel import Message
    from metalbench.kernel import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.remote.line import Line
    from metalbench.result import DeviceFacts, Result
    from metalbench.result.environment import Environment
    from metalbench.run.trial import Trial


class Elsewhere:
    """Tries kernels at the other end of a line, one after the other.

    `name` is what errors call the other machine, `hang_up` ends the connection, `words` are what it
    said last and `pass_on` shows what tasks have printed there. Every method raises
    ConnectionLostError once the line is broken; what had come back before is in the caller's hands.
    """

    def __init__(
        self,
        line: Line,
        name: str,
        *,
        hang_up: Callable[[], None] = lambda: None,
        words: Callable[[], str] = lambda: "",
        pass_on: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self._line: Line | None = line
        self._hang_up = hang_up
        self._words = words
        self._pass_on = pass_on
        self._sent: dict[tuple[str, Path], bytes] = {}

    def open(self, device: str, *, seconds: float, memory_bytes: int | None = None) -> None:
        """Have the device opened there, and learn what it is; raises RemoteError if there is none.

        `seconds` and `memory_bytes` are what one kernel may use up.
        """
        headers = library_folder() / "include"
        opening = Opening(device, seconds, memory_bytes, Path.cwd(), headers)
        opened: Opened = self._asked("open", opening, "opened")
        self.facts: DeviceFacts = opened.device
        self.environment: Environment = opened.environment
        self.warnings = opened.warnings

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; raises as `Workers.attempt`."""
        for each in (trial, *following):
            self._send_files(each.entry, each.kernel)
        result: Result = self._asked("try", Job(trial, tuple(following)), "result", observer)
        return result

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> Outcome:
        """Verify and time a match's candidate; raises as `Workers.play`."""
        for kernel in (match.before, match.after):
            self._send_files(match.entry, kernel)
        outcome: Outcome = self._asked("play", match, "outcome", observer)
        return outcome

    def capture(self, trial: Trial, path: Path) -> None:
        """Leave a GPU trace of one pass at `path`, all of it or nothing."""
        self._send_files(trial.entry, trial.kernel)
        with Trace(path) as trace:
            self._asked("capture", trial, "captured", trace=trace)

    def close(self) -> None:
        """Hang up: what runs there is ended with it."""
        if self._line is not None:
            self._line.close()
            self._line = None
            self._hang_up()

    def _send_files(self, entry: Entry, kernel: Kernel) -> None:
        from metalbench.remote.messages import File

        found = {("file", path): data for path, data in files_of(entry, kernel).items()}
        found |= {("module", path): data for path, data in modules_of(entry).items()}
        for key, data in found.items():
            if self._sent.get(key) != data:
                self._send(key[0], File(key[1], data))
                self._sent[key] = data

    def _asked(
        self,
        name: str,
        value: Any,
        wanted: str,
        observer: Observer | None = None,
        *,
        trace: Trace | None = None,
    ) -> Any:
        """Send a message and return what answers it; the observer hears of all before that."""
        observer = observer or Silent()
        self._send(name, value)
        while True:
            kind, said = self._heard()
            if kind == wanted:
                self._pass_on()
                return said
            if kind == "machine":
                raise MachineError(f"[on] {self.name}: {said}")
            if kind == "untried":
                raise DeclarationError(said)
            if kind == "part" and trace is not None:
                trace.add(said)
            else:
                _tell(observer, kind, said)

    def _send(self, name: str, value: Any) -> None:
        try:
            self._connected().send(name, value)
        except OSError as error:
            raise self._lost(error) from None

    def _heard(self) -> Message:
        try:
            return self._connected().receive()
        except EncodingError as error:
            self.close()
            raise RemoteError(f"[on] {self.name} sent what is no message: {error}") from error
        except (EOFError, OSError) as error:
            raise self._lost(error) from None
        except BaseException:
            # Ctrl-C: nothing is to go on there.
            self.close()
            raise

    def _connected(self) -> Line:
        if self._line is None:
            raise ConnectionLostError(f"[on] the connection to {self.name} is closed")
        return self._line

    def _lost(self, error: Exception) -> ConnectionLostError:
        self.close()
        said = self._words() or str(error) or "it ended without a word"
        quoted = "\n".join(f"  {line}" for line in said.splitlines()[-12:])
        return ConnectionLostError(
            f"[on] the connection to {self.name} broke, and what ran there was ended with it:\n"
            f"{quoted}\nWhat had come back is kept."
        )


def _tell(observer: Observer, kind: str, said: Any) -> None:
    if kind == "stage":
        observer.stage_started(said)
    elif kind == "detail":
        observer.stage_detail(said)
    elif kind == "progress":
        observer.stage_progress(said)
    else:
        raise EncodingError(f"message: {kind} answers nothing that was asked")
