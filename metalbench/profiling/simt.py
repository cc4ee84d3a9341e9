"""Run sampled threadgroups of a kernel and count what a core of a GPU would do.

All threads of the sample run together, one step of `lane_code.py` at a time: the first step, in the
order of the code, that a thread is at. A SIMD-group executes a step once for all of its threads
that are at it, as the hardware does with its execution mask. Memory is one array of bytes. Reads
outside of it return other bytes of it, and writes outside of it are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalbench.chips import SIMD_WIDTH
from metalbench.profiling.lane_code import GLOBALS_START, LaneCode, UnsupportedCodeError
from metalbench.profiling.lane_functions import FUNCTIONS, Values, as_signed, narrow, widen

LINE_BYTES = 128
BANKS = 32
Array = np.ndarray[Any, Any]
# The layout of the engine's structs `Launch` and `Group` (csrc/msl/mb/cpu/abi.h).
_LAUNCH_BUFFERS, _LAUNCH_OFFSETS, _LAUNCH_BYTES = 40, 40 + 8 * 31, 40 + 8 * 31 + 4 * 31 + 20
_GROUP_BYTES, _GROUP_POSITION, _GROUP_SIZE, _GROUP_THREADS = 64, 24, 36, 48
_GAP = 4096
# Accesses of a site that are examined: the first ones, then one in `_ONE_IN`.
_FIRST, _ONE_IN = 12, 37
# Lines that are recorded of the accesses of one threadgroup.
_TRACED_LINES = 60_000


class StepLimitError(Exception):
    """The sample takes more steps, or more time, than its limit."""


@dataclass
class SiteCounts:
    """Examined accesses of one instruction: by SIMD-groups, and what they touch.

    `lines` are lines of 128 bytes, `words` distinct words of 4 bytes, `turns` cycles of threadgroup
    memory with 32 banks, `conflicts` lanes of an atomic with another lane's address.
    """

    space: str = ""
    simdgroups: int = 0
    lanes: int = 0
    lines: int = 0
    words: int = 0
    turns: int = 0
    conflicts: int = 0


@dataclass
class SimulatedGroups:
    """The counts of a sample of threadgroups.

    `steps` are executions by SIMD-groups and by threads, by step. `lines_read` and `lines_written`
    are the distinct lines of each buffer, by its index, and `buffer_bytes` its size; of a buffer
    that is bound twice there is one entry. `trace` has the lines of reads of device memory of one
    threadgroup, in order.
    """

    groups: int
    simdgroups: int
    threads: int
    steps: Array
    sites: list[SiteCounts]
    lines_read: dict[int, int] = field(default_factory=dict)
    lines_written: dict[int, int] = field(default_factory=dict)
    buffer_bytes: dict[int, int] = field(default_factory=dict)
    group_lines_read: dict[int, int] = field(default_factory=dict)
    trace: Array = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class LaunchSizes:
    """The sizes of a launch: threads in the grid, threads in a threadgroup, dynamic memory.

    `dynamic` are the bytes of dynamic threadgroup memory by the index of its argument.
    """

    grid: tuple[int, int, int]
    threads: tuple[int, int, int]
    dynamic: Mapping[int, int]

    @property
    def groups(self) -> tuple[int, int, int]:
        """The threadgroups along each axis."""
        x, y, z = (-(-a // b) for a, b in zip(self.grid, self.threads, strict=True))
        return x, y, z


def choose_groups(count: int, most: int) -> list[int]:
    """Return the numbers of `most` threadgroups at equal distances, in the middle of each part."""
    most = max(1, min(count, most))
    return [min(count - 1, int((i + 0.5) * count / most)) for i in range(most)]


class ThreadSimulator:
    """The threads of a sample, their values and their memory."""

    def __init__(
        self,
        code: LaneCode,
        sizes: LaunchSizes,
        buffers: Mapping[int, Array],
        groups: Sequence[int],
        constant: frozenset[int] = frozenset(),
    ) -> None:
        self._code, self._sizes = code, sizes
        threads = int(np.prod(sizes.threads))
        self._simdgroups = -(-threads // SIMD_WIDTH)
        slots = self._simdgroups * SIMD_WIDTH
        self._slots = len(groups) * slots
        self._groups = list(groups)
        self._place_threads(slots)
        self._arena_bytes = -(-code.threadgroup_bytes // 16) * 16
        self._offsets: dict[int, int] = {}
        for argument, nbytes in sizes.dynamic.items():
            self._offsets[argument] = self._arena_bytes
            self._arena_bytes += -(-nbytes // 16) * 16
        self._lay_out(buffers, constant)
        self._executions = [0] * len(code.sites)
        self._sites = [SiteCounts() for _ in code.sites]
        self._steps = np.zeros((len(code.steps), 2), np.int64)
        self._read = np.zeros(len(self.memory) // LINE_BYTES + 1, bool)
        self._written = np.zeros_like(self._read)
        middle = len(groups) // 2
        self._traced = slice(middle * slots, (middle + 1) * slots)
        self._trace: list[Array] = []
        self._trace_lines = 0

    # Where threads and memory are.

    def _place_threads(self, slots: int) -> None:
        x, y, z = self._sizes.threads
        across, down, _ = self._sizes.groups
        index = np.arange(slots, dtype=np.uint32)
        inside = index < x * y * z
        places: dict[str, list[Array]] = {name: [] for name in ("x", "y", "z", "alive")}
        self._positions: list[tuple[int, int, int]] = []
        self._extents: list[tuple[int, int, int]] = []
        for group in self._groups:
            at = (group % across, group // across % down, group // (across * down))
            self._positions.append(at)
            extent = [
                min(size, whole - place * size)
                for place, size, whole in zip(
                    at, self._sizes.threads, self._sizes.grid, strict=True
                )
            ]
            self._extents.append((extent[0], extent[1], extent[2]))
            alive = inside.copy()
            if tuple(extent) != (x, y, z):
                # At the edge of the grid a threadgroup has fewer threads, without gaps.
                small = np.minimum(extent, (x, y, z))
                number = int(np.prod(small))
                alive = index < number
                local = (
                    index % small[0],
                    index // small[0] % small[1],
                    index // (small[0] * small[1]),
                )
            else:
                local = (index % x, index // x % y, index // (x * y))
            for name, value in zip("xyz", local, strict=True):
                places[name].append(value.astype(np.uint32))
            places["alive"].append(alive)
        self._place = {name: np.concatenate(values) for name, values in places.items()}
        self._alive = self._place.pop("alive")
        one = np.arange(self._slots, dtype=np.uint32)
        self._place["lane"] = one % SIMD_WIDTH
        self._place["index"] = one % slots
        self._place["simdgroup"] = one % slots // SIMD_WIDTH
        self._group_of = (one // slots).astype(np.int64)

    def _lay_out(self, buffers: Mapping[int, Array], constant: frozenset[int]) -> None:
        code = self._code
        at = GLOBALS_START + -(-code.globals_bytes // 64) * 64 + 64
        self._launch = at
        at += -(-_LAUNCH_BYTES // 64) * 64
        self._group_base = at
        at += _GROUP_BYTES * len(self._groups) + 64
        at = -(-at // _GAP) * _GAP
        self._arena = at
        self._arena_step = -(-max(self._arena_bytes, 16) // 128) * 128 + 128
        at += self._arena_step * len(self._groups)
        self._private = at = -(-at // _GAP) * _GAP
        self._frame = -(-max(code.frame_bytes, 16) // 16) * 16
        at += self._frame * self._slots + _GAP
        starts: dict[int, int] = {}
        identities: dict[tuple[int, int], int] = {}
        contents: list[tuple[int, Array]] = []
        self._buffers: dict[int, tuple[int, int]] = {}
        self._device = at = -(-at // _GAP) * _GAP
        self._constant_ranges: list[tuple[int, int]] = []
        for index, array in buffers.items():
            # A buffer that is bound twice is one memory.
            key = (array.__array_interface__["data"][0], array.nbytes)
            if key not in identities:
                identities[key] = at
                contents.append((at, array))
                self._buffers[index] = (at, array.nbytes)
                at = -(-(at + array.nbytes + 256) // _GAP) * _GAP
            starts[index] = identities[key]
            if index in constant:
                self._constant_ranges.append((starts[index], starts[index] + array.nbytes))
        self.memory = np.zeros(-(-(at + _GAP) // 128) * 128, np.uint8)
        self._views = {
            name: self.memory.view(kind)
            for name, kind in {
                "u1": np.uint8,
                "u2": np.uint16,
                "u4": np.uint32,
                "u8": np.uint64,
                "i8": np.int64,
                "f2": np.float16,
                "f4": np.float32,
                "f8": np.float64,
            }.items()
        }
        for start, array in contents:
            self.memory[start : start + array.nbytes] = array.view(np.uint8).reshape(-1)
        for offset, data in code.global_data.values():
            first = GLOBALS_START + offset
            self.memory[first : first + len(data)] = np.frombuffer(data, np.uint8)
        self._write_launch(starts)
        self._frames = self._private + self._frame * np.arange(self._slots, dtype=np.int64)
        self._arenas = self._arena + self._arena_step * self._group_of
        self.starts = starts

    def _write_launch(self, starts: Mapping[int, int]) -> None:
        sizes, words = self._sizes, self._views["u4"]
        first = self._launch // 4
        words[first : first + 9] = [*sizes.grid, *sizes.groups, *sizes.threads]
        for index, start in starts.items():
            self._views["u8"][(self._launch + _LAUNCH_BUFFERS) // 8 + index] = start
        for index, offset in self._offsets.items():
            words[(self._launch + _LAUNCH_OFFSETS) // 4 + index] = offset
        for number, (at, extent) in enumerate(zip(self._positions, self._extents, strict=True)):
            base = self._group_base + _GROUP_BYTES * number
            self._views["u8"][(base + 16) // 8] = self._arena + self._arena_step * number
            words[(base + _GROUP_POSITION) // 4 :][:3] = at
            words[(base + _GROUP_SIZE) // 4 :][:3] = extent
            threads = int(np.prod(extent))
            words[(base + _GROUP_THREADS) // 4 :][:2] = [threads, -(-threads // SIMD_WIDTH)]

    # The run.

    def run(self, most_steps: int, limit_s: float) -> SimulatedGroups:
        """Run all threads to their end. Raise StepLimitError, UnsupportedCodeError."""
        code, self._limit_s = self._code, limit_s
        namespace: dict[str, Any] = {"np": np, "K": code.constants, **FUNCTIONS}
        exec(compile(code.source, "<lane code>", "exec"), namespace)
        functions = [namespace[f"step_{index}"] for index in range(len(code.steps))]
        values = Values(code.values, self._slots)
        self._set_parameters(values)
        with np.errstate(all="ignore"):
            self._run_steps(functions, values, most_steps)
        return self._collect()

    def _set_parameters(self, values: Values) -> None:
        launch, group = (each.text for each in self._code.function.parameters)
        numbers = self._code.numbers
        if launch in numbers:
            values[numbers[launch]] = np.int64(self._launch)
        if group in numbers:
            base = self._group_base + _GROUP_BYTES * self._group_of
            values[numbers[group]] = base if len(self._groups) > 1 else base[0]

    def _run_steps(self, functions: Sequence[Any], values: Values, most_steps: int) -> None:
        barriers = [step.ends_at_barrier for step in self._code.steps]
        live = np.flatnonzero(self._alive)
        everyone = None if live.size == self._slots else live
        steps, end = 0, time.monotonic() + self._limit_s
        # The step of each thread; -1 at the end, and those that wait at a barrier.
        at = np.where(self._alive, 0, -1).astype(np.int32)
        waiting = np.zeros(self._slots, bool)
        current: int | None = 0
        while True:
            steps += 1
            if steps > most_steps:
                raise StepLimitError(f"the sample takes more than {most_steps} steps")
            if steps % 256 == 0 and time.monotonic() > end:
                raise StepLimitError(f"the sample takes more than {self._limit_s:g} s")
            if current is not None:
                # All threads that run are at one step.
                index = everyone
                self._count_step(current, index)
                after = functions[current](self, values, index)
                if isinstance(after, int):
                    if after < 0:
                        return
                    current = after
                    continue
                at[live] = after
                current = None
            else:
                ready = (at >= 0) & ~waiting
                runnable = np.flatnonzero(ready)
                if runnable.size == 0:
                    if not waiting.any():
                        return
                    waiting[:] = False
                    continue
                positions = at[runnable]
                step = int(positions.min())
                index = runnable[positions == step]
                self._count_step(step, index)
                at[index] = functions[step](self, values, index)
                if barriers[step]:
                    waiting[index] = True
            live = np.flatnonzero(at >= 0)
            if live.size == 0:
                return
            everyone = None if live.size == self._slots else live
            first = int(at[live[0]])
            if (at[live] == first).all() and (waiting[live].all() or not waiting[live].any()):
                waiting[:] = False
                current = first

    def _count_step(self, step: int, index: Array | None) -> None:
        if index is None:
            self._steps[step, 0] += self._slots // SIMD_WIDTH
            self._steps[step, 1] += self._slots
        elif index.size:
            groups = index >> 5
            self._steps[step, 0] += 1 + int(np.count_nonzero(groups[1:] != groups[:-1]))
            self._steps[step, 1] += index.size

    def _collect(self) -> SimulatedGroups:
        trace = np.concatenate(self._trace) if self._trace else np.zeros(0, np.int64)
        read: dict[int, int] = {}
        written: dict[int, int] = {}
        sizes: dict[int, int] = {}
        of_group: dict[int, int] = {}
        once = np.unique(trace)
        for index, (start, nbytes) in self._buffers.items():
            first, last = start // LINE_BYTES, (start + nbytes) // LINE_BYTES + 1
            read[index] = int(np.count_nonzero(self._read[first:last]))
            written[index] = int(np.count_nonzero(self._written[first:last]))
            of_group[index] = int(np.count_nonzero((once >= first) & (once < last)))
            sizes[index] = nbytes
        return SimulatedGroups(
            len(self._groups),
            int(sum(-(-int(np.prod(each)) // SIMD_WIDTH) for each in self._extents)),
            int(sum(np.prod(each) for each in self._extents)),
            self._steps,
            self._sites,
            read,
            written,
            sizes,
            of_group,
            trace,
        )

    # What the steps call.

    def count(self, index: Array | None) -> int:
        """Return the number of threads of a step."""
        return self._slots if index is None else index.size

    def frames(self, index: Array | None) -> Array:
        """Return the addresses of private memory."""
        return self._frames if index is None else self._frames[index]

    def place(self, name: str, index: Array | None) -> Array:
        """Return a position of each thread."""
        if name == "arena":
            if len(self._groups) == 1:
                return self._arenas[:1]
            return self._arenas if index is None else self._arenas[index]
        values = self._place[name]
        return values if index is None else values[index]

    def load(self, kind: str, count: int, address: Any, site: int, index: Array | None) -> Any:
        """Return the values in memory; `count` is 0 for scalars."""
        self._note(site, address, index, is_write=False)
        size = 2 if kind == "bf" else int(kind[1])
        if count:
            address = np.asarray(address).reshape(-1, 1) + np.arange(0, count * size, size)
        view = self._views["u2" if kind == "bf" else kind]
        at = address >> (size.bit_length() - 1)
        if isinstance(address, np.ndarray):
            if size > 1 and (address & (size - 1)).any():
                whole = self.memory.take(address[..., None] + np.arange(size), mode="clip")
                found = whole.view(view.dtype)[..., 0]
            else:
                found = view.take(at, mode="clip")
        else:
            place = min(max(0, int(address)), self.memory.size - size)
            found = self.memory[place : place + size].view(view.dtype)[0]
        return widen(found) if kind == "bf" else found

    def store(  # noqa: PLR0917 - the translated code calls it
        self, kind: str, count: int, address: Any, site: int, index: Array | None, value: Any
    ) -> None:
        """Write values; where threads write the same place, the last one wins."""
        self._note(site, address, index, is_write=True)
        size = 2 if kind == "bf" else int(kind[1])
        address = (
            np.broadcast_to(np.asarray(address).reshape(-1), (self.count(index),))
            if (np.ndim(value) or np.ndim(address))
            else np.asarray(address).reshape(1)
        )
        if count:
            address = address.reshape(-1, 1) + np.arange(0, count * size, size)
            value = np.broadcast_to(value, address.shape)
        view = self._views["u2" if kind == "bf" else kind]
        at = address >> (size.bit_length() - 1)
        value = narrow(value) if kind == "bf" else value
        inside = (at >= 0) & (at < view.size)
        if size > 1 and (address & (size - 1)).any():
            words = np.ascontiguousarray(np.broadcast_to(value, at.shape)).astype(view.dtype)
            self._write(address[..., None] + np.arange(size), words[..., None].view(np.uint8))
        elif inside.all():
            view[at] = value
        else:
            view[at[inside]] = np.broadcast_to(value, at.shape)[inside]

    def fill(self, to: Any, byte: Any, size: int, site: int, index: Array | None) -> None:
        """Fill bytes of each thread."""
        self._note(site, to, index, is_write=True)
        first = np.asarray(to).reshape(-1, 1)
        self._write(first + np.arange(size), np.asarray(byte).reshape(-1, 1))

    def copy(  # noqa: PLR0917 - the translated code calls it
        self, to: Any, source: Any, size: int, write: int, read: int, index: Array | None
    ) -> None:
        """Copy bytes of each thread."""
        self._note(read, source, index, is_write=False)
        self._note(write, to, index, is_write=True)
        first = np.asarray(source).reshape(-1, 1)
        data = self.memory.take(first + np.arange(size), mode="clip")
        at = np.asarray(to).reshape(-1, 1) + np.arange(size)
        self._write(at, np.broadcast_to(data, (max(len(at), len(data)), size))[: len(at)])

    def _write(self, at: Array, data: Array) -> None:
        """Write bytes at their addresses, but not outside of the memory."""
        inside = (at >= 0) & (at < self.memory.size)
        self.memory[at[inside]] = np.broadcast_to(data, at.shape)[inside]

    def update(  # noqa: PLR0917 - the translated code calls it
        self, kind: str, operation: str, site: int, index: Array | None, address: Any, value: Any
    ) -> Any:
        """Do an atomic operation of each thread, in their order; return the earlier values."""
        if operation not in _ATOMICS:
            raise UnsupportedCodeError(f"atomic {operation}")
        count = self.count(index)
        self._note(site, address, index, is_write=True)
        view = self._views[kind]
        at = np.broadcast_to(address, (count,)) // int(kind[1])
        given = np.broadcast_to(value, (count,))
        inside = (at >= 0) & (at < view.size)
        before = view.take(at, mode="clip")
        before[inside] = _update(view, operation, at[inside], given[inside])
        return before

    def exchange(  # noqa: PLR0917 - the translated code calls it
        self, kind: str, site: int, index: Array | None, address: Any, expected: Any, desired: Any
    ) -> tuple[Array, Array]:
        """Compare and exchange for each thread, in their order."""
        count = self.count(index)
        self._note(site, address, index, is_write=True)
        view, size = self._views[kind], int(kind[1])
        at = np.broadcast_to(address, (count,)) // size
        inside = (at >= 0) & (at < view.size)
        before = view.take(at, mode="clip")
        wanted, given = (np.broadcast_to(each, (count,)) for each in (expected, desired))
        for number in np.flatnonzero(inside).tolist():
            place = at[number]
            before[number] = view[place]
            if view[place] == wanted[number]:
                view[place] = given[number]
        return before, before == wanted

    # Functions of SIMD-groups.

    def _spread(self, index: Array | None, value: Any, fill: Any) -> tuple[Array, Array]:
        """Return an array (SIMD-groups, 32) with the values of active threads, and the mask."""
        value = np.asarray(value)
        if index is None:
            whole = np.broadcast_to(value.reshape(-1), (self._slots,)).reshape(-1, SIMD_WIDTH)
            return whole, np.ones(whole.shape, bool)
        whole = np.full(self._slots, fill, value.dtype)
        whole[index] = value.reshape(-1)
        active = np.zeros(self._slots, bool)
        active[index] = True
        return whole.reshape(-1, SIMD_WIDTH), active.reshape(-1, SIMD_WIDTH)

    def _gather(self, index: Array | None, whole: Array) -> Array:
        flat = whole.reshape(-1)
        return flat if index is None else flat[index]

    def ballot(self, index: Array | None, vote: Any) -> Array:
        """Return the mask of the active threads with a true operand."""
        whole, _ = self._spread(index, np.broadcast_to(vote, (self.count(index),)), False)
        bits = (whole.astype(np.uint64) << np.arange(SIMD_WIDTH, dtype=np.uint64)).sum(axis=1)
        each = np.repeat(bits.astype(np.uint32), SIMD_WIDTH)
        return self._gather(index, each)

    def shuffle(self, index: Array | None, value: Any, source: Any) -> Array:
        """Return another thread's value; zero of one that is not active."""
        value = np.broadcast_to(value, (self.count(index),))
        whole, _ = self._spread(index, value, np.asarray(value).dtype.type(0))
        own = np.arange(self._slots) if index is None else index
        source = np.broadcast_to(np.asarray(source), own.shape).astype(np.int64)
        found = whole.reshape(-1).take((own & ~31) | (source & 31))
        result: Array = np.where(source < SIMD_WIDTH, found, found.dtype.type(0))
        return result

    def combine(self, kind: str, index: Array | None, value: Any) -> Array:
        """Return a reduction or a scan over the active threads of each SIMD-group."""
        value = np.broadcast_to(value, (self.count(index),))
        dtype = value.dtype
        if kind == "first":
            whole, active = self._spread(index, value, dtype.type(0))
            first = active.argmax(axis=1)
            each = whole[np.arange(len(whole)), first]
            return self._gather(index, np.repeat(each, SIMD_WIDTH))
        scan, _, base = kind.partition("_")
        if (base or scan) not in _REDUCTIONS:
            raise UnsupportedCodeError(f"function {kind}")
        operation = _REDUCTIONS[base or scan]
        identity = _identity(base or scan, dtype)
        whole, _ = self._spread(index, value, identity)
        if not base:
            each = operation.reduce(whole, axis=1, dtype=dtype)
            return self._gather(index, np.repeat(each, SIMD_WIDTH))
        running = operation.accumulate(whole, axis=1, dtype=dtype)
        if scan == "exclusive":
            running = np.concatenate(
                [np.full((len(running), 1), identity), running[:, :-1]], axis=1
            )
        return self._gather(index, running)

    # Matrices of 8 x 8, with two neighbouring elements of a row in each lane.

    def _matrix(self, index: Array | None, pair: Any) -> Array:
        count = self.count(index)
        value = np.broadcast_to(pair, (count,))
        whole, _ = self._spread(index, value, value.dtype.type(0))
        kind = np.float32 if value.dtype.itemsize == 8 else np.float16
        elements = np.ascontiguousarray(whole).view(kind).reshape(-1, 2 * SIMD_WIDTH)
        matrix = np.empty_like(elements, np.float32)
        matrix[:, _ELEMENTS] = elements
        return matrix.reshape(-1, 8, 8)

    def matrix_product(self, index: Array | None, left: Any, right: Any, summand: Any) -> Array:
        """Return the pairs of left x right + summand."""
        a, b, c = (self._matrix(index, each) for each in (left, right, summand))
        result = (a @ b + c).reshape(-1, 2 * SIMD_WIDTH)[:, _ELEMENTS]
        wide = np.asarray(summand).dtype.itemsize == 8
        pairs = np.ascontiguousarray(result.astype(np.float32 if wide else np.float16))
        return self._gather(index, pairs.view(np.uint64 if wide else np.uint32))

    def _matrix_addresses(
        self, size: int, index: Array | None, base: Any, stride: Any, transpose: Any
    ) -> tuple[Array, Any]:
        lane = self.place("lane", index)
        row, column = _ELEMENTS[::2][lane] // 8, _ELEMENTS[::2][lane] % 8
        stride = np.asarray(stride).view(np.int64)
        turned = bool(np.asarray(transpose).flat[0])
        first = column * stride + row if turned else row * stride + column
        return np.asarray(base) + first * size, (stride if turned else 1) * size

    def matrix_read(  # noqa: PLR0917 - the translated code calls it
        self, size: int, site: int, index: Array | None, base: Any, stride: Any, transpose: Any
    ) -> Array:
        """Return each lane's pair of a matrix in memory."""
        first, step = self._matrix_addresses(size, index, base, stride, transpose)
        self._note(site, first, index, is_write=False)
        view = self._views[f"u{size}"]
        pair = np.stack([view.take(each // size, mode="clip") for each in (first, first + step)], 1)
        return np.ascontiguousarray(pair).view(np.uint64 if size == 4 else np.uint32).reshape(-1)

    def matrix_write(  # noqa: PLR0917 - the translated code calls it
        self,
        size: int,
        site: int,
        index: Array | None,
        pair: Any,
        base: Any,
        stride: Any,
        transpose: Any,
    ) -> None:
        """Write each lane's pair of a matrix."""
        first, step = self._matrix_addresses(size, index, base, stride, transpose)
        self._note(site, first, index, is_write=True)
        view = self._views[f"u{size}"]
        given = np.broadcast_to(pair, first.shape)
        values = np.ascontiguousarray(given).view(view.dtype).reshape(-1, 2)
        for number, address in enumerate((first, first + step)):
            at = address // size
            inside = (at >= 0) & (at < view.size)
            view[at[inside]] = values[inside, number]

    # What accesses touch.

    def _note(self, site: int, address: Any, index: Array | None, *, is_write: bool) -> None:
        execution = self._executions[site]
        self._executions[site] = execution + 1
        address = np.asarray(address)
        flat = address.reshape(-1)
        if not flat.size:
            return
        lines = flat >> 7
        if flat[0] >= self._device:
            touched = self._written if is_write else self._read
            touched[np.clip(lines, 0, touched.size - 1)] = True
            if not is_write and self._trace_lines < _TRACED_LINES:
                self._add_to_trace(lines, index)
        if execution < _FIRST or execution % _ONE_IN == 0:
            self._examine(site, flat, index, is_write=is_write)

    def _add_to_trace(self, lines: Array, index: Array | None) -> None:
        start, end = self._traced.start, self._traced.stop
        if lines.size == 1:
            chosen = lines
        elif index is None:
            chosen = lines[start:end]
        else:
            first, last = np.searchsorted(index, (start, end))
            chosen = lines[first:last]
        found = np.unique(chosen)
        self._trace.append(found)
        self._trace_lines += found.size

    def _examine(self, site: int, flat: Array, index: Array | None, *, is_write: bool) -> None:
        counts = self._sites[site]
        counts.space = self._space_of(int(flat[0]))
        nbytes = self._code.sites[site].nbytes
        if flat.size == 1:
            groups = self._slots // SIMD_WIDTH if index is None else np.unique(index >> 5).size
            lanes = self._slots if index is None else index.size
            lines = words = turns = groups
            words *= max(1, nbytes // 4)
            conflicts = lanes if lanes > groups else 0
        else:
            row = np.full(self._slots, -1, np.int64)
            row[slice(None) if index is None else index] = flat
            whole = row.reshape(-1, SIMD_WIDTH)
            active = whole >= 0
            used = active.any(axis=1)
            whole, active = whole[used], active[used]
            groups, lanes = len(whole), int(active.sum())
            lines = _count_distinct(whole >> 7, active)
            ordered = np.sort(np.where(active, whole >> 2, -1), axis=1)
            fresh = np.ones(ordered.shape, bool)
            fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
            fresh &= ordered >= 0
            words = int(fresh.sum()) * max(1, nbytes // 4)
            turns = _count_turns(ordered, fresh) * max(1, nbytes // 4)
            conflicts = lanes - int(fresh.sum())
        counts.simdgroups += groups
        counts.lanes += lanes
        counts.lines += lines
        counts.words += words
        counts.turns += turns
        counts.conflicts += conflicts

    def _space_of(self, address: int) -> str:
        if address < self._launch:
            return "table"
        if address < self._arena:
            return "launch"
        if address < self._private:
            return "threadgroup"
        if address < self._device:
            return "private"
        inside = any(start <= address < end for start, end in self._constant_ranges)
        return "constant" if inside else "device"


def _count_distinct(values: Array, active: Array) -> int:
    ordered = np.sort(np.where(active, values, -1), axis=1)
    changes = ordered[:, 1:] != ordered[:, :-1]
    return int(((ordered[:, 1:] >= 0) & changes).sum() + (ordered[:, 0] >= 0).sum())


def _count_turns(ordered: Array, fresh: Array) -> int:
    """Return the sum over SIMD-groups of the most distinct words in one bank."""
    rows = np.nonzero(fresh)[0]
    banks = ordered[fresh] % BANKS
    counts = np.bincount(rows * BANKS + banks, minlength=len(ordered) * BANKS)
    return int(counts.reshape(-1, BANKS).max(axis=1).sum())


# The index of each lane's elements: those of lane i at 2 i and 2 i + 1, as on Apple's GPUs
# (csrc/msl/mb/matrix_pairs.h).
def _first_element(lane: int) -> int:
    quarter = lane // 4
    row = (quarter & 4) + (lane // 2) % 4
    column = (quarter & 2) * 2 + (lane % 2) * 2
    return row * 8 + column


_ELEMENTS = np.array([_first_element(lane) + each for lane in range(SIMD_WIDTH) for each in (0, 1)])
_REDUCTIONS = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _identity(kind: str, dtype: np.dtype[Any]) -> Any:
    if kind == "product":
        return dtype.type(1)
    if kind in ("sum", "or", "xor"):
        return dtype.type(0)
    if kind == "and":
        return dtype.type(True) if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max)
    if dtype.kind == "f":
        return dtype.type(np.inf if kind == "min" else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if kind == "min" else limits.min)


_ATOMICS = {
    "add": lambda old, one: old + one,
    "sub": lambda old, one: old - one,
    "fadd": lambda old, one: old + one,
    "xchg": lambda _, one: one,
    "and": lambda old, one: old & one,
    "or": lambda old, one: old | one,
    "xor": lambda old, one: old ^ one,
    "umax": max,
    "umin": min,
    "max": lambda old, one: max(as_signed(old), as_signed(one)).view(old.dtype),
    "min": lambda old, one: min(as_signed(old), as_signed(one)).view(old.dtype),
    "fmax": max,
    "fmin": min,
}


def _update(view: Array, operation: str, at: Array, given: Array) -> Array:
    """Do an atomic operation at each place, in their order; return the earlier values."""
    count = at.size
    before = np.empty(count, view.dtype)
    if operation in ("add", "sub", "fadd") and count > SIMD_WIDTH:
        # The earlier values are those before the step, which is one of the possible orders
        # only without conflicts; the counts do not depend on it.
        order = np.argsort(at, kind="stable")
        signs = -given if operation == "sub" else given
        sums = np.cumsum(signs[order])
        starts = np.r_[True, at[order][1:] != at[order][:-1]]
        base = np.where(starts, sums - signs[order], 0)
        offsets = np.maximum.accumulate(np.where(starts, np.arange(count), 0))
        before[order] = view[at[order]] + (sums - signs[order] - base[offsets]).astype(view.dtype)
        np.add.at(view, at, signs.astype(view.dtype))
        return before
    combine: Any = _ATOMICS[operation]
    for number, (place, one) in enumerate(zip(at.tolist(), given, strict=True)):
        old = view[place]
        before[number] = old
        view[place] = combine(old, one)
    return before


def simulate(
    code: LaneCode,
    sizes: LaunchSizes,
    buffers: Mapping[int, Array],
    *,
    constant: frozenset[int] = frozenset(),
    most_threads: int = 4096,
    most_groups: int = 12,
    most_steps: int = 400_000,
    limit_s: float = 60.0,
) -> SimulatedGroups:
    """Run a sample of the threadgroups of a launch. Raise UnsupportedCodeError, StepLimitError.

    `buffers` are the bytes of each buffer by index; they stay as they are.
    """
    per_group = int(np.prod(sizes.threads))
    groups = choose_groups(
        int(np.prod(sizes.groups)), min(most_groups, max(1, most_threads // per_group))
    )
    return ThreadSimulator(code, sizes, buffers, groups, constant).run(most_steps, limit_s)
