"""Run trials in a worker of a Ray cluster. Messages are bytes that only this module decodes."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from functools import cache
from queue import SimpleQueue
from typing import Any

from metalbench import _core
from metalbench.errors import DeclarationError, EncodingError, MachineError, MetalBenchError
from metalbench.profiling.prediction import MeasuredDispatch, measure_kernel
from metalbench.run.trial import Silent, Stage, Trial, device_facts
from metalbench.sandbox.encoding import decode, encode
from metalbench.sandbox.resources import Limits
from metalbench.store.environment import environment
from metalbench.store.result import DeviceFacts, Result, list_device_warnings
from metalbench.workers.pool import Workers
from metalbench.workers.remote_files import SessionFolder, translate_result
from metalbench.workers.remote_protocol import OpenReply, OpenRequest, SentFile
from metalbench.workers.version import get_local_version

Message = tuple[str, bytes]


@dataclass(frozen=True)
class ClusterStart:
    """The first message to a worker: metalbench's local version, and environment variables."""

    opening: OpenRequest
    version: str
    variables: dict[str, str]


@dataclass(frozen=True)
class ClusterTrial:
    """A trial, with the files that it reads and that the worker does not have yet."""

    trial: Trial
    files: tuple[SentFile, ...]
    modules: tuple[SentFile, ...]


@cache
def _list_message_types() -> dict[str, Any]:
    return {
        "start": ClusterStart,
        "try": ClusterTrial,
        "measure work": ClusterTrial,
        "go on": type(None),
        "opened": OpenReply,
        "stage": Stage,
        "result": Result,
        "works": tuple[MeasuredDispatch, ...],
        "unpredictable": str,
        "machine": str,
        "untried": str,
    }


def pack_message(name: str, value: object = None) -> Message:
    """Return a message. Raise EncodingError if `value` has not the type of messages `name`."""
    return name, encode(value, _list_message_types()[name], name)


def unpack_message(message: Message) -> tuple[str, Any]:
    """Return name and value of a message. Raise EncodingError for a malformed one."""
    name, data = message
    if name not in _list_message_types():
        raise EncodingError(
            f"message: expected one of {', '.join(_list_message_types())}; got {name[:40]!r}"
        )
    return name, decode(data, _list_message_types()[name], name)


# The worker of the cluster: it runs trials one at a time, each in a separate process.

# Ray sets this variable for its processes. It would change the times of MLX.
THREADS = "OMP_NUM_THREADS"


class ClusterWorker:
    """One process of a cluster. Each message is answered when the trial is at its next stage.

    The trial goes on when the evaluating side sends "go on", which schedules the timing.
    """

    def __init__(self) -> None:
        self._requests: SimpleQueue[Message] = SimpleQueue()
        self._replies: SimpleQueue[Message] = SimpleQueue()
        # Workers live as long as the thread that starts them.
        threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, message: Message) -> Message:
        """Pass a message to the trial's thread and return the reply."""
        self._requests.put(message)
        return self._replies.get()

    def process(self) -> int:
        """Return the identifier of this process."""
        return os.getpid()

    def _serve(self) -> None:
        try:
            self._answer()
        except BaseException as error:  # nothing waits for this thread, so it reports the error
            self._replies.put(pack_message("machine", f"{type(error).__name__}: {error}"))

    def _answer(self) -> None:
        _, start = unpack_message(self._requests.get())
        assert isinstance(start, ClusterStart)
        there = str(get_local_version())
        if there != start.version:
            said = f"expected metalbench {start.version}, as where it is evaluated; got {there}"
            self._replies.put(pack_message("machine", said))
            return
        os.environ.pop(THREADS, None)
        os.environ.update(start.variables)
        opening = start.opening
        device = _core.open(opening.device)
        facts = device_facts(device)
        folder = SessionFolder(opening.folder, opening.headers)
        self._replies.put(
            pack_message(
                "opened",
                OpenReply(facts, environment(), tuple(list_device_warnings(device.state()))),
            )
        )
        memory = {"memory_bytes": opening.memory_bytes} if opening.memory_bytes else {}
        limits = Limits(opening.seconds, **memory)
        try:
            while True:
                name, value = unpack_message(self._requests.get())
                if name == "measure work":
                    self._replies.put(self._measure_work(folder, value))
                    continue
                if name != "try":
                    break
                # Made for each: none is being made ready while somebody else is timed.
                with Workers(opening.device, limits) as workers:
                    self._replies.put(self._run_trial(workers, facts, folder, value))
        finally:
            folder.remove()
        self._replies.put(pack_message("go on"))

    def _measure_work(self, folder: SessionFolder, job: ClusterTrial) -> Message:
        """Return the work of a kernel's dispatches, from which times of Apple GPUs are predicted.

        Its code runs in an executor, as in every prediction.
        """
        try:
            self._write_files(folder, job)
            trial = folder.map_trial(job.trial)
            works = measure_kernel(
                trial.kernel,
                *(trial.entry.task, trial.size or trial.entry.task.headline),
                dtype_name=trial.dtype,
                tunables=trial.tunables,
                seed=trial.seed,
            )
        except MachineError as error:
            return pack_message("machine", folder.restore_paths(str(error)))
        except MetalBenchError as error:
            return pack_message("unpredictable", folder.restore_paths(str(error)))
        found = tuple(
            replace(
                each,
                line_causes={
                    (folder.restore_paths(file), line): causes
                    for (file, line), causes in each.line_causes.items()
                },
            )
            for each in works
        )
        return pack_message("works", found)

    @staticmethod
    def _write_files(folder: SessionFolder, job: ClusterTrial) -> None:
        for each in job.files:
            folder.write_file(each.path, each.data)
        for each in job.modules:
            folder.write_module(each.path, each.data)

    def _run_trial(
        self, workers: Workers, facts: DeviceFacts, folder: SessionFolder, job: ClusterTrial
    ) -> Message:
        try:
            self._write_files(folder, job)
            result = workers.attempt(facts, folder.map_trial(job.trial), (), _StageObserver(self))
            return pack_message("result", translate_result(result, folder.restore_paths))
        except DeclarationError as error:
            return pack_message("untried", folder.restore_paths(str(error)))
        except MetalBenchError as error:
            return pack_message("machine", folder.restore_paths(str(error)))

    def wait_for_stage(self, stage: Stage) -> None:
        """Say that a stage is next, and wait until it may begin."""
        self._replies.put(pack_message("stage", stage))
        self._requests.get()


class _StageObserver(Silent):
    def __init__(self, slot: ClusterWorker) -> None:
        self._slot = slot

    def stage_started(self, stage: Stage) -> None:
        """Wait until the stage may begin."""
        self._slot.wait_for_stage(stage)
