"""Workers on another machine, with the interface of `Workers`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.kernel.source_files import library_folder
from metalbench.msl.engine import ENGINE_VARIABLE, read_engine
from metalbench.run.trial import Observer, Silent
from metalbench.workers.remote_files import read_task_modules, read_trial_files
from metalbench.workers.remote_protocol import (
    HeartbeatConnection,
    OpenReply,
    OpenRequest,
    TracePart,
    TrialRequest,
)
from metalbench.workers.ssh import (
    ANOTHER_THERE,
    DEFAULT_FOLDER,
    NOTHING_THERE,
    Address,
    ConnectionLostError,
    RemoteError,
    Ssh,
    VersionError,
    make_serve_script,
)
from metalbench.workers.version import InstalledVersion, get_local_version

if TYPE_CHECKING:
    from metalbench.compare.head_to_head import Match, MatchOutcome
    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.run.trial import Trial
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts, Result
    from metalbench.workers.channel import Message


# A GPU trace that comes in parts; what it is made of may only be files within it.

NAME = "trace"


class TraceWriter:
    """Files under `path`, or `path` itself of a trace that is one file; there when all have come.

    As a context it leaves nothing behind if an error ends it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: Path | None = None

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._folder is not None:
                os.replace(self._folder / NAME, self._path)
        except OSError as failed:
            raise MachineError(f"{self._path} cannot be written: {failed.strerror}") from failed
        finally:
            self._remove()

    def add(self, part: TracePart) -> None:
        """Append to a file; raises EncodingError for a name that leads out of the trace."""
        name = PurePosixPath(part.path)
        if name.is_absolute() or ".." in name.parts or "\0" in part.path:
            raise EncodingError(f"trace: expected the path of a file within it, got {part.path!r}")
        path = self._path
        try:
            if self._folder is None:
                # An unpredictable name: no other user can have placed a link there.
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._folder = Path(tempfile.mkdtemp(prefix=".", dir=self._path.parent))
            path = self._folder / NAME / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(part.data)
        except OSError as failed:
            raise MachineError(f"{path} cannot be written: {failed.strerror}") from failed

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


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
        from metalbench.workers.remote_protocol import SentFile

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


# From an address to a machine that is ready: the same metalbench has to be there.

# The most bytes that a login may print before the greeting.
MOST_NOISE_BYTES = 2**16
REMEDY = "add --install, which installs this very version there"


def connect(address: Address, variables: Mapping[str, str] | None = None) -> RemoteWorkers:
    """Start metalbench there; its device is yet to be opened.

    `variables` are set in its environment. Raises VersionError where it is missing or another one,
    RemoteError where the machine cannot be reached.
    """
    # Both sides run kernels of the cpu device in the same way, so that results are of one kind.
    chosen = {ENGINE_VARIABLE: read_engine(), **(variables or {})}
    ssh = Ssh(address, make_serve_script(address, chosen))
    try:
        _check_version(address, _read_greeting(ssh), ssh)
    except BaseException:
        ssh.end()
        raise
    line = HeartbeatConnection.for_client(ssh.connection)
    return RemoteWorkers(
        line,
        str(address),
        disconnect=ssh.end,
        read_output=ssh.read_output_tail,
        print_output=ssh.print_output,
    )


def _read_greeting(ssh: Ssh) -> str:
    """The first line that is ours, whatever a login prints before it; "" if there is none."""
    noise = b""
    while len(noise) < MOST_NOISE_BYTES:
        byte = ssh.read_byte()
        if byte in (b"", b"\n"):
            line = noise.decode(errors="replace").rpartition("\n")[2].strip()
            if InstalledVersion.parse(line) or line.startswith((NOTHING_THERE, ANOTHER_THERE)):
                return line
        if not byte:
            return ""
        noise += byte
    return ""


def _check_version(address: Address, greeting: str, ssh: Ssh) -> None:
    there, here = InstalledVersion.parse(greeting), get_local_version()
    if there == here:
        return
    if there is not None:
        raise VersionError(
            f"[on] {address}: expected metalbench {here}, as it is here; there is {there}; {REMEDY}"
        )
    if greeting.startswith(NOTHING_THERE):
        place = address.folder or f"{DEFAULT_FOLDER}, nor on the path"
        raise VersionError(
            f"[on] {address}: expected metalbench {here} there, and found none in {place}; {REMEDY}"
        )
    if greeting.startswith(ANOTHER_THERE):
        found = greeting.removeprefix(ANOTHER_THERE).strip()
        raise VersionError(
            f"[on] {address}: expected metalbench {here}, as it is here; what is there cannot "
            f"serve: {found}{_quote_output(ssh)}; {REMEDY}"
        )
    raise RemoteError(
        f"[on] {address} cannot be reached:{_quote_output(ssh) or ' ssh ended without a word'}\n"
        f"`ssh {' '.join(address.ssh_arguments)} true` has to work without a question, or be run "
        "at a terminal"
    )


def _quote_output(ssh: Ssh) -> str:
    # What it says last it says as it ends.
    ssh.end()
    said = ssh.read_output_tail()
    return "".join(f"\n  {line}" for line in said.splitlines()[-12:])
