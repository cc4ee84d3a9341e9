"""Entry point of a worker process: it runs one trial and replies over a channel."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from metalbench.devices import find_kind
from metalbench.errors import DeclarationError, Disturbed, MachineError, MetalBenchError
from metalbench.sandbox.confinement import confine
from metalbench.sandbox.executors import EXECUTORS_PER_TRIAL, Executors
from metalbench.workers.channel import Channel
from metalbench.workers.needed import NEEDED, NEEDED_LATER, needs_gpu_for_mlx, resolve_kind

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.compare.head_to_head import Match, MatchOutcome
    from metalbench.run.trial import Observer, Stage, Trial
    from metalbench.store.result import Result


def work(channel: int, lifeline: int, parent: int, device: str) -> None:
    """Run one trial on `device` for the process `parent`, over the descriptor `channel`."""
    gpu = find_kind(device).runs_mlx_on_cuda or needs_gpu_for_mlx(sys.path)
    means = confine(lifeline, parent, gpu=gpu, starts_executors=True)
    try:
        _serve(Channel.for_worker(Connection(channel)), device, means)
    except (EOFError, OSError):
        # The parent has closed the channel.
        return


def _serve(channel: Channel, device_name: str, means: str) -> None:
    from metalbench import _core

    # Executors start while this process imports. Kernels run in executors, judging happens here. Of
    # a GPU's kernels only the checked build runs in an executor.
    is_simulated = find_kind(resolve_kind(device_name)).is_simulated
    executors = Executors(EXECUTORS_PER_TRIAL if is_simulated else 1)
    _core.run_apart(executors.start)
    with ThreadPoolExecutor(1, thread_name_prefix="open") as opening:
        opened = opening.submit(_open_device, device_name)
        for module in NEEDED:
            importlib.import_module(module)
        stored_forms = importlib.import_module("metalbench.reference.stored_forms")
        stored_forms.load_stored_forms()
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
        _prepare(channel, device, job, executors, asked=name == "prepare")
        _answer(channel, "result", partial(_attempt, device, job))
    # The parent ends this process after the reply.
    channel.receive()


def _open_device(device_name: str) -> Device:
    """Open the device and prepare it for its first use."""
    from metalbench import _core

    device = _core.open(device_name)
    device.make_ready()
    return device


def _prepare(
    channel: Channel, device: Device, trial: Trial, executors: Executors, *, asked: bool
) -> None:
    """Compile the trial's kernels if `asked`, and send the trial's case."""
    from metalbench.reference.stored_forms import prepare_preamble
    from metalbench.run.runner import needs_checked_build, precompile, prepare_reference
    from metalbench.run.trial import describe_case, find_task

    if device.checked_builds and needs_checked_build(device, trial):
        executors.prepare()
    if asked:
        # Both builds run concurrently: nothing is timed now.
        with ThreadPoolExecutor(2, thread_name_prefix="compile") as both:
            for checked in (False, True):
                both.submit(precompile, device, trial, checked=checked)
            # Concurrently, because both builds mostly wait for clang.
            importlib.import_module(NEEDED_LATER)
            if device.checked_builds:
                prepare_preamble()
            # In this thread, because only it may use MLX.
            prepare_reference(device, trial)
        _store_forms()
        channel.send("ready")
        channel.receive()
    channel.send("case", describe_case(trial, find_task(trial), device))
    channel.receive()


def _attempt(device: Device, trial: Trial, observer: Observer, compiling: Executor) -> Result:
    from metalbench.run.attempt import attempt
    from metalbench.run.runner import precompile

    if trial.kernel.is_python:
        from metalbench.kernelbench.candidates.attempt import attempt as attempt_python

        return attempt_python(device, trial, observer)
    # The checked build is needed after the plain one.
    pending = [compiling.submit(precompile, device, trial, checked=True)]
    return attempt(
        device, trial, observer, wait_until_quiet=partial(_wait_for_compilation, pending)
    )


def _play(device: Device, match: Match, observer: Observer, compiling: Executor) -> MatchOutcome:
    from metalbench.compare.head_to_head import play, precompile

    pending = [compiling.submit(precompile, device, match, checked=True)] if match.thorough else []
    return play(device, match, observer, wait_until_quiet=partial(_wait_for_compilation, pending))


def _answer(
    channel: Channel, name: str, work: Callable[[Observer, Executor], Result | MatchOutcome]
) -> None:
    """Do the requested work, and send its result as message `name`."""
    with ThreadPoolExecutor(1, thread_name_prefix="compile") as executor:
        try:
            done = work(_ChannelObserver(channel), executor)
            _store_forms()
        except MachineError as error:
            channel.send("machine", str(error))
        except DeclarationError as error:
            channel.send("untried", str(error))
        except Disturbed as error:
            channel.send("disturbed", str(error))
        else:
            channel.send(name, done)


def _store_forms() -> None:
    """Keep what MLX has compiled for the next workers."""
    from metalbench.reference.stored_forms import store_new_forms

    store_new_forms()


def _wait_for_compilation(pending: Sequence[Future[Any]]) -> None:
    wait(pending)


class _ChannelObserver:
    """Send stages and progress to the run. Wait for its reply to a stage and to progress.

    So work in the run does not disturb what is timed here.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def kernel_started(self, index: int, total: int, task: str, dtype: str) -> None:
        """Ignore: runs report this, not trials."""

    def kernel_finished(self, result: Result) -> None:
        """Ignore: runs report this, not trials."""

    def stage_started(self, stage: Stage) -> None:
        self._tell("stage", stage)

    def stage_detail(self, detail: str) -> None:
        self._channel.send("detail", detail)

    def stage_progress(self, fraction: float) -> None:
        self._tell("progress", fraction)

    def _tell(self, name: str, value: object) -> None:
        self._channel.send(name, value)
        self._channel.receive()
