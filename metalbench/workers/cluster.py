"""The near side of a seat: to those who have samples tried, the same as processes here."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from metalbench.devices import KINDS
from metalbench.errors import DeclarationError, EncodingError, MachineError, Unsupported
from metalbench.profiling.prediction import MeasuredDispatch
from metalbench.run.trial import Observer, Stage, Trial
from metalbench.store.result import DeviceFacts, Result
from metalbench.workers.cluster_worker import (
    ClusterStart,
    ClusterTrial,
    ClusterWorker,
    Message,
    pack_message,
    unpack_message,
)
from metalbench.workers.remote_files import read_task_modules, read_trial_files
from metalbench.workers.remote_protocol import OpenReply, OpenRequest, SentFile
from metalbench.workers.scheduler import TimingScheduler, WorkerLostError, WorkerSpec
from metalbench.workers.version import get_local_version

Ask = Callable[[Message], Message]


@dataclass(frozen=True)
class ClusterOptions:
    """Options of a cluster's workers. `seconds` and `memory_bytes` are the limits of one kernel."""

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
        from metalbench.kernel.source_files import library_folder

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

    def measure_work(self, trial: Trial) -> tuple[MeasuredDispatch, ...]:
        """Return the work of a kernel's dispatches; raise Unsupported for why there is none."""
        files = self._select_unsent(False, read_trial_files(trial.entry, trial.kernel))
        modules = self._select_unsent(True, read_task_modules(trial.entry))
        name, said = self._request("measure work", ClusterTrial(trial, files, modules))
        if name == "unpredictable":
            raise Unsupported(str(said))
        if name != "works":
            raise EncodingError(f"message: expected works, got {name}")
        assert isinstance(said, tuple)
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


# Seats on the nodes of a Ray cluster.

LOCAL = "local"
RESOURCE = "metalbench_"
SECONDS_TO_ANSWER = 5.0
SECONDS_BETWEEN_LOOKS = 2.0


def import_ray() -> Any:
    """The module ray; raises MachineError with what to do if there is none."""
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError:
        raise MachineError(
            "--cluster: ray is not installed; `pip install 'metalbench[ray]'`"
        ) from None
    return ray


def check_address(address: str) -> None:
    """Raise DeclarationError for a malformed address, MachineError if nothing answers there."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise DeclarationError(
            f"--cluster: expected local, or HOST:PORT as of `ray start --head`, got {address}"
        )
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise MachineError(
            f"--cluster {address}: nothing answers there ({error}); is `ray start --head` running, "
            "and this machine one of the cluster's?"
        ) from None


class _NodeReservation:
    """Reserve all processors and the device of a node, so that no other job computes there."""

    def confirm(self) -> bool:
        """Return True once the resources are reserved."""
        return True


class RayWorkerProvider:
    """The seats of all nodes: as many as a node has processors.

    Nodes with the resource ``metalbench_KIND`` own the device; each is held as a whole while this
    is open. `local` starts a cluster of this machine alone, with `count` seats. Without `timed` no
    node is held: all of them verify on their cpu device, and `opened` is None.
    """

    def __init__(
        self,
        address: str,
        device: str,
        wanted: ClusterOptions,
        count: int,
        *,
        timed: bool = True,
    ) -> None:
        self._ray = import_ray()
        self._wanted = wanted
        self._actors: list[Any] = []
        self._known: set[str] = set()
        self._last_poll = float("-inf")
        self._closed = False
        self._connect(address, device, count)
        try:
            self._kind = self._choose_kind(device) if timed else None
            self.local_scheduler = TimingScheduler()
            self._own_node = self._ray.get_runtime_context().get_node_id()
            self.opened = self._open_first(self._kind) if self._kind is not None else None
        except BaseException:
            self.close()
            raise

    def list_new_workers(self) -> Sequence[WorkerSpec]:
        """Seats of nodes that have come since."""
        if monotonic() - self._last_poll < SECONDS_BETWEEN_LOOKS:
            return []
        self._last_poll = monotonic()
        found: list[WorkerSpec] = []
        for node in self._list_nodes():
            if node["NodeID"] not in self._known:
                self._known.add(node["NodeID"])
                found += self._list_node_workers(node)
        return found

    def close(self) -> None:
        """End all that was started, and leave the cluster."""
        if self._closed:
            return
        self._closed = True
        for each in self._actors:
            self._ray.kill(each)
        self._ray.shutdown()

    def _connect(self, address: str, device: str, count: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's processes go after all others, and so would the kernels that they time.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Those who take no GPU by Ray's own count see them all the same.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        quiet = {"log_to_driver": False, "logging_level": "error"}
        if address != LOCAL:
            check_address(address)
            try:
                self._ray.init(address, **quiet)
            except (OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
                raise MachineError(f"--cluster {address}: {error}") from None
            return
        from metalbench import _core

        resources = {RESOURCE + _core.open(device).kind: 1}
        self._ray.init(
            "local", num_cpus=count, resources=resources, include_dashboard=False, **quiet
        )

    def _list_nodes(self) -> list[Mapping[str, Any]]:
        return [each for each in self._ray.nodes() if each["Alive"]]

    def _choose_kind(self, device: str) -> str:
        """The kind of device that is timed; raises if no node, or nodes of several, have one."""
        owned = {
            each for node in self._list_nodes() for each in KINDS if self._has_device(node, each)
        }
        wanted = owned if device == "auto" else owned & {device}
        if len(wanted) == 1:
            return wanted.pop()
        if wanted:
            raise DeclarationError(
                f"--cluster: expected --device, for nodes own {' and '.join(sorted(wanted))}"
            )
        kind = "cpu" if device == "auto" else device
        raise MachineError(
            f"--cluster: no node owns the device {device}; start one as `ray start --address=... "
            f"--resources='{{\"{RESOURCE}{kind}\": 1}}'`"
        )

    def _has_device(self, node: Mapping[str, Any], kind: str | None) -> bool:
        return kind is not None and float(node["Resources"].get(RESOURCE + kind, 0)) >= 1

    def _open_first(self, kind: str) -> OpenReply:
        """Learn what the device is, from the first node that owns one."""
        node = next(each for each in self._list_nodes() if self._has_device(each, kind))
        with self._start_worker(node, processors=0) as handle:
            return handle.open(kind, self._wanted)

    def _list_node_workers(self, node: Mapping[str, Any]) -> list[WorkerSpec]:
        can_time = self._has_device(node, self._kind)
        scheduler = self.local_scheduler if node["NodeID"] == self._own_node else TimingScheduler()
        processors = int(node["Resources"].get("CPU", 0))
        holder = None
        if can_time and self._kind is not None:
            holder = self._reserve_node(node, processors, self._kind)
        opening = partial(self._open_worker, node, holder)
        name = str(node["NodeManagerAddress"])
        return [
            WorkerSpec(opening, scheduler, can_time, name)
            for _ in range(max(processors, int(can_time)))
        ]

    def _reserve_node(self, node: Mapping[str, Any], processors: int, kind: str) -> Any:
        """Have all of a node as soon as others have left it."""
        resources = {RESOURCE + kind: 1}
        return self._start_actor(_NodeReservation, node, num_cpus=processors, resources=resources)

    def _open_worker(self, node: Mapping[str, Any], holder: Any) -> ClusterWorkerHandle:
        """A place in a node, ready; raises SeatLostError if the node is gone."""
        if holder is None or self._kind is None or self.opened is None:
            handle = self._start_worker(node, processors=1)
            handle.open("cpu", self._wanted)
            return handle
        self._call_actor(holder.confirm)
        handle = self._start_worker(node, processors=0)
        found, expected = handle.open(self._kind, self._wanted).device, self.opened.device
        if (found.kind, found.name) != (expected.kind, expected.name):
            handle.__exit__(None, None, None)
            raise MachineError(
                f"[cluster] {node['NodeManagerAddress']}: expected the device {expected.name} as "
                f"the other nodes have it, got {found.name}; times of several never mix: start "
                f"Ray there without {RESOURCE}{self._kind}"
            )
        return handle

    def _start_worker(self, node: Mapping[str, Any], *, processors: int) -> ClusterWorkerHandle:
        actor = self._start_actor(ClusterWorker, node, num_cpus=processors)
        end = partial(self._end, actor)
        return ClusterWorkerHandle(
            str(node["NodeManagerAddress"]), partial(self._call_actor, actor.ask), end
        )

    def _start_actor(self, kind: type, node: Mapping[str, Any], **options: Any) -> Any:
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            node["NodeID"], soft=False
        )
        remote = self._ray.remote(kind).options(
            scheduling_strategy=there, max_restarts=0, max_concurrency=2, **options
        )
        self._actors.append(remote.remote())
        return self._actors[-1]

    def _end(self, actor: Any) -> None:
        if not self._closed:
            self._ray.kill(actor)

    def _call_actor(self, method: Any, *message: Message) -> Any:
        failures = self._ray.exceptions
        try:
            return self._ray.get(method.remote(*message))
        except failures.RayTaskError as error:
            raise MachineError(f"[cluster] {error}") from error
        except failures.RayError as error:
            first = str(error).strip().partition("\n")[0]
            raise WorkerLostError(f"[cluster] a worker or its node is gone: {first}") from error
