"""The far side of a seat: kernels are tried here, in processes of their own, one at a time."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue

from metalbench import _core
from metalbench.cluster.messages import Message, Start, Trying, packed, unpacked
from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.isolation import Limits, Workers
from metalbench.remote.folder import Folder
from metalbench.remote.messages import Opened
from metalbench.remote.translated import trial_result
from metalbench.remote.version import version_here
from metalbench.result import DeviceFacts
from metalbench.result.conditions import warnings
from metalbench.result.environment import environment
from metalbench.run.observed import device_facts
from metalbench.run.stages import Silent, Stage

# What Ray sets for its own processes, and would change the times of MLX.
THREADS = "OMP_NUM_THREADS"


class Slot:
    """One process of a cluster. Each message is answered when the trial is at its next stage.

    The trial goes on when the other side says so: that one knows who may be timed.
    """

    def __init__(self) -> None:
        self._asked: SimpleQueue[Message] = SimpleQueue()
        self._said: SimpleQueue[Message] = SimpleQueue()
        # Workers live as long as the thread that starts them.
        threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, message: Message) -> Message:
        """Do what is said and return what comes of it."""
        self._asked.put(message)
        return self._said.get()

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def _serve(self) -> None:
        try:
            self._answer()
        except BaseException as error:  # to be told: nobody looks after this thread
            self._said.put(packed("machine", f"{type(error).__name__}: {error}"))

    def _answer(self) -> None:
        _, start = unpacked(self._asked.get())
        assert isinstance(start, Start)
        there = str(version_here())
        if there != start.version:
            said = f"expected metalbench {start.version}, as where it is evaluated; got {there}"
            self._said.put(packed("machine", said))
            return
        os.environ.pop(THREADS, None)
        os.environ.update(start.variables)
        opening = start.opening
        device = _core.open(opening.device)
        facts = device_facts(device)
        folder = Folder(opening.folder, opening.headers)
        self._said.put(
            packed("opened", Opened(facts, environment(), tuple(warnings(device.state()))))
        )
        memory = {"memory_bytes": opening.memory_bytes} if opening.memory_bytes else {}
        limits = Limits(opening.seconds, **memory)
        try:
            while True:
                name, value = unpacked(self._asked.get())
                if name != "try":
                    break
                # Made for each: none is being made ready while somebody else is timed.
                with Workers(opening.device, limits) as workers:
                    self._said.put(self._tried(workers, facts, folder, value))
        finally:
            folder.remove()
        self._said.put(packed("go on"))

    def _tried(self, workers: Workers, facts: DeviceFacts, folder: Folder, job: Trying) -> Message:
        try:
            for each in job.files:
                folder.put(each.path, each.data)
            for each in job.modules:
                folder.put_module(each.path, each.data)
            result = workers.attempt(facts, folder.trial(job.trial), (), _Asking(self))
            return packed("result", trial_result(result, folder.at_home))
        except DeclarationError as error:
            return packed("untried", folder.at_home(str(error)))
        except MetalBenchError as error:
            return packed("machine", folder.at_home(str(error)))

    def stage(self, stage: Stage) -> None:
        """Say that a stage is next, and wait until it may begin."""
        self._said.put(packed("stage", stage))
        self._asked.get()


class _Asking(Silent):
    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def stage_started(self, stage: Stage) -> None:
        """Wait until the stage may begin."""
        self._slot.stage(stage)
