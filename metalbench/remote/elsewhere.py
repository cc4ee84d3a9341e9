"""Workers on another machine, with the interface of `Workers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.kernel.installed import library_folder
from metalbench.remote.failures import ConnectionLostError, RemoteError
from metalbench.remote.messages import OpenReply, OpenRequest, TrialRequest
from metalbench.remote.reading import read_task_modules, read_trial_files
from metalbench.remote.trace import TraceWriter
from metalbench.run.stages import Observer, Silent

if TYPE_CHECKING:
    from metalbench.comparison.match import Match, MatchOutcome
    from metalbench.isolation.channel import Message
    from metalbench.kernel import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.remote.line import HeartbeatConnection
    from metalbench.result import DeviceFacts, Result
    from metalbench.result.environment import Environment
    from metalbench.run.trial import Trial


class RemoteWorkers:
    """Run kernels over a connection, one after the other.

    Errors use `name` for the other machine. `disconnect` ends the connection, `read_output` returns
    the last output of the other side, and `print_output` prints the output of tasks there. Every
    method raises ConnectionLostError once the connection is broken; earlier results are not
    affected.
    """

    def __init__(
        self,
        line: HeartbeatConnection,
        name: str,
        *,
        disconnect: Callable[[], None] = lambda: None,
        read_output: Callable[[], str] = lambda: "",
        print_output: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self._line: HeartbeatConnection | None = line
        self._disconnect = disconnect
        self._read_output = read_output
        self._print_output = print_output
        self._sent: dict[tuple[str, Path], bytes] = {}

    def open(self, device: str, *, seconds: float, memory_bytes: int | None = None) -> None:
        """Open the device on the other machine. Raises RemoteError if that fails.

        `seconds` and `memory_bytes` are the limits of one kernel.
        """
        headers = library_folder() / "include"
        opening = OpenRequest(device, seconds, memory_bytes, Path.cwd(), headers)
        opened: OpenReply = self._request("open", opening, "opened")
        self.facts: DeviceFacts = opened.device
        self.environment: Environment = opened.environment
        self.warnings = opened.warnings

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Run one kernel through all stages except recording; raises as `Workers.attempt`."""
        for each in (trial, *following):
            self._send_files(each.entry, each.kernel)
        result: Result = self._request(
            "try", TrialRequest(trial, tuple(following)), "result", observer
        )
        return result

    def play(self, device: DeviceFacts, match: Match, observer: Observer) -> MatchOutcome:
        """Verify and time the candidate of a match; raises as `Workers.play`."""
        for kernel in (match.before, match.after):
            self._send_files(match.entry, kernel)
        outcome: MatchOutcome = self._request("play", match, "outcome", observer)
        return outcome

    def capture(self, trial: Trial, path: Path) -> None:
        """Write a GPU trace of one pass to `path`, all of it or nothing."""
        self._send_files(trial.entry, trial.kernel)
        with TraceWriter(path) as trace:
            self._request("capture", trial, "captured", trace=trace)

    def close(self) -> None:
        """Close the connection; the other machine then ends what it runs."""
        if self._line is not None:
            self._line.close()
            self._line = None
            self._disconnect()

    def _send_files(self, entry: Entry, kernel: Kernel) -> None:
        from metalbench.remote.messages import SentFile

        found = {("file", path): data for path, data in read_trial_files(entry, kernel).items()}
        found |= {("module", path): data for path, data in read_task_modules(entry).items()}
        for key, data in found.items():
            if self._sent.get(key) != data:
                self._send(key[0], SentFile(key[1], data))
                self._sent[key] = data

    def _request(
        self,
        name: str,
        value: Any,
        wanted: str,
        observer: Observer | None = None,
        *,
        trace: TraceWriter | None = None,
    ) -> Any:
        """Send a message and return its reply. Pass earlier messages to the observer."""
        observer = observer or Silent()
        self._send(name, value)
        while True:
            kind, said = self._receive()
            if kind == wanted:
                self._print_output()
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
            self._get_connection().send(name, value)
        except OSError as error:
            raise self._make_lost_error(error) from None

    def _receive(self) -> Message:
        try:
            return self._get_connection().receive()
        except EncodingError as error:
            self.close()
            raise RemoteError(f"[on] {self.name} sent a malformed message: {error}") from error
        except (EOFError, OSError) as error:
            raise self._make_lost_error(error) from None
        except BaseException:
            # Ctrl-C: end what runs on the other machine.
            self.close()
            raise

    def _get_connection(self) -> HeartbeatConnection:
        if self._line is None:
            raise ConnectionLostError(f"[on] the connection to {self.name} is closed")
        return self._line

    def _make_lost_error(self, error: Exception) -> ConnectionLostError:
        self.close()
        said = self._read_output() or str(error) or "it ended without a message"
        quoted = "\n".join(f"  {line}" for line in said.splitlines()[-12:])
        return ConnectionLostError(
            f"[on] the connection to {self.name} broke, and with it ended what ran there:\n"
            f"{quoted}\nResults that arrived before are kept."
        )


def _tell(observer: Observer, kind: str, said: Any) -> None:
    if kind == "stage":
        observer.stage_started(said)
    elif kind == "detail":
        observer.stage_detail(said)
    elif kind == "progress":
        observer.stage_progress(said)
    else:
        raise EncodingError(f"message: {kind} is not a reply to the request")
