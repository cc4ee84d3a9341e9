"""What runs in a worker's process: one kernel, told of and answered over a channel."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from metalbench.errors import DeclarationError, Disturbed, MachineError, MetalBenchError
from metalbench.isolation.channel import Channel
from metalbench.isolation.confinement import confine
from metalbench.isolation.executor import EXECUTORS_PER_TRIAL, Executors

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.comparison.match import Match, Outcome
    from metalbench.result import Result
    from metalbench.run.stages import Observer, Stage
    from metalbench.run.trial import Trial

# Every kernel needs these, and they take their time.
NEEDED = ("mlx.core", "metalbench.reference", "metalbench.run.attempt")
# Judging needs this, once the first windows have been timed, and some tasks do. Who is made ready
# ahead has the time; else it is imported where it is needed, for it would keep what comes before
# from going on, and the clock from starting.
NEEDED_LATER = "scipy.special"


def work(channel: int, lifeline: int, parent: int, device: str) -> None:
    """Serve the process `parent` over the descriptor `channel`: one trial on `device`."""
    gpu = device == "cuda" or needs_gpu_for_mlx(sys.path)
    means = confine(lifeline, parent, gpu=gpu, starts_executors=True)
    try:
        _serve(Channel.for_worker(Connection(channel)), device, means)
    except (EOFError, OSError):
        # Nobody is there any more to be told.
        return


def needs_gpu_for_mlx(folders: Sequence[str]) -> bool:
    """Whether MLX is there for NVIDIA's GPUs: to import it takes one, whatever device is timed.

    Only names are looked at, for nothing has been imported yet.
    """
    for folder in folders:
        with suppress(OSError):
            if any(name.startswith("mlx_cuda") for name in os.listdir(folder)):
                return True
    return False


def _serve(channel: Channel, device_name: str, means: str) -> None:
    from metalbench import _core

    # Started beside what this process has to read first. Kernels run there, and what judges here;
    # of a GPU's kernels the checked build alone.
    _core.run_apart(
        Executors(EXECUTORS_PER_TRIAL if _resolve_kind(device_name) == "cpu" else 1).start
    )
    with ThreadPoolExecutor(1, thread_name_prefix="open") as opening:
        opened = opening.submit(_open_device, device_name)
        for module in NEEDED:
            importlib.import_module(module)
    try:
        device = opened.result()
    except MetalBenchError as error:
        channel.send("machine", str(error))
        channel.receive()
        return
    channel.send("open", means)
    name, job = channel.receive()
    if name == "play":
        _answer(channel, "outcome", partial(_play, device, job))
    else:
        _prepare(channel, device, job, asked=name == "prepare")
        _answer(channel, "result", partial(_attempt, device, job))
    # The other side ends this process when it has the answer.
    channel.receive()


def _open_device(device_name: str) -> Device:
    """The device, ready for its first use."""
    from metalbench import _core

    device = _core.open(device_name)
    device.make_ready()
    return device


def _resolve_kind(device_name: str) -> str:
    from metalbench import _core

    return _core.devices()[0] if device_name == "auto" else device_name


def _prepare(channel: Channel, device: Device, trial: Trial, *, asked: bool) -> None:
    """Compile what the trial needs if that is `asked` for, and say what the trial is about."""
    from metalbench.run.ahead import precompile, prepare_reference
    from metalbench.run.trial import describe_case, find_task

    if asked:
        # Both at once: nothing is timed, and who waits for this has a core to spare.
        with ThreadPoolExecutor(2, thread_name_prefix="compile") as both:
            for checked in (False, True):
                both.submit(precompile, device, trial, checked=checked)
            # Beside them, for they mostly wait for clang.
            importlib.import_module(NEEDED_LATER)
            # Here, for MLX is this thread's alone.
            prepare_reference(device, trial)
        channel.send("ready")
        channel.receive()
    channel.send("case", describe_case(trial, find_task(trial), device))
    channel.receive()


def _attempt(device: Device, trial: Trial, observer: Observer, compiling: Executor) -> Result:
    from metalbench.run.ahead import precompile
    from metalbench.run.attempt import attempt

    if trial.kernel.is_python:
        from metalbench.python_candidate.attempt import attempt as attempt_python

        return attempt_python(device, trial, observer)
    # The checked build, which is needed after the plain one.
    pending = [compiling.submit(precompile, device, trial, checked=True)]
    return attempt(
        device, trial, observer, wait_until_quiet=partial(_wait_for_compilation, pending)
    )


def _play(device: Device, match: Match, observer: Observer, compiling: Executor) -> Outcome:
    from metalbench.comparison.match import play, precompile

    pending = [compiling.submit(precompile, device, match, checked=True)] if match.thorough else []
    return play(device, match, observer, wait_until_quiet=partial(_wait_for_compilation, pending))


def _answer(
    channel: Channel, name: str, work: Callable[[Observer, Executor], Result | Outcome]
) -> None:
    """Do what was asked for, and send what it comes to as message `name`."""
    with ThreadPoolExecutor(1, thread_name_prefix="compile") as executor:
        try:
            done = work(_ChannelObserver(channel), executor)
        except MachineError as error:
            channel.send("machine", str(error))
        except DeclarationError as error:
            channel.send("untried", str(error))
        except Disturbed as error:
            channel.send("disturbed", str(error))
        else:
            channel.send(name, done)


def _wait_for_compilation(pending: Sequence[Future[Any]]) -> None:
    wait(pending)


class _ChannelObserver:
    """Tells the other side, and of stages and a measurement's progress waits until it has heard.

    So what is done there does not disturb what is timed here.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """A run tells this, not a trial."""

    def kernel_finished(self, result: Result) -> None:
        """Likewise."""

    def stage_started(self, stage: Stage) -> None:
        self._tell("stage", stage)

    def stage_detail(self, detail: str) -> None:
        self._channel.send("detail", detail)

    def stage_progress(self, fraction: float) -> None:
        self._tell("progress", fraction)

    def _tell(self, name: str, value: object) -> None:
        self._channel.send(name, value)
        self._channel.receive()
