"""Seats on the nodes of a Ray cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any

from metalbench.cluster.messages import Message
from metalbench.cluster.place import Place, Wanted
from metalbench.cluster.slot import Slot
from metalbench.errors import DeclarationError, MachineError
from metalbench.generations.gate import Gate
from metalbench.generations.seats import Seat, SeatLostError
from metalbench.remote.messages import Opened

LOCAL = "local"
RESOURCE = "metalbench_"
KINDS = ("metal", "cuda", "cpu")
SECONDS_TO_ANSWER = 5.0
SECONDS_BETWEEN_LOOKS = 2.0


def ray_installed() -> Any:
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


def expect_answer(address: str) -> None:
    """Raise DeclarationError for what is no address, MachineError if nobody answers there."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise DeclarationError(
            f"--cluster: expected local, or HOST:PORT as of `ray start --head`, got {address}"
        )
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise MachineError(
            f"--cluster {address}: nobody answers there ({error}); is `ray start --head` running, "
            "and this machine one of the cluster's?"
        ) from None


class _Holder:
    """Has all processors of a node and its device, so that nobody else computes there."""

    def here(self) -> bool:
        """Tell that it has them."""
        return True


class RaySeats:
    """The seats of all nodes: as many as a node has processors.

    Nodes with the resource ``metalbench_KIND`` own the device; each is held as a whole while this
    is open. `local` starts a cluster of this machine alone, with `count` seats.
    """

    def __init__(self, address: str, device: str, wanted: Wanted, count: int) -> None:
        self._ray = ray_installed()
        self._wanted = wanted
        self._actors: list[Any] = []
        self._known: set[str] = set()
        self._looked = float("-inf")
        self._closed = False
        self._begin(address, device, count)
        try:
            self._kind = self._only_kind(device)
            self.home = Gate()
            self._own = self._ray.get_runtime_context().get_node_id()
            self.opened = self._look_at_one()
        except BaseException:
            self.close()
            raise

    def further(self) -> Sequence[Seat]:
        """Seats of nodes that have come since."""
        if monotonic() - self._looked < SECONDS_BETWEEN_LOOKS:
            return []
        self._looked = monotonic()
        found: list[Seat] = []
        for node in self._nodes():
            if node["NodeID"] not in self._known:
                self._known.add(node["NodeID"])
                found += self._seats_of(node)
        return found

    def close(self) -> None:
        """End all that was started, and leave the cluster."""
        if self._closed:
            return
        self._closed = True
        for each in self._actors:
            self._ray.kill(each)
        self._ray.shutdown()

    def _begin(self, address: str, device: str, count: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's processes go after all others, and so would the kernels that they time.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Those who take no GPU by Ray's own count see them all the same.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        quiet = {"log_to_driver": False, "logging_level": "error"}
        if address != LOCAL:
            expect_answer(address)
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

    def _nodes(self) -> list[Mapping[str, Any]]:
        return [each for each in self._ray.nodes() if each["Alive"]]

    def _only_kind(self, device: str) -> str:
        """The kind of device that is timed; raises if no node, or nodes of several, have one."""
        owned = {each for node in self._nodes() for each in KINDS if self._owns(node, each)}
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

    def _owns(self, node: Mapping[str, Any], kind: str) -> bool:
        return float(node["Resources"].get(RESOURCE + kind, 0)) >= 1

    def _look_at_one(self) -> Opened:
        """Learn what the device is, from the first node that owns one."""
        node = next(each for each in self._nodes() if self._owns(each, self._kind))
        with self._started(node, processors=0) as place:
            return place.open(self._kind, self._wanted)

    def _seats_of(self, node: Mapping[str, Any]) -> list[Seat]:
        times = self._owns(node, self._kind)
        gate = self.home if node["NodeID"] == self._own else Gate()
        processors = int(node["Resources"].get("CPU", 0))
        holder = self._hold(node, processors) if times else None
        opening = partial(self._opened, node, holder)
        name = str(node["NodeManagerAddress"])
        return [Seat(opening, gate, times, name) for _ in range(max(processors, int(times)))]

    def _hold(self, node: Mapping[str, Any], processors: int) -> Any:
        """Have all of a node as soon as others have left it."""
        resources = {RESOURCE + self._kind: 1}
        return self._actor(_Holder, node, num_cpus=processors, resources=resources)

    def _opened(self, node: Mapping[str, Any], holder: Any) -> Place:
        """A place in a node, ready; raises SeatLostError if the node is gone."""
        if holder is None:
            place = self._started(node, processors=1)
            place.open("cpu", self._wanted)
            return place
        self._asked(holder.here)
        place = self._started(node, processors=0)
        found, expected = place.open(self._kind, self._wanted).device, self.opened.device
        if (found.kind, found.name) != (expected.kind, expected.name):
            place.__exit__(None, None, None)
            raise MachineError(
                f"[cluster] {node['NodeManagerAddress']}: expected the device {expected.name} as "
                f"the other nodes have it, got {found.name}; times of several never mix: start "
                f"Ray there without {RESOURCE}{self._kind}"
            )
        return place

    def _started(self, node: Mapping[str, Any], *, processors: int) -> Place:
        actor = self._actor(Slot, node, num_cpus=processors)
        end = partial(self._end, actor)
        return Place(str(node["NodeManagerAddress"]), partial(self._asked, actor.ask), end)

    def _actor(self, kind: type, node: Mapping[str, Any], **options: Any) -> Any:
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

    def _asked(self, method: Any, *message: Message) -> Any:
        failures = self._ray.exceptions
        try:
            return self._ray.get(method.remote(*message))
        except failures.RayTaskError as error:
            raise MachineError(f"[cluster] {error}") from error
        except failures.RayError as error:
            first = str(error).strip().partition("\n")[0]
            raise SeatLostError(f"[cluster] a worker or its node is gone: {first}") from error
