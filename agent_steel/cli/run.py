"""``--dry-run``: what would be done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import find_objective_chip
from metalbench.cli.run import SUFFIX
from metalbench.report.console import echo_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from agent_steel.device_lock import DeviceLock
    from agent_steel.history import History
    from agent_steel.history.recording import Recording
    from agent_steel.loop import LoopResult, SearchResult
    from agent_steel.loop.ahead import CandidateWorkers
    from agent_steel.loop.predicted import Predictor
    from agent_steel.loop.settings import SearchSubject, Settings
    from agent_steel.proposal import Proposer, Usage
    from metalbench.cli.machine import Machine
    from metalbench.compare import Ruling
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.run.trial import Described
    from metalbench.store.store import Store


def tell_plan(
    out: Console,
    subjects: Sequence[SearchSubject],
    proposer: Proposer,
    settings: Settings,
    max_cost: float | None,
) -> None:
    """Say which kernels would be tried, by whom, and how much of that there is at most."""
    from metalbench.report import numbers
    from metalbench.store.result import format_tunables

    device, chip = subjects[0].device, subjects[0].chip
    out.print(f"On {device.kind} ({device.name}):", soft_wrap=True)
    if subjects[0].others:
        objectives = ", ".join(subjects[0].objectives)
        out.print(f"Better on at least one of {objectives}, and worse on none of them.")
    if chip is not None:
        out.print(f"It only verifies. Times are predicted for {chip.name}, not measured.")
    for each in subjects:
        defaults = format_tunables(each.kernel.resolve_tunables(dtype=each.dtype))
        with_values = f", {defaults}" if defaults else ""
        out.print(
            f"  {each.entry.name} ({each.dtype}, {each.size}{with_values}) from {each.kernel.path}",
            soft_wrap=True,
        )
    who = f"{proposer.name} ({proposer.model})" if proposer.model else proposer.name
    versions = settings.max_rounds * settings.candidates * settings.width
    most = numbers.count(versions, "version")
    out.print(
        f"{who} would be asked for up to {most} of each, {settings.parallel} at a time, in "
        f"{numbers.count(settings.max_rounds, 'round')} at most.",
        soft_wrap=True,
    )
    if settings.budget_s is not None:
        out.print(f"No longer than {numbers.duration(settings.budget_s)}.")
    if proposer.model:
        limit = "without a limit (--max-cost)" if max_cost is None else f"up to ${max_cost:g}"
        out.print(f"It costs what the model costs, {limit}.")
    out.print("Dry run: nothing was asked, measured or kept.")


# GPU traces of where a kernel began and of its best version, for Xcode.


def trace(machine: Machine, result: SearchResult, folder: Path) -> Iterator[Path]:
    """Capture both versions into `folder`, and return the files; there they are not made again."""
    from metalbench.run.trial import Trial

    subject = result.subject
    folder.mkdir(parents=True, exist_ok=True)
    for attempt in dict.fromkeys((result.start.number, result.best.number)):
        version = result.best if attempt == result.best.number else result.start
        path = folder / f"{subject.entry.name}-{attempt}{SUFFIX}"
        if path.exists():
            continue
        trial = Trial(
            subject.entry,
            subject.kernel_of(version),
            subject.dtype,
            subject.size,
            tunables=version.tunables,
        )
        machine.capture(trial, path)
        yield path


# ``agent_steel --record``: a winner becomes the record of its task where nothing is faster.

ORIGIN = "agent_steel"
# As long as `metalbench run` takes, however short the candidates were timed.
SECONDS = 2.0


def enter_records(
    machine: Machine, store: Store, ended: LoopResult, lock: DeviceLock, options: Mapping[str, Any]
) -> Iterator[Ruling]:
    """Let the best version of every kernel that was made faster enter the leaderboard.

    Each is run once more as by `metalbench run`, in a separate process, and in pairs with an
    existing record.
    """
    for each in ended.searches:
        if each.improved:
            with lock.hold():
                yield _ruling(machine, store, each, options)


def _ruling(
    machine: Machine, store: Store, winner: SearchResult, options: Mapping[str, Any]
) -> Ruling:
    from metalbench.compare import submit
    from metalbench.measure.measurement import Plan
    from metalbench.run.trial import Trial

    subject, best = winner.subject, winner.best
    trial = Trial(
        subject.entry,
        subject.kernel_of(best),
        subject.dtype,
        subject.size,
        seed=options["seed"],
        plan=Plan(seconds=max(options["seconds"], SECONDS)),
        tunables=best.tunables,
    )
    return submit(
        machine.device,
        store,
        trial,
        origin=ORIGIN,
        attempts=machine.attempts,
        site=machine.site,
        here=machine.environment,
    )


# The loop, from the command line's options to its report.

MOST_ROUNDS = 10
CONFIRMATION = 3.0
GOES_ON = "All that was judged is kept; `agent_steel --resume` goes on."
# Options that a resumed session takes from the new command. The others keep their values.
OF_THIS_CALL = frozenset(
    {"resume", "replay", "dry_run", "output", "apply", "record", "db", "cluster", "workers"}
)


def run(ctx: click.Context, options: dict[str, Any]) -> int:
    """Do what the options ask for; returns the exit code."""
    from agent_steel.history import History
    from agent_steel.history.recording import read_recording
    from metalbench.cli.interruption import terminate_as_interrupted
    from metalbench.cli.machine import open_machine
    from metalbench.cli.options import MachineConfig
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    recording = None
    # Only a session of `agent_steel model` names kernels with a size for each.
    options = {"subjects": (), **options}
    if options.get("workers") and not options.get("cluster"):
        raise click.UsageError("--workers: expected --cluster, whose workers it counts; got none")
    with ExitStack() as stack:
        if options["replay"] is not None:
            recording = read_recording(options["replay"])
            options = {**_restore_options(ctx, recording.options, options), "on": None}
            if options["db"] is None:
                folder = stack.enter_context(TemporaryDirectory(prefix="agent_steel-"))
                options["db"] = Path(folder) / "replay.db"
        store = stack.enter_context(Store(store_path(options["db"])))
        history = History(store)
        session = None
        if options["resume"]:
            session, options = _as_it_was(ctx, history, options)
        with (
            terminate_as_interrupted(),
            open_machine(MachineConfig.of(options), traces=bool(options["gputrace"])) as machine,
        ):
            return _on(machine, session, store, history, options, recording=recording)


def _on(
    machine: Machine,
    session: int | None,
    store: Store,
    history: History,
    options: dict[str, Any],
    *,
    recording: Recording | None,
) -> int:
    from agent_steel.loop.replay import ReplayProposer
    from metalbench.report.console import console
    from metalbench.run.single_pass import check_captures

    out, log = console(), console(to_stderr=True)
    subjects = subjects_for(options, machine.device)
    spent = history.usage(session) if session is not None else None
    proposer: Proposer
    proposer = ReplayProposer(recording) if recording is not None else make_proposer(options, spent)
    settings = make_settings(options, proposer)
    if options["gputrace"]:
        check_captures(machine.device)
    if options["dry_run"]:
        tell_plan(out, subjects, proposer, settings, options["max_cost"])
        return 0
    ended = run_session(
        machine,
        subjects,
        proposer,
        settings,
        options=options,
        history=history,
        log=log,
        session=session,
        recording=recording,
    )
    tell_result(ended, history, out, options=options, proposer=proposer)
    _use(ended, machine, store, options, log)
    return find_exit_code(ended, log)


def run_session(
    machine: Machine,
    subjects: list[SearchSubject],
    proposer: Proposer,
    settings: Settings,
    *,
    options: dict[str, Any],
    history: History,
    log: Console,
    session: int | None = None,
    recording: Recording | None = None,
) -> LoopResult:
    """Search for faster versions of `subjects` in a new session, or go on with `session`.

    Raise ProposerError if the provider refuses the first request, MachineError if the machine is at
    fault.
    """
    from agent_steel.history.history import SpendingRecord
    from metalbench.errors import MachineError

    if check := getattr(proposer, "check", None):
        # Before anything is measured: a wrong key should not cost a profile first.
        check()
    if subjects[0].chip is None and recording is None:
        # Of other load; predictions do not depend on it.
        machine.warn(log)
    if session is None:
        session = history.begin(_plain(options))
    if record := getattr(proposer, "record_spending", None):
        record(SpendingRecord(history, session))
    try:
        return _loop(
            machine,
            session,
            subjects,
            proposer,
            settings,
            options=options,
            history=history,
            log=log,
            recording=recording,
        )
    except MachineError:
        log.print(GOES_ON, soft_wrap=True)
        raise


def find_exit_code(ended: LoopResult, log: Console) -> int:
    """Return 1 where some kernel could not be tried; raise Interrupted where Ctrl-C ended it.

    Raise CommandFailure where the proposer never gave an answer, but only errors, and where its
    provider refuses requests.
    """
    from metalbench.cli.group import CommandFailure, Interrupted

    if ended.interrupted:
        log.print(GOES_ON, soft_wrap=True)
        raise Interrupted
    if ended.refused:
        raise CommandFailure(ended.refused)
    if ended.unanswered:
        raise CommandFailure(f"nothing was proposed: {ended.unanswered}")
    return int(bool(ended.untried))


def _loop(
    machine: Machine,
    session: int,
    subjects: list[SearchSubject],
    proposer: Proposer,
    settings: Settings,
    *,
    options: dict[str, Any],
    history: History,
    log: Console,
    recording: Recording | None,
) -> LoopResult:
    from agent_steel.cli.live import LiveView
    from agent_steel.cli.report import ProgressPrinter
    from agent_steel.device_lock import DeviceLock
    from agent_steel.loop import Loop
    from agent_steel.loop.objectives import MultiObjectiveVerifier
    from agent_steel.loop.predicted import PredictionProfiler, PredictionVerifier, Predictor
    from agent_steel.loop.profiler import Profiler
    from agent_steel.loop.replay import RecordedProfiler, RecordedVerifier
    from agent_steel.loop.search import Tools
    from agent_steel.loop.verifier import CandidateVerifier, Verifier
    from metalbench.measure.measurement import Plan
    from metalbench.profiling.prediction import find_gpu_chip

    seconds, seed = options["seconds"], options["seed"]
    lock = DeviceLock.of(subjects[0].device, history.folder)
    site = machine.site
    assert site is not None
    view = LiveView if log.is_terminal else ProgressPrinter
    listener = view(log, lambda: proposer.usage)
    chip, others = subjects[0].chip, subjects[0].others
    holds_out = options["held_out"]
    verifier: Verifier | PredictionVerifier
    if chip is not None:
        predictor = Predictor(chip)
        verifier = PredictionVerifier(site, predictor, seed, holds_out and not others)
        profiler: Profiler = PredictionProfiler(site, predictor, seed=seed, others=others)
    else:
        plan, confirmation = Plan(seconds=seconds), Plan(seconds=CONFIRMATION * seconds)
        verifier = Verifier(
            *(site, seed, plan, confirmation, settings.target), holds_out=holds_out and not others
        )
        shown = [find_gpu_chip(options["predict"])] if options.get("predict") else []
        chips = list(dict.fromkeys([*others, *shown]))
        profiler = Profiler(site, seed=seed, plan=plan, chips=chips)
    further = tuple(map(Predictor, others))
    workers = None
    if options.get("cluster") and recording is None:
        said = partial(log.print, soft_wrap=True, markup=False)
        first = [predictor] if chip is not None else []
        workers = _open_workers(options, [*first, *further], said)
        verifier = replace(verifier, workers=workers)
    judge: CandidateVerifier = verifier
    if others:
        judge = MultiObjectiveVerifier(verifier, further, holds_out)
    if recording is not None:
        judge, profiler = RecordedVerifier(recording), RecordedProfiler(recording)
    tools = Tools(
        history,
        judge,
        profiler,
        lock,
        proposer,
        settings,
        listener,
        workers,
    )
    try:
        with listener:
            return Loop(session, subjects, tools).run()
    finally:
        if workers is not None:
            workers.close()


def _open_workers(
    options: Mapping[str, Any], predictors: Sequence[Predictor], report: Callable[[str], None]
) -> CandidateWorkers:
    """Open the workers of ``--cluster``. Raise MachineError if there is no such cluster."""
    from agent_steel.loop.ahead import CandidateWorkers
    from metalbench.cli.machine import open_verifying_workers
    from metalbench.cli.options import MachineConfig

    provider = open_verifying_workers(
        MachineConfig.of(dict(options)), options["cluster"], options.get("workers")
    )
    return CandidateWorkers(provider, predictors, seed=options["seed"], report=report)


def _as_it_was(
    ctx: click.Context, history: History, options: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """Return the session that was broken off, and its options but for those that are given now."""
    session = history.broken_off()
    if session is None:
        raise click.UsageError(
            f"--resume: no session in {history.path} was broken off; leave it out to begin one"
        )
    return session.number, _restore_options(ctx, session.options, options)


def _restore_options(
    ctx: click.Context, recorded: Mapping[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the recorded options of a session, but for those that are given now."""
    given = {
        name
        for name in options
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    kept = {
        name: value
        for name, value in recorded.items()
        if name in options and name not in given | OF_THIS_CALL
    }
    for name in ("gputrace", "prices", "prompts"):
        if kept.get(name):
            kept[name] = Path(kept[name])
    for name in ("kernels", "include"):
        if name in kept:
            kept[name] = tuple(map(Path, kept[name]))
    return {**options, **kept}


def subjects_for(options: Mapping[str, Any], device: Described) -> list[SearchSubject]:
    """Return the kernels selected by the options; raise click.UsageError for none."""
    from agent_steel.loop.settings import SearchSubject
    from metalbench.kernel.library import find
    from metalbench.kernel.prepare import check_written_for
    from metalbench.run.trial import device_facts

    chip, others = find_objectives(options.get("objective", "time"))
    if chip is not None or others:
        _check_predicted(options, is_measured=chip is None)
    names = options["kernel_names"]
    if options.get("subjects"):
        return list(_list_recorded_subjects(options, device, chip, others))
    if not (names or options["set_name"] or options["everything"]):
        raise click.UsageError(
            "expected --kernel-name NAME, --set SET or --all; `metalbench list` shows the kernels"
        )
    subjects = []
    for entry in find(names, options["set_name"], options["kernels"]):
        found = entry.kernel(chip.target if chip else device, dtype=options["dtype"])
        kernel = replace(found, include_dirs=tuple(options["include"]))
        if names:
            check_written_for(kernel, options["dtype"])
        elif options["dtype"] not in kernel.dtypes:
            continue
        task = entry.task
        size = options["size"] or (task.headline if chip else task.headline_on(device))
        task.check_size(size)
        facts = device_facts(device)
        subjects.append(SearchSubject(entry, kernel, options["dtype"], size, facts, chip, others))
    if not subjects:
        raise click.UsageError(f"no kernel is written for {options['dtype']}")
    return subjects


def _list_recorded_subjects(
    options: Mapping[str, Any],
    device: Described,
    chip: GpuChip | None,
    others: tuple[GpuChip, ...],
) -> Iterator[SearchSubject]:
    """Yield the kernels of a session of `agent_steel model`, each at its size."""
    from agent_steel.loop.settings import SearchSubject
    from metalbench.kernel.library import find
    from metalbench.run.trial import device_facts

    for name, dtype, size in options["subjects"]:
        (entry,) = find([name], None, options["kernels"])
        kernel = entry.kernel(chip.target if chip else device, dtype=dtype)
        facts = device_facts(device)
        yield SearchSubject(entry, kernel, dtype, size, facts, chip, others)


def find_objectives(text: str) -> tuple[GpuChip | None, tuple[GpuChip, ...]]:
    """Return the chip of the objective that leads, None if it is measured, and further chips.

    Measured times lead wherever they are in the list. Raise click.UsageError.
    """
    names = [each.strip() for each in text.split(",")]
    if twice := next((each for each in names if names.count(each) > 1), ""):
        raise click.UsageError(f"--objective: {twice} is there twice")
    is_measured = any(each in ("time", "measured") for each in names)
    found = [find_objective_chip(each) for each in names if each not in ("time", "measured")]
    chips = [each for each in found if each is not None]
    return (None, tuple(chips)) if is_measured else (chips[0], tuple(chips[1:]))


def _check_predicted(options: Mapping[str, Any], *, is_measured: bool) -> None:
    """Raise click.UsageError for options that need a measurement, or only a measurement."""
    objective = options["objective"]
    names = ("record",) if is_measured else ("record", "gputrace", "on", "predict")
    for name in names:
        if options.get(name):
            raise click.UsageError(f"--{name}: expected none with --objective {objective}")
    if options.get("target", "speed") != "speed":
        raise click.UsageError(
            f"--target: expected speed with --objective {objective}, got {options['target']}"
        )


def make_proposer(options: Mapping[str, Any], spent: Usage | None) -> Proposer:
    """Return the proposer of the options; `spent` is what an earlier part of the session used."""
    from agent_steel.models.providers.presets import collect_options
    from agent_steel.proposers import create

    return create(options["provider"], **collect_options(options), spent=spent)


def make_settings(options: Mapping[str, Any], proposer: Proposer) -> Settings:
    """Return the limits and the strategy of a search."""
    from agent_steel.loop.settings import (
        MOST_IDLE_ROUNDS,
        MOST_IDLE_ROUNDS_OF_POPULATION,
        Settings,
    )
    from agent_steel.proposers import candidates_of
    from metalbench.measure.analysis import Target

    minutes = options["budget_minutes"]
    is_population = options["strategy"] == "population"
    idle = MOST_IDLE_ROUNDS_OF_POPULATION if is_population else MOST_IDLE_ROUNDS
    candidates = 1 if is_population else candidates_of(proposer)
    return Settings(
        max_rounds=options["max_rounds"] or (MOST_ROUNDS if options["loop"] else 1),
        max_idle_rounds=options["max_no_improvement"] or idle,
        candidates=options["candidates"] or candidates,
        strategy=options["strategy"],
        lineages=options["lineages"],
        islands=options["islands"],
        seed=options["seed"],
        parallel=options["parallel"],
        budget_s=None if minutes is None else 60 * minutes,
        target=Target(options["target"]),
    )


def tell_result(
    ended: LoopResult,
    history: History,
    out: Console,
    *,
    options: Mapping[str, Any],
    proposer: Proposer,
) -> None:
    """Print the result of a session, as text or JSON."""
    from agent_steel.cli.report import report, to_json

    if options["output"] == "json":
        echo_document(to_json(ended, history, proposer))
        return
    winner = next((each.subject for each in ended.searches if each.improved), None)
    if winner is not None and options.get("subjects"):
        # The commands that the report names are for the first winner.
        options = {**options, "size": winner.size, "dtype": winner.dtype}
    described = report(
        *(ended, history, proposer, out),
        history_options=_repeat_options("history", options),
        export_options=_repeat_options("export", options),
    )
    out.print(described)


def _repeat_options(name: str, options: Mapping[str, Any]) -> str:
    """Return the options that the command `name` has, too, and whose values are not its defaults.

    Each begins with a space. The result can be pasted into a shell.
    """
    # By the group, because the module of the commands imports this one.
    group = click.get_current_context().find_root().command
    assert isinstance(group, click.Group)
    words = []
    for each in group.commands[name].params:
        value = options.get(each.name or "")
        if not isinstance(each, click.Option) or value in (None, (), each.default):
            continue
        for one in value if each.multiple else (value,):
            words += [each.opts[0], str(one)]
    return "".join(f" {shlex.quote(each)}" for each in words)


def _use(
    ended: LoopResult, machine: Machine, store: Store, options: dict[str, Any], log: Console
) -> None:
    """Explain how to use the winners."""
    if options["record"] and not ended.interrupted:
        _record(log, machine, store, ended, options)
    if options["gputrace"] and not ended.interrupted:
        _trace(log, machine, ended, options)
    if options["apply"]:
        apply_winners(log, ended, options)


def _record(
    log: Console, machine: Machine, store: Store, ended: LoopResult, options: dict[str, Any]
) -> None:
    from agent_steel.device_lock import DeviceLock
    from metalbench.report.leaderboard import ruling_lines
    from metalbench.run.trial import device_facts

    lock = DeviceLock.of(device_facts(machine.device), store.path.parent)
    for line in ruling_lines(list(enter_records(machine, store, ended, lock, options))):
        log.print(line, soft_wrap=True)


def _trace(log: Console, machine: Machine, ended: LoopResult, options: dict[str, Any]) -> None:

    for each in ended.searches:
        for path in trace(machine, each, options["gputrace"]):
            log.print(f"Captured in {path}; `open {path}` shows it in Xcode.", soft_wrap=True)


def apply_winners(log: Console, ended: LoopResult, options: dict[str, Any]) -> None:
    """Write the winners in place of the kernels' files, or as variants of a chip."""
    from agent_steel.history.history import apply_attempt

    for each in ended.searches:
        if each.improved:
            path = apply_attempt(
                each.subject.entry,
                each.best,
                each.subject.variant_device,
                options["kernels"],
                is_predicted=each.subject.chip is not None,
            )
            log.print(f"Wrote {path}", soft_wrap=True)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON can hold them."""

    def plain(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [plain(each) for each in value]
        return str(value.absolute()) if isinstance(value, Path) else value

    return {name: plain(value) for name, value in options.items()}
