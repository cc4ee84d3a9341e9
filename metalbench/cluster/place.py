"""The near side of a seat: to those who have samples tried, the same as processes here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from metalbench.cluster.messages import Message, Start, Trying, packed, unpacked
from metalbench.errors import DeclarationError, EncodingError, MachineError
from metalbench.remote.messages import File, Opened, Opening
from metalbench.remote.reading import files_of, modules_of
from metalbench.remote.version import version_here
from metalbench.result import DeviceFacts, Result
from metalbench.run.stages import Observer, Stage
from metalbench.run.trial import Trial

Ask = Callable[[Message], Message]


@dataclass(frozen=True)
class Wanted:
    """How seats are opened: `seconds` and `memory_bytes` are what one kernel may use up."""

    seconds: float
    memory_bytes: int | None
    variables: Mapping[str, str]


class Place:
    """Tries kernels in the slot at the other end of `ask`; `end` ends that.

    `ask`, and so all methods, raise SeatLostError when the slot is gone.
    """

    def __init__(self, name: str, ask: Ask, end: Callable[[], None]) -> None:
        self._name = name
        self._ask = ask
        self._end = end
        self._sent: dict[tuple[bool, Path], bytes] = {}
        self._idle = False

    def __enter__(self) -> Place:
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
                self._asked("go on")
        except MachineError:
            pass  # it is gone before
        finally:
            self._end()

    def open(self, device: str, wanted: Wanted) -> Opened:
        """Open the device there; raises MachineError if it is not there, or not as it is here."""
        from metalbench.kernel.installed import library_folder

        headers = library_folder() / "include"
        opening = Opening(device, wanted.seconds, wanted.memory_bytes, Path.cwd(), headers)
        start = Start(opening, str(version_here()), dict(wanted.variables))
        name, opened = self._asked("start", start)
        if name != "opened":
            raise EncodingError(f"message: expected opened, got {name}")
        assert isinstance(opened, Opened)
        self._idle = True
        return opened

    def attempt(
        self, device: DeviceFacts, trial: Trial, following: Sequence[Trial], observer: Observer
    ) -> Result:
        """Take one kernel through all stages but the recording; raises as `Workers.attempt`."""
        files = self._unsent(False, files_of(trial.entry, trial.kernel))
        modules = self._unsent(True, modules_of(trial.entry))
        self._idle = False
        name, said = self._asked("try", Trying(trial, files, modules))
        while isinstance(said, Stage):
            observer.stage_started(said)
            name, said = self._asked("go on")
        self._idle = True
        if name != "result":
            raise EncodingError(f"message: expected a result, got {name}")
        assert isinstance(said, Result)
        return said

    def _asked(self, name: str, value: object = None) -> tuple[str, object]:
        kind, said = unpacked(self._ask(packed(name, value)))
        if kind == "machine":
            raise MachineError(f"[cluster] {self._name}: {said}")
        if kind == "untried":
            self._idle = True
            raise DeclarationError(str(said))
        return kind, said

    def _unsent(self, modules: bool, found: Mapping[Path, bytes]) -> tuple[File, ...]:
        new = {
            path: data for path, data in found.items() if self._sent.get((modules, path)) != data
        }
        self._sent.update({(modules, path): data for path, data in new.items()})
        return tuple(File(path, data) for path, data in new.items())
