"""The near side of a seat: to those who have samples tried, the same as processes here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from metalbench.cluster.messages import (
    ClusterStart,
    ClusterTrial,
    Message,
    pack_message,
    unpack_message,
)
from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.remote.messages import OpenReply, OpenRequest, SentFile
from metalbench.remote.reading import read_task_modules, read_trial_files
from metalbench.remote.version import get_local_version
from metalbench.result import DeviceFacts, Result
from metalbench.run.stages import Observer, Stage
from metalbench.run.trial import Trial

Ask = Callable[[Message], Message]


@dataclass(frozen=True)
class ClusterOptions:
    """How seats are opened: `seconds` and `memory_bytes` are what one kernel may use up."""

    seconds: float
    memory_bytes: int | None
    variables: Mapping[str, str]


class ClusterWorkerHandle:
    """Tries kernels in the slot at the other end of `ask`; `end` ends that.

    `ask`, and so all methods, raise SeatLostError when the slot is gone.
    """

    def __init__(self, name: str, ask: Ask, end: Callable[[], None]) -> None:
        self._name = name
        self._ask = ask
        self._end = end
        self._sent: dict[tuple[bool, Path], bytes] = {}
        self._idle = False

    def __enter__(self) -> ClusterWorkerHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the slot; one that is not in the middle of something puts its files away first."""
        try:
            if self._idle:
                self._request("go on")
        except MachineError:
            pass  # it is gone before
        finally:
            self._end()

    def open(self, device: str, options: ClusterOptions) -> OpenReply:
        """Open the device there; raises MachineError if it is not there, or not as it is here."""
        from metalbench.kernel.installed import library_folder

        headers = library_folder() / "include"
        opening = OpenRequest(device, options.seconds, options.memory_bytes, Path.cwd(), headers)
        start = ClusterStart(opening, str(get_local_version()), dict(options.variables))
        name, opened = self._request("start", start)
        if name != "opened":
            raise EncodingError(f"message: expected opened, got {name}")
        assert isinstance(opened, OpenReply)
        self._idle = True
        return opened

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; raises as `Workers.attempt`."""
        files = self._select_unsent(False, read_trial_files(trial.entry, trial.kernel))
        modules = self._select_unsent(True, read_task_modules(trial.entry))
        self._idle = False
        name, said = self._request("try", ClusterTrial(trial, files, modules))
        while isinstance(said, Stage):
            observer.stage_started(said)
            name, said = self._request("go on")
        self._idle = True
        if name != "result":
            raise EncodingError(f"message: expected a result, got {name}")
        assert isinstance(said, Result)
        return said

    def _request(self, name: str, value: object = None) -> tuple[str, object]:
        kind, said = unpack_message(self._ask(pack_message(name, value)))
        if kind == "machine":
            raise MachineError(f"[cluster] {self._name}: {said}")
        if kind == "untried":
            self._idle = True
            raise DeclarationError(str(said))
        return kind, said

    def _select_unsent(self, modules: bool, found: Mapping[Path, bytes]) -> tuple[SentFile, ...]:
        new = {
            path: data for path, data in found.items() if self._sent.get((modules, path)) != data
        }
        self._sent.update({(modules, path): data for path, data in new.items()})
        return tuple(SentFile(path, data) for path, data in new.items())
