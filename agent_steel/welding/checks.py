"""The user's own Python that says what is right: a function, or a task file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from agent_steel.welding.messages import CheckResult, Fault, Job
from metalbench import _core, reference
from metalbench.errors import DeclarationError, MachineError, MetalBenchError, TaskError, suggestion
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry
from metalbench.kernel.prepare import Builds
from metalbench.reference.mlx_function import trace
from metalbench.task import Task
from metalbench.task.workload import Workload, workload
from metalbench.verify import Report, VerifyPlan, seeds_for, small_sizes, verify, verify_checked
from metalbench.verify.admission import BadResult, TaskCheck, admit
from metalbench.verify.tolerance import absolute_errors

Array = np.ndarray[Any, Any]


def results_of(path: Path, function: str) -> Callable[[Workload], dict[str, Array]]:
    """Return a function that computes outputs of a workload by the file `path`, in float64.

    Raise TaskError if the file cannot be imported or has no such function.
    """
    if path.suffix == ".mlir":
        return partial(_run_own_compiler, path)
    module = _import(path)
    chosen = _choose(module, path, function)
    if isinstance(chosen, Task):
        return _Caller(path, chosen.oracle, mlx=False)
    return _Caller(path, chosen, mlx=_uses_mlx(module))


def _run_own_compiler(path: Path, work: Workload) -> dict[str, Array]:
    """Return the results of a StableHLO program in float64, by kernels without any fusion."""
    from metalbench import hlo
    from metalbench.hlo.bench.task_program import StableHloProgram

    program = StableHloProgram(path)
    arrays = program.own_arrays(list(work.widen_inputs(np.float64).values()))
    text = program.text_at([each.shape for each in arrays], "f64")
    compiled = hlo.compile(text, level=0, device="cpu", filename=path.name)
    return {
        name: each.reshape(work.output_shapes[name])
        for name, each in zip(work.task.outputs, compiled(*arrays), strict=True)
    }


def _import(path: Path) -> ModuleType:
    name = f"metalbench_reference.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"reference {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is its fault
        raise TaskError(f"reference {path}: {type(error).__name__}: {error}") from error
    return module


def _choose(module: ModuleType, path: Path, name: str) -> Any:
    known = {
        each: value
        for each, value in vars(module).items()
        if isinstance(value, Task)
        or (inspect.isfunction(value) and value.__module__ == module.__name__)
    }
    public = [each for each in known if not each.startswith("_")]
    if not name and len(public) == 1:
        return known[public[0]]
    if name in known:
        return known[name]
    if not name:
        raise TaskError(
            f"reference {path}: expected one function, got {', '.join(public) or 'none'}; "
            f"name one as {path.name}:FUNCTION"
        )
    raise TaskError(f"reference {path}: no function {name!r}; {suggestion(name, known)}")


def _uses_mlx(module: ModuleType) -> bool:
    values = vars(module).values()
    named = (getattr(each, "__name__", "") for each in values if inspect.ismodule(each))
    return any(name.partition(".")[0] == "mlx" for name in named)


class _Caller:
    """Calls a function with a workload's inputs as float64 of NumPy.

    A function of MLX is traced, and NumPy evaluates its graph.
    """

    def __init__(self, path: Path, function: Callable[..., Any], *, mlx: bool) -> None:
        self._path = path
        self._function = function
        self._mlx = mlx

    def __call__(self, work: Workload) -> dict[str, Array]:
        arguments = work.widen_inputs(np.float64)
        try:
            results = self._by_mlx(arguments) if self._mlx else self._call(arguments)
        except Exception as error:  # the user's code: whatever it raises is its fault
            where = f"reference {self._path} at size {work.size}"
            raise TaskError(f"{where}: {type(error).__name__}: {error}") from error
        several = results if isinstance(results, (tuple, list)) else (results,)
        if len(several) != len(work.task.outputs):
            raise TaskError(
                f"reference {self._path} has {len(several)} outputs, and the task "
                f"{len(work.task.outputs)}: {', '.join(work.task.outputs)}"
            )
        return {
            name: np.asarray(each) for name, each in zip(work.task.outputs, several, strict=True)
        }

    def _call(self, arguments: Mapping[str, Any]) -> Any:
        """By name where the names are those of the task, else in order."""
        names = inspect.signature(self._function).parameters
        if set(names) >= set(arguments):
            return self._function(**arguments)
        return self._function(*arguments.values())

    def _by_mlx(self, arguments: Mapping[str, Any]) -> Any:
        import mlx.core as mx

        arrays = {name: each for name, each in arguments.items() if isinstance(each, np.ndarray)}

        def call(*given: Any) -> Any:
            return self._call({**arguments, **dict(zip(arrays, given, strict=True))})

        # Only the CPU of MLX knows float64.
        with mx.stream(mx.cpu):
            examples = [
                mx.zeros(each.shape, mx.float64) if each.dtype.kind == "f" else mx.array(each)
                for each in arrays.values()
            ]
        return trace(call, examples).evaluate(list(arrays.values()))


# The checks of a draft: the task loads, agrees with the reference, and its kernel is right.

Say = Callable[[str], None]
# Two ways to compute the same in float64 differ by the roundings of either, not by more.
AGREEMENT = 1e-9
# Limits of the arrays of one size, so that a check of all sizes and seeds takes minutes.
MOST_BYTES = 1 << 28
MOST_TOLD = 3


class _Found(Exception):  # noqa: N818 - no error but a way out
    def __init__(self, stage: str, *messages: str) -> None:
        super().__init__(stage)
        self.faults = tuple(Fault(stage, each) for each in messages[:MOST_TOLD])


def check(device: _core.Device, job: Job, say: Say) -> CheckResult:
    """Check a draft stage by stage; the first at which something is wrong is the last.

    Raise MachineError if the machine is at fault.
    """
    checks: list[str] = []
    try:
        for stage, report in _stages(device, job, say):
            checks.append(f"{stage}: {report}")
    except _Found as found:
        return CheckResult(found.faults, tuple(checks))
    return CheckResult((), tuple(checks))


def _stages(device: _core.Device, job: Job, say: Say) -> Iterator[tuple[str, str]]:
    say("the task and the header of its kernel are read" if job.has_kernel else "the task is read")
    task, kernel = _load(job)
    yield "task", f"{len(task.sizes)} sizes, {', '.join(task.dtypes)}"
    if job.reference is not None:
        say("the oracle is compared with the reference")
        yield "reference", _in("reference", _against_reference, task, job)
    say("MLX is compared with the oracle")
    yield "MLX", _in("MLX", _mlx, task, job.seed)
    say("bad results are tried against the task")
    yield "admit", _in("admit", _admit, task, job.seed)
    for dtype in kernel.dtypes if kernel is not None else ():
        assert kernel is not None
        say(f"the kernel is verified, {dtype}")
        yield f"kernel in {dtype}", _verify(device, kernel, task, dtype, job.seed)


def _in(stage: str, function: Callable[..., str], *arguments: Any) -> str:
    """Return the result of `function`; errors of the task's code become faults of the stage."""
    try:
        return function(*arguments)
    except MachineError:
        raise
    except MetalBenchError as error:
        raise _Found(stage, str(error)) from None


def _load(job: Job) -> tuple[Task, Kernel | None]:
    path = job.folder / f"{job.name}.py"
    entry = Entry(job.name, "user", path, [path.with_suffix(".metal")] if job.has_kernel else [])
    try:
        task, kernel = entry.task, entry.kernel() if job.has_kernel else None
        fault = _unfit(task, kernel)
    except DeclarationError as error:
        raise _Found("task", str(error)) from None
    if fault:
        raise _Found("task", f"[{task.name}] {fault}")
    return task, kernel


def _unfit(task: Task, kernel: Kernel | None) -> str:
    if "small" not in task.sizes or not any(each.startswith("odd") for each in task.sizes):
        return f"sizes: expected small and odd1 among them, got {', '.join(task.sizes)}"
    # Without a kernel nothing is computed at other sizes.
    checked = task.sizes if kernel is not None else (*small_sizes(task), task.headline)
    for size in checked:
        if (size_bytes := task.bytes(size, task.dtypes[0])) > MOST_BYTES:
            return f"size {size}: expected at most {MOST_BYTES} bytes, got {size_bytes}"
    unknown = [each for each in kernel.dtypes if each not in task.dtypes] if kernel else []
    if unknown:
        return f"the kernel is written for {', '.join(unknown)}, and the task is not"
    return ""


def _works(task: Task, seed: int) -> Iterator[Workload]:
    for size in small_sizes(task):
        for each in seeds_for(task, size, seed):
            yield workload(task, size, seed=each)


def _against_reference(task: Task, job: Job) -> str:
    """Return the oracle against the user's reference, both in float64."""
    assert job.reference is not None
    compute = results_of(job.reference, job.function)
    worst, count = 0.0, 0
    for work in _works(task, job.seed):
        results = compute(work)
        count += 1
        for name, expected in work.expected.items():
            worst = max(worst, _disagreement(work, name, results[name], expected))
    named = job.reference.name
    if job.reference.suffix == ".mlir":
        named = f"MetalBench's own compilation of {named} in float64"
    return (
        f"the oracle agrees with {named} at {count} sizes and seeds; the largest "
        f"difference is {worst:.1e} of the scale"
    )


def _disagreement(work: Workload, name: str, theirs: Any, expected: Any) -> float:
    where = f"{name} at size {work.size}, seed {work.seed}"
    if theirs.shape != expected.shape:
        raise _Found(
            "reference",
            f"{where}: the reference has shape {theirs.shape}, the oracle {expected.shape}",
        )
    scale = np.abs(np.asarray(work.scale[name], np.float64))
    largest = float(np.max(scale[np.isfinite(scale)], initial=0.0))
    error = absolute_errors(theirs.astype(np.float64), expected.astype(np.float64))
    relative = error / (scale + largest + np.finfo(np.float64).tiny)
    relative[error == 0] = 0.0
    at = tuple(int(each) for each in np.unravel_index(np.argmax(relative), relative.shape))
    if not relative[at] <= AGREEMENT:
        raise _Found(
            "reference",
            f"{where}: element {at} is {theirs[at]:.9g} by the reference and {expected[at]:.9g} by "
            "the oracle",
        )
    return float(relative[at])


def _mlx(task: Task, seed: int) -> str:
    """MLX against the oracle, by the rule that a kernel is judged by."""
    worst, at = 0.0, ""
    for work in _works(task, seed):
        judge = TaskCheck(work)
        for name, values in reference.outputs(work).items():
            factor = judge.factor(BadResult("MLX", name, values))
            where = f"{name} at size {work.size}, seed {work.seed}"
            if not factor <= 1:
                raise _Found(
                    "MLX",
                    f"{where}: the MLX function is {factor:.3g} times as far from the oracle as "
                    "is allowed; one of the two is wrong",
                )
            if factor >= worst:
                worst, at = factor, where
    return f"agrees with the oracle; its largest error is {worst:.2g} of what is allowed ({at})"


def _admit(task: Task, seed: int) -> str:
    trials = admit(task, seed=seed)
    through = [each for each in trials if not each.rejected]
    if through:
        raise _Found("admit", *(_let_through(each) for each in through))
    sizes = dict.fromkeys(each.size for each in trials)
    bad = len({each.candidate for each in trials})
    return f"{bad} kinds of bad results are rejected at sizes {', '.join(sizes)}"


def _let_through(trial: Any) -> str:
    if not trial.factor:
        return (
            f"{trial.output} is the same whatever the inputs are (size {trial.size}): a kernel "
            "that computes nothing would pass"
        )
    return (
        f"{trial.candidate} in place of {trial.output} passes at size {trial.size}: its error is "
        f"{trial.factor:.3g} of what is allowed"
    )


def _verify(device: _core.Device, kernel: Kernel, task: Task, dtype: str, seed: int) -> str:
    stage = f"kernel in {dtype}"
    report = _report(
        stage, lambda: verify(Builds(device, kernel, task, dtype_name=dtype), VerifyPlan(seed=seed))
    )
    checked = _report(
        stage, lambda: verify_checked(Builds(device, kernel, task, dtype_name=dtype), seed=seed)
    )
    worst = report.worst
    sizes = dict.fromkeys(each.size for each in report.comparisons)
    summary = f"right at {len(sizes)} sizes"
    if worst is not None:
        summary += f"; its largest error is {worst.ratio:.2g} of what is allowed"
    return "; ".join((summary, *checked.skipped)) if checked.skipped else f"{summary}; no faults"


def _report(stage: str, run: Callable[[], Report]) -> Report:
    try:
        report = run()
    except MachineError:
        raise
    except MetalBenchError as error:
        raise _Found(stage, str(error)) from None
    if not report.passed:
        raise _Found(stage, *map(str, report.findings))
    return report
