"""``metalbench serve``: the side of a connection at which kernels run."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

from metalbench import _core
from metalbench.errors import (
    DeclarationError,
    EncodingError,
    MachineError,
    MetalBenchError,
    Unsupported,
)
from metalbench.process import usable_cores
from metalbench.run.single_pass import capture, check_captures
from metalbench.run.trial import Stage, device_facts
from metalbench.safe_text import terminal_text
from metalbench.sandbox.resources import Limits
from metalbench.store.environment import environment
from metalbench.store.result import list_device_warnings, warn_of_load
from metalbench.workers.pool import Workers
from metalbench.workers.remote_files import SessionFolder, translate_outcome, translate_result
from metalbench.workers.remote_protocol import (
    DuplexConnection,
    HeartbeatConnection,
    OpenReply,
    OpenRequest,
    TracePart,
    TrialRequest,
)

if TYPE_CHECKING:
    from metalbench.compare.head_to_head import Match
    from metalbench.run.trial import Trial
    from metalbench.store.result import DeviceFacts, Result
    from metalbench.workers.channel import Message


# One kernel at a time on a machine, however many sessions other machines have with it.

WAITING = "another session has the machine; waiting for it"


@contextmanager
def hold_machine(report_wait: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other session of this user runs a kernel; call `report_wait` if one does.

    The operating system releases the lock when its process ends, however that happens.
    """
    with get_lock_file().open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report_wait(WAITING)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def get_lock_file() -> Path:
    """Return the file that a session locks while it runs a kernel."""
    return Path(tempfile.gettempdir()) / f"metalbench-{os.getuid()}.lock"


PART_BYTES = 2**20


def serve(line: HeartbeatConnection) -> None:
    """Serve requests over `line`, one after the other, until the client is gone.

    Then, or if the client is silent for too long, this process ends at once. Its workers end with
    it.
    """
    name, opening = line.receive()
    if name != "open":
        raise EncodingError(f"message: expected open, got {name}")
    folder = SessionFolder(opening.folder, opening.headers)
    asked: SimpleQueue[Message] = SimpleQueue()
    # Workers live as long as the thread that starts them, which is the one that goes on here.
    Thread(target=_listen, args=(line, folder, asked), daemon=True).start()
    try:
        with suppress(OSError):
            _Session(line, folder, opening).answer(asked)
    finally:
        folder.remove()


def _listen(line: HeartbeatConnection, folder: SessionFolder, asked: SimpleQueue[Message]) -> None:
    """Store and queue messages that arrive. Return when the connection is lost."""
    try:
        while True:
            name, value = message = line.receive_any()
            if name == "file":
                folder.write_file(value.path, value.data)
            elif name == "module":
                folder.write_module(value.path, value.data)
            elif name != "beat":
                asked.put(message)
    except (EOFError, OSError):
        pass
    except (EncodingError, MachineError) as error:
        print(
            terminal_text(f"[serve] {folder.restore_paths(str(error))}"),
            file=sys.stderr,
            flush=True,
        )
    finally:
        folder.remove()
        os._exit(0)


class _Session:
    """The device, and the processes in which kernels are tried on it."""

    def __init__(
        self, line: HeartbeatConnection, folder: SessionFolder, opening: OpenRequest
    ) -> None:
        self._line = line
        self._folder = folder
        limits = {"memory_bytes": opening.memory_bytes} if opening.memory_bytes else {}
        self._workers = Workers(opening.device, Limits(opening.seconds, **limits))
        self._wanted = opening.device

    def answer(self, asked: SimpleQueue[Message]) -> None:
        """Open the device, and do what is asked; what goes wrong is an answer."""
        with self._workers:
            try:
                device = _core.open(self._wanted)
            except (MachineError, Unsupported) as error:
                self._line.send("machine", str(error))
                return
            self._tell_opened(device)
            while True:
                message = asked.get()
                try:
                    with hold_machine(lambda said: self._line.send("detail", said)):
                        for name, value in self._handle(device, message):
                            self._line.send(name, value)
                except DeclarationError as error:
                    self._line.send("untried", self._folder.restore_paths(str(error)))
                except MetalBenchError as error:
                    self._line.send("machine", self._folder.restore_paths(str(error)))

    def _tell_opened(self, device: _core.Device) -> None:
        busy = warn_of_load(os.getloadavg()[0], usable_cores())
        said = (*list_device_warnings(device.state()), *([busy] if busy else []))
        self._line.send("opened", OpenReply(device_facts(device), environment(), said))

    def _handle(self, device: _core.Device, message: Message) -> Iterator[Message]:
        name, value = message
        facts = device_facts(device)
        if name == "try":
            yield "result", self._try(facts, value)
        elif name == "play":
            yield "outcome", self._play(facts, value)
        elif name == "capture":
            yield from _capture_trace(device, self._folder.map_trial(value))

    def _try(self, facts: DeviceFacts, job: TrialRequest) -> Result:
        trial, *following = map(self._folder.map_trial, (job.trial, *job.following))
        result = self._workers.attempt(facts, trial, following, _ForwardingObserver(self._line))
        return translate_result(result, self._folder.restore_paths)

    def _play(self, facts: DeviceFacts, match: Match) -> object:
        outcome = self._workers.play(
            facts, self._folder.map_match(match), _ForwardingObserver(self._line)
        )
        return translate_outcome(outcome, self._folder.restore_paths)


def _capture_trace(device: _core.Device, trial: Trial) -> Iterator[Message]:
    """Capture one pass, and send the trace file by file."""
    check_captures(device)
    with TemporaryDirectory(prefix="metalbench-trace-") as place:
        trace = Path(place) / f"{trial.entry.name}.gputrace"
        capture(device, trial, trace)
        files = sorted(each for each in trace.rglob("*") if each.is_file())
        for path in files if trace.is_dir() else [trace]:
            name = path.relative_to(trace).as_posix()
            with path.open("rb") as file:
                data = file.read(PART_BYTES)
                yield "part", TracePart(name, data)
                while data := file.read(PART_BYTES):
                    yield "part", TracePart(name, data)
    yield "captured", None


class _ForwardingObserver:
    """Forward the observer's calls to the client. Calls do not wait for its answer."""

    def __init__(self, line: HeartbeatConnection) -> None:
        self._line = line

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """A run tells this, not a trial."""

    def kernel_finished(self, result: Result) -> None:
        """Likewise."""

    def stage_started(self, stage: Stage) -> None:
        """Tell of a stage."""
        self._line.send("stage", stage)

    def stage_detail(self, detail: str) -> None:
        """Tell what it is at."""
        self._line.send("detail", detail)

    def stage_progress(self, fraction: float) -> None:
        """Tell how much of it is done."""
        self._line.send("progress", fraction)


def connect_standard_streams() -> HeartbeatConnection:
    """A line over standard input and output, which nothing else reads or writes from here on."""
    line = HeartbeatConnection.for_server(DuplexConnection(os.dup(0), os.dup(1)))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return line
