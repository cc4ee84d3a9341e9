"""``agent_steel model``: find faster kernels for the operations of a network."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_steel.models.providers.presets import model_options, provider_option
from agent_steel.proposers import TUNER
from metalbench.report.console import echo_document

if TYPE_CHECKING:
    from rich.console import Console

    from agent_steel.history import History
    from agent_steel.loop import LoopResult
    from agent_steel.loop.verifier import Version
    from agent_steel.networks.end_to_end import OutputComparison
    from agent_steel.networks.operation import Network, Operation
    from agent_steel.networks.profile import NetworkProfile, ProfiledOperation
    from agent_steel.networks.tasks import FoundTask
    from agent_steel.proposal import Proposer
    from metalbench.cli.machine import Machine
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.stats import Judgement
    from metalbench.store.result import DeviceFacts

EPILOG = """\b
Examples:
  agent_steel model my_model.py --dry-run          the profile, and what would be tried
  agent_steel model my_model.py --top 2 --max-rounds 3
  agent_steel model my_model.py --objective predicted:m2 --budget-minutes 10
  agent_steel model my_model.py --provider openai --model MODEL --max-cost 2

\b
The file has the form of KernelBench's files, with PyTorch or MLX, and is executed:
  class Model(nn.Module): ...            torch.nn or mlx.nn
  def get_inputs(): return [array, ...]
  def get_init_inputs(): return [...]    arguments of Model

\b
Ctrl-C keeps all attempts. The same command again profiles the network, and starts each search with
the best version that is known; `agent_steel --resume` goes on with the searches alone.

\b
Exit codes: 0; 1 if outputs differ with the kernels, or some kernel was not correct to begin with;
2 wrong usage, file or environment; 130 interrupted.
"""
# The options of the loop that this command has, too; the group adds them.
OF_THE_LOOP = frozenset((
    "max_rounds", "max_no_improvement", "candidates", "parallel", "strategy", "lineages", "islands",
    "budget_minutes", "objective", "held_out", "seed", "seconds", "output", "dry_run", "apply",
    "kernel_timeout", "memory_limit", "kernels", "include", "device", "db",
))  # fmt: skip
MOST_ROWS = 20
# Operations whose share is less are not searched.
LEAST_SHARE = 0.005
LEAST_NAMED_SHARE = 0.001


@click.command("model", epilog=EPILOG, short_help="Faster kernels for a PyTorch or MLX network.")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="K",
    help="Operations to search: the K with a task that take most of the time.",
)
@click.option(
    "--profile-seconds",
    type=click.FloatRange(min=0.01),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time to profile the network, and to time it end to end.",
)
@provider_option(TUNER, default=TUNER, show_default=True)
@model_options
@click.pass_context
def model_command(ctx: click.Context, /, **options: Any) -> None:
    """Profile a network, search for faster kernels of its operations, and check the whole.

    Operations are ranked by their share of the time: measured here, or predicted for an Apple GPU
    (--objective predicted:m2). Each is matched with a task of the library at the network's size;
    those without a task are listed. The loop searches the K largest. Then the network runs with the
    best kernels in place of these operations: its outputs are compared with those of the file's
    network, and both are timed in pairs.
    """
    from agent_steel.history import History
    from metalbench.cli.interruption import terminate_as_interrupted
    from metalbench.cli.machine import open_machine
    from metalbench.cli.options import MachineConfig
    from metalbench.report.console import console
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    assert ctx.parent is not None
    # Other options of the loop have their defaults; it goes on round after round.
    options = {**ctx.parent.params, **options, "loop": True}
    with (
        Store(store_path(options["db"])) as store,
        terminate_as_interrupted(),
        open_machine(MachineConfig.of(options)) as machine,
    ):
        out, log = console(), console(to_stderr=True)
        ctx.exit(_Command(machine, History(store), options, out, log).run())


@dataclass(frozen=True)
class _EndToEnd:
    """The comparison of outputs; the ratios are None if times are predicted.

    `original` is the time of the file's network over that with the best kernels, `library` that
    with the library's kernels over that with the best ones. `runs` counts the kernels of one pass,
    `calls` the operations that they should replace.
    """

    outputs: OutputComparison
    original: Judgement | None
    library: Judgement | None
    runs: int
    calls: int


@dataclass(frozen=True)
class _Command:
    """The parts of one call of the command."""

    machine: Machine
    history: History
    options: dict[str, Any]
    out: Console
    log: Console

    @property
    def is_text(self) -> bool:
        return bool(self.options["output"] == "text")

    @property
    def facts(self) -> DeviceFacts:
        from metalbench.run.trial import device_facts

        return device_facts(self.machine.device)

    def run(self) -> int:
        """Profile, search and check; return the exit code."""
        from agent_steel.cli.report import to_json
        from agent_steel.cli.run import apply_winners, find_exit_code, find_objectives
        from agent_steel.device_lock import DeviceLock
        from agent_steel.networks.load import load_network

        options = self.options
        chip, others = find_objectives(options["objective"])
        network = load_network(options["path"], self.facts.kind)
        lock = DeviceLock.of(self.facts, self.history.folder)
        with lock.hold():
            profile = self.profile(network, chip)
        chosen = [each for each in profile.choose(options["top"]) if each.share >= LEAST_SHARE]
        self.show(_describe_profile(profile, self.out))
        if not chosen:
            self.show(["No operation has a task of the library, so there is nothing to search."])
        else:
            self.show([_describe_bound(chosen)])
        ended = self.search(chosen, chip, others) if chosen else None
        if ended is None:
            if not self.is_text:
                echo_document(_to_json(profile, chosen, None, None))
            return 0
        result, proposer = ended
        checked = None
        if not result.interrupted and result.searches:
            self.log.print("running the network with the kernels in place of its operations ...")
            with lock.hold():
                checked = self.check(network, profile, chosen, result)
            self.show(_describe_check(checked, profile, chosen, result))
        if not self.is_text:
            session = json.loads(to_json(result, self.history, proposer))
            echo_document(_to_json(profile, chosen, checked, session))
        if options["apply"]:
            apply_winners(self.log, result, options)
        code = find_exit_code(result, self.log)
        return 1 if checked is not None and not checked.outputs.passed else code

    def show(self, lines: Iterable[Any]) -> None:
        """Print lines and tables if the output is text."""
        for each in lines if self.is_text else ():
            self.out.print(each, soft_wrap=True)

    def profile(self, network: Network, chip: GpuChip | None) -> NetworkProfile:
        """Return the operations of the network by their share of the time."""
        from agent_steel.networks.end_to_end import time_pass
        from agent_steel.networks.profile import profile_network
        from metalbench.kernel.library import Library

        path, seconds = self.options["path"], self.options["profile_seconds"]
        if chip is None:
            self.machine.warn(self.log)
        self.log.print(f"profiling {path} ({network.framework}) ...", soft_wrap=True)
        pass_s = time_pass(network.run, seconds / 4)
        return profile_network(
            network,
            Library(self.options["kernels"]),
            self.machine.device,
            seconds=seconds,
            pass_s=pass_s,
            chip=chip,
            facts=self.facts,
        )

    def search(
        self,
        chosen: Sequence[ProfiledOperation],
        chip: GpuChip | None,
        others: tuple[GpuChip, ...],
    ) -> tuple[LoopResult, Proposer] | None:
        """Search the kernels of operations, and print the result; None for a dry run."""
        from agent_steel.cli.run import (
            make_proposer,
            make_settings,
            run_session,
            tell_plan,
            tell_result,
        )
        from agent_steel.networks.profile import make_subject

        options = self.options
        found = [each.found for each in chosen if each.found is not None]
        several = [make_subject(each, self.facts, chip, others) for each in found]
        # Different operations may be one task of one size.
        subjects = list({each.place: each for each in several}.values())
        options["subjects"] = [(each.entry.name, each.dtype, each.size) for each in subjects]
        proposer = make_proposer(options, None)
        settings = make_settings(options, proposer)
        if options["dry_run"]:
            if self.is_text:
                tell_plan(self.out, subjects, proposer, settings, options["max_cost"])
            return None
        ended = run_session(
            self.machine,
            subjects,
            proposer,
            settings,
            options=options,
            history=self.history,
            log=self.log,
        )
        if self.is_text:
            tell_result(ended, self.history, self.out, options=options, proposer=proposer)
        return ended, proposer

    def check(
        self,
        network: Network,
        profile: NetworkProfile,
        chosen: Sequence[ProfiledOperation],
        ended: LoopResult,
    ) -> _EndToEnd:
        """Compare the outputs with the best kernels, and time the network with them in pairs."""
        from agent_steel.networks.end_to_end import KernelPlacer, compare_outputs, time_pairs

        best = _find_versions(chosen, ended, is_best=True)
        placer = KernelPlacer(self.facts.kind)
        run = network.place(placer.place(best))
        got = network.outputs(run)
        runs = placer.runs
        compared = compare_outputs(
            got, network.outputs(network.run), network.exact_outputs(), len(profile.operations)
        )
        calls = sum(each.record.calls for each in chosen if each.record.operation in best)
        original = library = None
        seconds, seed = self.options["profile_seconds"], self.options["seed"]
        if compared.passed and profile.chip is None:
            original = time_pairs(network.run, run, seconds, seed)
            if any(each.improved for each in ended.searches):
                first = _find_versions(chosen, ended, is_best=False)
                before = network.place(KernelPlacer(self.facts.kind).place(first))
                library = time_pairs(before, run, seconds, seed)
        return _EndToEnd(compared, original, library, runs, calls)


def _find_versions(
    chosen: Sequence[ProfiledOperation], ended: LoopResult, *, is_best: bool
) -> dict[Operation, tuple[FoundTask, Version]]:
    """Return the best or the first version of the kernel of each operation that was searched."""
    from agent_steel.loop.verifier import Version

    versions: dict[Operation, tuple[FoundTask, Version]] = {}
    for search in ended.searches:
        subject, attempt = search.subject, search.best if is_best else search.start
        key = (subject.entry.name, subject.dtype, subject.size)
        for each in chosen:
            found = each.found
            if found is not None and (found.entry.name, found.dtype, found.size) == key:
                version = Version(subject.kernel_of(attempt), attempt.tunables, "")
                versions[each.record.operation] = (found, version)
    return versions


# What is printed.


def _describe_profile(profile: NetworkProfile, console: Console) -> Iterator[Any]:
    from agent_steel.networks.profile import list_missing
    from metalbench.report import numbers
    from metalbench.report.terminal import plain_table

    chip = profile.chip
    views = [each for each in profile.operations if each.is_view]
    shown = [each for each in profile.operations if not each.is_view]
    rows = shown[:MOST_ROWS]
    calls = sum(each.record.calls for each in profile.operations)
    yield (
        f"{profile.framework}: {numbers.count(calls, 'operation')} in a pass, which takes "
        f"{numbers.short_time(1e9 * profile.pass_s)} here."
    )
    total = numbers.short_time(1e9 * profile.total_s)
    if chip is None:
        yield f"Measured one by one, the operations take {total}."
    else:
        yield (
            f"Predicted for {chip.name}, not measured: {total}. Operations without a task have a "
            "lower bound (>=), that of their bytes and products at the published rates."
        )
    yield ""
    table = plain_table(terminal=console.is_terminal)
    for name in ("operation", "shapes", "calls", "time", "share", "task"):
        table.add_column(name, justify="right" if name in ("calls", "time", "share") else "left")
    for each in rows:
        sign = ">= " if each.is_bound else ""
        table.add_row(
            each.name,
            each.record.operation.shapes,
            str(each.record.calls),
            f"{sign}{numbers.short_time(1e9 * each.seconds)}",
            f"{100 * each.share:.1f} %",
            _describe_task(each),
        )
    yield table
    further = (shown[MOST_ROWS:], "Further operations"), (views, "Operations on shapes only")
    for several, what in further:
        if several:
            share = 100 * sum(each.share for each in several)
            yield f"{what}: {len(several)}, {share:.1f} % of the time."
    missing = list_missing(profile.operations)
    if missing:
        large = {name: share for name, share in missing.items() if share >= LEAST_NAMED_SHARE}
        named = [f"{name} {100 * share:.1f} %" for name, share in large.items()]
        named += ["others"] if len(large) < len(missing) else []
        without = 100 * sum(missing.values())
        yield f"Without a task: {without:.1f} % of the time: {', '.join(named)}."
    yield ""


def _describe_task(each: ProfiledOperation) -> str:
    if each.found is None:
        return f"no task: {each.reason}"
    return f"{each.found.entry.name} ({each.found.size})"


def _describe_bound(chosen: Sequence[ProfiledOperation]) -> str:
    """Say how much faster the network can become by these operations (Amdahl's law)."""
    from agent_steel.networks.profile import largest_gain
    from metalbench.report import numbers

    share = sum(each.share for each in chosen)
    what = numbers.count(len(chosen), "operation")
    verb = "is" if len(chosen) == 1 else "are"
    searched = ", ".join(dict.fromkeys(each.name for each in chosen))
    bound = largest_gain(share)
    limit = "no bound on the gain"
    if not math.isinf(bound):
        limit = f"by these alone the network becomes at most {bound:.3g}x as fast"
    return (
        f"The search is for {what} ({searched}), which {verb} {100 * share:.0f} % of the time: "
        f"{limit}."
    )


def _describe_check(
    checked: _EndToEnd,
    profile: NetworkProfile,
    chosen: Sequence[ProfiledOperation],
    ended: LoopResult,
) -> Iterator[str]:
    from metalbench.report import numbers

    outputs = checked.outputs
    yield ""
    yield (
        f"End to end: {checked.runs} of {numbers.count(checked.calls, 'call')} of these operations "
        "ran as kernels."
    )
    if checked.runs < checked.calls:
        yield "The others are in functions under mx.compile, which cannot call a kernel from here."
    if outputs.passed:
        yield (
            f"The outputs agree: largest difference {outputs.largest:.2g}, allowed "
            f"{outputs.allowed:.2g} ({outputs.rule})."
        )
    else:
        yield (
            f"The outputs differ: {outputs.fault}; largest difference {outputs.largest:.2g}, "
            f"allowed {outputs.allowed:.2g} ({outputs.rule}). The network was not timed."
        )
    if checked.original is not None:
        yield (
            f"File's network / network with the best kernels: "
            f"{numbers.ratio(checked.original.ratio)}, {checked.original.verdict.value}. Each "
            "kernel waits for its inputs and copies them, which is part of this time."
        )
    if checked.library is not None:
        yield (
            f"Network with the library's kernels / with the best ones: "
            f"{numbers.ratio(checked.library.ratio)}, {checked.library.verdict.value}."
        )
    elif checked.original is not None:
        yield "No search found a better kernel, so these are the library's."
    if profile.chip is not None:
        yield _predict_gain(profile, chosen, ended)


def _predict_gain(
    profile: NetworkProfile, chosen: Sequence[ProfiledOperation], ended: LoopResult
) -> str:
    """Say how much faster the network is predicted to be than with the library's kernels."""
    from agent_steel.loop.predicted import Predictor
    from agent_steel.networks.profile import predict_seconds

    assert profile.chip is not None
    predictor, saved = Predictor(profile.chip), 0.0
    for search in ended.searches:
        subject, best = search.subject, search.best
        key = (subject.entry.name, subject.dtype, subject.size)
        seconds = predict_seconds(predictor, subject, subject.kernel_of(best), best.tunables)
        for each in chosen:
            found = each.found
            assert found is not None
            if (found.entry.name, found.dtype, found.size) == key and not isinstance(seconds, str):
                saved += each.seconds - each.record.calls * seconds
    ratio = profile.total_s / (profile.total_s - saved)
    return (
        f"Predicted for {profile.chip.name}, not measured: the operations with the library's "
        f"kernels / with the best ones: {ratio:.3g}x. Times of operations without a task are lower "
        "bounds, so the gain of the whole may be less."
    )


def _to_json(
    profile: NetworkProfile,
    chosen: Sequence[ProfiledOperation],
    checked: _EndToEnd | None,
    session: Any,
) -> str:
    """JSON of a profile, its search and its check.

    framework, pass_s     the framework with its device, and the median time of a pass here
    predicted_for         the chip whose times the operations have; null: measured here
    operations            [{name, shapes, calls, seconds, is_bound, share, task, dtype, size,
                          reason, searched}]; task null: there is none, and reason says why
    bound                 the largest possible gain by the searched operations; null: no bound
    search                the session, as --output json of the loop; null: none was run
    end_to_end            {passed, largest, allowed, rule, fault, runs, calls, original, library};
                          the last two {ratio, low, high, verdict} or null
    """
    from agent_steel.networks.profile import largest_gain
    from metalbench.safe_text import json_text

    bound = largest_gain(sum(each.share for each in chosen))
    described: dict[str, Any] = {
        "framework": profile.framework,
        "pass_s": profile.pass_s,
        "predicted_for": None if profile.chip is None else profile.chip.name,
        "operations": [
            {
                "name": each.name,
                "shapes": each.record.operation.shapes,
                "calls": each.record.calls,
                "seconds": each.seconds,
                "is_bound": each.is_bound,
                "share": each.share,
                "task": None if each.found is None else each.found.entry.name,
                "dtype": None if each.found is None else each.found.dtype,
                "size": None if each.found is None else each.found.size,
                "reason": each.reason,
                "searched": each in chosen,
            }
            for each in profile.operations
        ],
        "bound": bound if math.isfinite(bound) else None,
        "search": session,
        "end_to_end": None,
    }
    if checked is not None:
        outputs = checked.outputs
        described["end_to_end"] = {
            "passed": outputs.passed,
            "largest": outputs.largest,
            "allowed": outputs.allowed,
            "rule": outputs.rule,
            "fault": outputs.fault,
            "runs": checked.runs,
            "calls": checked.calls,
            "original": _judgement(checked.original),
            "library": _judgement(checked.library),
        }
    return json_text(described, indent=2, allow_nan=False) + "\n"


def _judgement(judgement: Judgement | None) -> dict[str, Any] | None:
    if judgement is None:
        return None
    ratio = judgement.ratio
    low, high = (ratio.low, ratio.high) if ratio.is_bounded else (None, None)
    return {"ratio": ratio.value, "low": low, "high": high, "verdict": judgement.verdict.value}
