"""Run a candidate's Python in its sealed process, and serve the judge's requests."""

from __future__ import annotations

import importlib
import mmap
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from time import perf_counter_ns, process_time_ns
from typing import Any, NoReturn

import numpy as np

from metalbench.kernelbench.candidates import messages
from metalbench.kernelbench.candidates.messages import (
    CallLayout,
    CandidateError,
    CandidateStart,
    Launch,
    ReferenceForm,
    SealReport,
)
from metalbench.kernelbench.candidates.own_work import Probe, ProbeKind
from metalbench.sandbox.confinement import (
    confine,
    list_executor_files,
    list_missing_mechanisms,
    seal,
)
from metalbench.sandbox.encoding import decode, encode
from metalbench.sandbox.resources import find_kernel_threads, read_times

SEALED = "sealed"
# Modules that candidates may import are loaded before the process is sealed.
_NEEDED = (
    *("collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "math"),
    *("operator", "typing", "numpy", "ml_dtypes", "mlx.core", "mlx.nn", "mlx.utils"),
    *("metalbench.mlx", "metalbench.mlx.kernel"),
)


def work(channel: int, lifeline: int, parent: int, how: str) -> None:
    """Make calls for the process `parent`, which asks over the descriptor `channel`.

    `how` is SEALED for a candidate; a form of the reference may start MLX's compiler.
    """
    sealed = how == SEALED
    # Ctrl-C is for the process that asks, which is of the same session.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for_ever, _held = os.pipe()
    confine(for_ever, parent, list_executor_files() if sealed else None)
    threading.Thread(target=_exit_with_lifeline, args=(lifeline,), daemon=True).start()
    connection = Connection(channel)
    try:
        _serve(connection)
    except (EOFError, OSError):
        return


def _exit_with_lifeline(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)


def _serve(connection: Connection) -> None:
    start: CandidateStart = decode(connection.recv_bytes(messages.MOST_BYTES), CandidateStart)
    mapped = mmap.mmap(recv_handle(connection), start.arena_bytes)
    for each in _NEEDED:
        importlib.import_module(each)
    server = _CandidateServer(connection, start, np.frombuffer(mapped, np.uint8))
    if start.form is None:
        server.load()
        held = seal()
        missing = (*list_missing_mechanisms(), *held.missing)
    else:
        server.load_form(start.form)
        missing = ()
    connection.send_bytes(messages.SEALED + encode(SealReport(missing), SealReport))
    # The judge looks at this process before the candidate can change anything in it.
    if connection.recv_bytes(messages.MOST_BYTES) != messages.BEGIN:
        return
    server.begin()
    while True:
        server.answer(connection.recv_bytes(messages.MOST_BYTES))


class _CandidateServer:
    """A candidate, its kernels and its memory."""

    def __init__(self, connection: Connection, start: CandidateStart, memory: Any) -> None:
        # Private references, because a candidate may replace names in the modules.
        from metalbench.kernelbench.candidates.kernels import Kernels, find_entry
        from metalbench.mlx.call import as_numpy, to_mlx

        self._as_numpy, self._to_mlx, self._find_entry_of = as_numpy, to_mlx, find_entry
        self._connection, self._start, self._memory = connection, start, memory
        self._kernels = Kernels(checked=start.checked, tell=self._report_fault)
        self._namespace: dict[str, Any] = {"__name__": "candidate"}
        self._layout: CallLayout | None = None
        self._entry: Callable[[Any], Any] | None = None

    def load(self) -> None:
        """All that opens files: kernels, and what MLX looks up with its first operation."""
        import mlx.core as mx

        from metalbench import mlx
        from metalbench.mlx import patch_mlx

        self._kernels.load(self._start.launches)
        mx.eval(mx.ones((8, 8)) @ mx.ones((8, 8)), mx.random.normal((8,)))
        patch_mlx(device="cpu")
        package: Any = sys.modules["metalbench"]
        for module in (mx.fast, package, mlx):
            setattr(module, "metal_kernel", self._kernels.metal_kernel)  # noqa: B010
        for module in (package, mlx):
            setattr(module, "patch_mlx", _ignore_patch)  # noqa: B010

    def load_form(self, form: ReferenceForm) -> None:
        """Load a form of the task's reference instead of a candidate."""
        from metalbench.kernel.library import Entry
        from metalbench.reference.chain import list_forms

        task = Entry(self._start.task, form.set, form.path).task
        (found,) = (each.function for each in list_forms(task) if each.kind == form.kind)
        self._find_entry_of = lambda *_: lambda arrays: found(**arrays)

    def begin(self) -> None:
        """Run the candidate's file."""
        if self._start.form is not None:
            self._connection.send_bytes(messages.DONE)
            return
        self._run_guarded(self._execute, "CompileError")
        self._connection.send_bytes(messages.DONE)

    def answer(self, message: bytes) -> None:
        """Do what a message asks for, and say that it is done, or what was in the way."""
        if message[:1] == messages.SET_LAYOUT:
            self._layout = decode(message[1:], CallLayout)
            self._run_guarded(self._find_entry, "raised")
            self._connection.send_bytes(messages.DONE)
            return
        if message[:1] == messages.OVERHEAD:
            self._connection.send_bytes(messages.DONE + messages.COSTS.pack(*self._overhead()))
            return
        if message[:1] == messages.PROBE:
            self._probe(*messages.PROBE_FIELDS.unpack(message[1:]))
            return
        kernels = self._kernels
        flow = kernels.read, kernels.written
        (count,) = messages.COUNT.unpack(message[1:])
        launches, ns, begin = kernels.launches, kernels.ns, perf_counter_ns()
        self._run_guarded(lambda: self._call(count), "raised")
        if kernels.wanted:
            self._request_kernels()
            return
        told = kernels.launches - launches, kernels.ns - ns, perf_counter_ns() - begin
        flow = kernels.read - flow[0], kernels.written - flow[1]
        self._connection.send_bytes(messages.DONE + messages.DONE_FIELDS.pack(*told, *flow))

    def _probe(self, way: int, seed: int) -> None:
        """Make one call in which kernels go wrong in a way, and say what they read and wrote."""
        kernels, read = self._kernels, self._kernels.read
        probe = kernels.probe = Probe(ProbeKind(way), np.random.default_rng(seed))
        self._run_guarded(lambda: self._call(1), "raised")
        kernels.probe = None
        if kernels.wanted:
            self._request_kernels()
            return
        flow = messages.PROBE_RESULT.pack(kernels.read - read, probe.written)
        self._connection.send_bytes(messages.DONE + flow)

    def _overhead(self) -> tuple[float, float]:
        """Return ns of processor time for a call that only launches, and for one more launch.

        The call copies inputs and outputs, and launches a kernel of one thread with all of them, as
        a candidate does it. The median of several rounds counts, without the kernels' threads.
        """
        import mlx.core as mx

        layout, kernels, form = self._layout, self._kernels, self._entry
        assert layout is not None
        inputs = [each.name for each in layout.inputs]
        outputs = [f"result_{number}" for number in range(len(layout.outputs))]
        whole = kernels.metal_kernel("whole", inputs, outputs, f"{outputs[0]}[0] = 0;")
        one = kernels.metal_kernel("one", ["x"], ["y"], "y[0] = x[0];")
        shape: dict[str, Any] = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1)}
        shapes = [each.shape for each in layout.outputs]
        dtypes = [getattr(mx, each.dtype.replace("bool", "bool_")) for each in layout.outputs]
        x = mx.zeros((1,))

        def launch() -> None:
            mx.eval(one(inputs=[x], **shape, output_shapes=[(1,)], output_dtypes=[mx.float32]))

        def entry(arrays: Any) -> Any:
            given = [arrays[each] for each in inputs]
            return whole(inputs=given, **shape, output_shapes=shapes, output_dtypes=dtypes)

        def call() -> None:
            self._call(1)

        self._entry = entry
        try:
            for _ in range(2):  # what is not loaded does not run
                launch()
                call()
                kernels.load(kernels.wanted)
                kernels.wanted.clear()
            return _processor_ns(call, rounds=16), _processor_ns(launch, rounds=32)
        finally:
            self._entry = form

    def _execute(self) -> None:
        exec(compile(self._start.source, self._start.file, "exec"), self._namespace)
        names = ("ModelNew", self._start.task)
        if not any(each in self._namespace for each in names):
            raise _dispatch_error(f"expected ModelNew or {names[1]}, and the file has neither")

    def _find_entry(self) -> None:
        assert self._layout is not None
        names = [each.name for each in self._layout.inputs]
        values = dict(self._layout.values)
        self._entry = self._find_entry_of(self._namespace, self._start.task, names, values)

    def _call(self, count: int) -> None:
        layout, entry = self._layout, self._entry
        assert layout is not None
        assert entry is not None
        for begin in range(0, count * layout.nbytes, layout.nbytes):
            inputs = {
                each.name: self._to_mlx(each.array(self._memory, begin)) for each in layout.inputs
            }
            results = entry(inputs)
            several = list(results) if isinstance(results, list | tuple) else [results]
            if len(several) != len(layout.outputs):
                raise _wrong(f"expected {len(layout.outputs)} outputs, got {len(several)}")
            for place, result in zip(layout.outputs, several, strict=True):
                got = self._as_numpy(result, place.name)
                if (got.dtype.name, got.shape) != (place.dtype, place.shape):
                    raise _wrong(
                        f"{place.name}: expected {place.dtype} {place.shape}, got "
                        f"{got.dtype.name} {got.shape}"
                    )
                np.copyto(place.array(self._memory, begin), got)

    def _run_guarded(self, act: Callable[[], None], kind: str) -> None:
        """Tell of whatever the candidate raises, unless kernels were lacking, which explains it."""
        try:
            act()
        except BaseException as error:  # whatever it is, it is the candidate's
            if self._kernels.wanted:
                self._request_kernels()
                self._wait_for_end()
            name = type(error).__name__
            own = name in ("DispatchError", "ResultError")
            self._send_error(
                CandidateError(
                    name if own else kind, str(error) if own else self._describe_error(error)
                )
            )

    def _describe_error(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [each.lineno for each in frames if each.filename == self._start.file]
        line = lines[-1] if lines else getattr(error, "lineno", None)
        where = f"{self._start.file}:{line}: " if line else ""
        return f"{where}{type(error).__name__}: {error}"

    def _request_kernels(self) -> None:
        wanted = tuple(self._kernels.wanted)
        said = encode(wanted, tuple[Launch, ...])
        self._connection.send_bytes(messages.NEEDS + said)

    def _report_fault(self, error: Exception) -> NoReturn:
        self._send_error(CandidateError(type(error).__name__, str(error)))

    def _send_error(self, told: CandidateError) -> NoReturn:
        self._connection.send_bytes(messages.WRONG + encode(told, CandidateError))
        self._wait_for_end()

    def _wait_for_end(self) -> NoReturn:
        """For the end, which the judge brings."""
        while True:
            self._connection.recv_bytes(messages.MOST_BYTES)


def _processor_ns(act: Callable[[], object], rounds: int) -> float:
    """Return the median processor time of `act` in ns, without that of the kernels' threads."""
    number = os.getpid()
    threads = find_kernel_threads(number)
    found = []
    for _ in range(rounds):
        before, begin = read_times(number, threads), process_time_ns()
        act()
        after, end = read_times(number, threads), process_time_ns()
        known = before is not None and after is not None
        found.append(after.since(before).others_ns if known else end - begin)  # type: ignore[union-attr,arg-type]
    return float(np.median(found))


class ResultError(Exception):
    """A candidate's result is of another form than the task's output."""


def _wrong(message: str) -> ResultError:
    return ResultError(message)


def _dispatch_error(message: str) -> Exception:
    from metalbench.errors import DispatchError

    return DispatchError(message)


def _ignore_patch(**_: Any) -> Callable[[], None]:
    """Replace `patch_mlx`: MLX is patched already in this process."""
    return lambda: None
