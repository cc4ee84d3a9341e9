"""Options that several subcommands share, with their parsers and completions."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.devices import KINDS
from metalbench.errors import suggestion
from metalbench.msl.frontend.standards import STANDARDS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from metalbench.compare.results import ResultSet
    from metalbench.kernel.library import Entry
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.sandbox.resources import Limits
    from metalbench.store.store import Store
    from metalbench.workers.pool import Workers


# A multiple of every number of variations up to ten, so that inputs begin with the first one.
TURN = 2520
SEEDS = 1 << 32


def draw_secret_seed() -> int:
    """Draw a seed from the system's source of randomness."""
    return TURN * secrets.randbelow(SEEDS)


# Resolve names of runs on the command line.

RUN = re.compile(r"run:(\d+)")
LATEST = re.compile(r"latest(?:~(\d+))?")
BASELINE = re.compile(r"[A-Za-z0-9][\w.-]*")


def baseline_name(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Raise BadParameter for a name that has another meaning."""
    if value is not None and (BASELINE.fullmatch(value) is None or LATEST.fullmatch(value)):
        raise click.BadParameter(
            f"expected a name of letters, digits, - . and _, such as main, got {value}",
            ctx,
            parameter,
        )
    return value


def result_set(name: str, db: Path | None, others: Sequence[str] = ()) -> ResultSet:
    """Return the results of `name`: a file, run:12, latest~1, or a name of `run --save`.

    Raises click.UsageError for an unknown name; `others` are what the command also takes.
    """
    from metalbench.compare.results import ResultSet

    if Path(name).is_file():
        return ResultSet.of_file(Path(name))
    if Path(name).name != name or name.endswith(".json"):
        raise click.UsageError(
            f"{name}: there is no such file; `metalbench run --json FILE` writes one"
        )
    with open_store(name, db) as store:
        number = find_run(store, name, ("a file of `run --json`", *others))
        shown = f"run:{number}" if LATEST.fullmatch(name) else name
        return ResultSet.of_run(store, number, shown)


def open_store(name: str, db: Path | None) -> Store:
    """Open the store that has the run `name`; raise click.UsageError if there is none yet."""
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    path = store_path(db)
    if not path.exists():
        raise click.UsageError(
            f"{name}: there are no runs yet (no store {path}); `metalbench run` makes one, and "
            "--save NAME gives it a name"
        )
    return Store(path)


def find_run(store: Store, name: str, others: Sequence[str] = ()) -> int:
    """Return the number of the run `name` of a store: run:12, latest~1, or a name of `--save`.

    Raises click.UsageError for an unknown name, where `others` are what the command also takes;
    StoreError for too few runs.
    """
    from metalbench.compare.results import find_latest
    from metalbench.store.store import Store

    run, latest = RUN.fullmatch(name), LATEST.fullmatch(name)
    if run is not None:
        return int(run[1])
    if latest is not None:
        return find_latest(store, int(latest[1] or 0), name)
    saved = store.baselines()
    if name in saved:
        return saved[name]
    with Store(store.path, all_projects=True) as every:
        is_elsewhere = name in every.baselines()
    if is_elsewhere:
        raise click.UsageError(
            f"{name}: it is the name of a run of another project, which is another git repository "
            "or none; run this command there, set METALBENCH_PROJECT, or save a run here"
        )
    forms = ", ".join((*others, "run:NUMBER", "latest", "latest~1"))
    listed = f"one of the saved names {', '.join(saved)}" if saved else "a name of `run --save`"
    hint = suggestion(name, saved)
    near = f"; {hint}" if hint.startswith("did you mean") else ""
    raise click.UsageError(f"{name}: expected {forms}, or {listed}{near}")


# Options for the worker process of each kernel.

Command = TypeVar("Command", bound=Callable[..., Any])
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Read a size such as 512M or 8G."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
    size = int(float(parts[1]) * UNITS[parts[2].upper()]) if parts else 0
    if size < 1:
        message = f"expected a size such as 512M or 8G, got {value}"
        raise click.BadParameter(message, ctx, parameter)
    return size


def _in_this_process(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
    """Let devices load kernels in this process, if --in-process is given."""
    if value:
        from metalbench import _core

        _core.run_apart(None)
    return value


def isolation_options(command: Command) -> Command:
    """``--kernel-timeout``, ``--memory-limit`` and ``--in-process``."""
    in_process = click.option(
        "--in-process",
        is_flag=True,
        callback=_in_this_process,
        help="Run all kernels in this process, for debuggers; without limits.",
    )
    return limit_options(in_process(command))


def confinement_option(command: Command) -> Command:
    """``--unconfined``."""
    return click.option(
        "--unconfined",
        is_flag=True,
        help="Run Python candidates also where the system cannot confine them (no seccomp or "
        "Landlock): they can do whatever you can. Results say so.",
    )(command)


def limit_options(command: Command) -> Command:
    """``--kernel-timeout`` and ``--memory-limit``."""
    for option in (
        click.option(
            "--memory-limit",
            callback=_bytes,
            metavar="SIZE",
            help="Most memory of a kernel's process, such as 8G; by default half of the RAM.",
        ),
        click.option(
            "--kernel-timeout",
            type=click.FloatRange(min=0.1),
            default=600.0,
            show_default=True,
            metavar="SECONDS",
            help="Longest time for all stages of one kernel; then its process is ended.",
        ),
    ):
        command = option(command)
    return command


# Options that several commands share.

DTYPES = ("float32", "float16", "bfloat16")
SET_HELP = (
    "Only this set: common, standard, full; user, the kernels of --kernels; a family's, such as "
    "quantised or attention; families; all, which is all of these; quick, one kernel for each "
    "technique; or a suite's: kernelbench/level1, kernelbench."
)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


def complete_names(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return names of tasks for the shell's completion."""
    from click.shell_completion import CompletionItem

    from metalbench.errors import MetalBenchError
    from metalbench.kernel.library import Library

    try:
        entries = [
            entry
            for entry in Library(ctx.params.get("kernels") or ())
            if entry.name.startswith(incomplete)
        ]
    except MetalBenchError:
        return []
    return [CompletionItem(entry.name, help=_description(entry)) for entry in entries]


def _description(entry: Entry) -> str:
    from metalbench.errors import TaskError

    try:
        return entry.description
    except TaskError:
        return "wrong task"


def device_option(command: Command) -> Command:
    """``--device``."""
    return click.option(
        "--device",
        type=click.Choice(["auto", *KINDS]),
        default="auto",
        show_default=True,
        help="Device that kernels run on; auto is the GPU of a Mac, or the simulation on the CPU. "
        "cuda is an NVIDIA GPU.",
    )(command)


def _read_folders(
    ctx: click.Context, parameter: click.Parameter, values: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return folders that exist; raise BadParameter for others, which --allow-empty leaves out."""
    if ctx.params.get("allow_empty"):
        values = tuple(each for each in values if each.exists())
    return tuple(FOLDER.convert(each, parameter, ctx) for each in values)


def kernels_option(command: Command) -> Command:
    """``--kernels``, repeatable."""
    return click.option(
        "--kernels",
        type=click.Path(file_okay=False, path_type=Path),
        multiple=True,
        callback=_read_folders,
        metavar="DIR",
        help="Folder of your tasks and kernels, which precede the library's. Repeatable.",
    )(command)


def buffers_option(command: Command) -> Command:
    """``--buffers``."""
    return click.option(
        "--buffers",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE.npz",
        help="Inputs of a FILE.metal by the names of its arguments, as np.savez writes them.",
    )(command)


def include_option(command: Command) -> Command:
    """``--include``, repeatable."""
    return click.option(
        "--include",
        type=FOLDER,
        multiple=True,
        metavar="DIR",
        help='Folder to search for #include "...". Repeatable.',
    )(command)


def standard_option(command: Command) -> Command:
    """``--std``, as of Metal's compiler."""
    return click.option(
        "--std",
        "standard",
        type=click.Choice(list(STANDARDS)),
        help="Version of Metal's language. The default is a kernel's `// std:` line, or else the "
        "device's, metal3.1 on cpu and cuda. metal4.0 chooses the variant NAME.metal4.metal of a "
        "kernel, with tensors, if there is one.",
    )(command)


def file_task_option(command: Command) -> Command:
    """``--task``: the task of a FILE.metal, for commands that also take a file without one."""
    return click.option(
        "--task",
        metavar="NAME",
        help="Task that a FILE.metal is a kernel of; without it, the file's own lines say what it "
        "takes.",
    )(command)


def store_option(command: Command) -> Command:
    """``--db``."""
    return click.option(
        "--db",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The store of results; by default in $METALBENCH_HOME, or in your data folder.",
    )(command)


def kernel_options(command: Command) -> Command:
    """``--kernels``, ``--include``, ``--device`` and ``--db``."""
    for option in (store_option, include_option, kernels_option, device_option):
        command = option(command)
    return command


def read_tunables(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """Read NAME=VALUE."""
    found = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found[name] = int(number)
        except ValueError:
            message = f"expected NAME=NUMBER, got {value}"
            raise click.BadParameter(message, ctx, parameter) from None
    return found


def dtype_option(*declarations: str, **attributes: Any) -> Callable[[Command], Command]:
    """``--dtype``; with `multiple` also all types at once."""
    choices = (*DTYPES, "all") if attributes.get("multiple") else DTYPES
    return click.option("--dtype", *declarations, type=click.Choice(choices), **attributes)


OBJECTIVE = "predicted:"


def objective_option(text: str) -> Callable[[Command], Command]:
    """``--objective``: `time`, or `predicted:CHIP` for an Apple GPU; `text` is its help."""
    return click.option(
        "--objective",
        default="time",
        show_default=True,
        metavar="time|predicted:CHIP",
        help=text,
    )


def find_objective_chip(objective: str) -> GpuChip | None:
    """Return the chip whose times are predicted, None for `time`. Raise click.UsageError."""
    if objective == "time":
        return None
    if not objective.startswith(OBJECTIVE):
        raise click.UsageError(f"--objective: expected time or predicted:CHIP, got {objective!r}")
    from metalbench.errors import DeclarationError
    from metalbench.profiling.prediction import find_gpu_chip

    try:
        return find_gpu_chip(objective.removeprefix(OBJECTIVE))
    except DeclarationError as error:
        raise click.UsageError(f"--objective: {error}") from error


def seed_option(text: str, *, secret: bool = True) -> Callable[[Command], Command]:
    """``--seed``, with `text` as its help; without it a `secret` one, else 0."""
    return click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(min=0, max=2**63 - 1),
        default=_draw_secret_seed if secret else 0,
        show_default="another one in each run" if secret else True,
        help=text,
    )


def _draw_secret_seed() -> int:

    return draw_secret_seed()


def time_option(default: float, text: str) -> Callable[[Command], Command]:
    """``--time`` in seconds, with `text` as its help."""
    return click.option(
        "--time",
        "seconds",
        type=click.FloatRange(min=0.01),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


def oracle_option(command: Command) -> Command:
    """``--oracle``."""
    return click.option(
        "--oracle",
        type=click.Choice(["all", "small"]),
        default="all",
        show_default=True,
        help="Sizes at which the float64 oracle is the judge. With small, MLX in float32 judges "
        "the timed size, before and after timing: at sizes for GPUs the oracle takes longest.",
    )(command)


def recheck_option(command: Command) -> Command:
    """``--recheck``."""
    return click.option(
        "--recheck",
        is_flag=True,
        help="Repeat the checked runs (bounds, races, unwritten memory) of kernels whose code has "
        "passed them before. Without it, only changed code is checked again.",
    )(command)


def parse_share(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Parse 5% or 5 as 0.05."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *%?", value.strip())
    if parts is None:
        raise click.BadParameter(f"expected a share such as 5%, got {value}", ctx, parameter)
    return float(parts[1]) / 100


# The longest time to sample each kernel with --quick.
QUICK_SECONDS = 0.3


def apply_quick(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `run` with what --quick stands for, where others do not say it."""
    if not options["quick"]:
        return options
    changed: dict[str, Any] = {}
    if not options["names"] and not options["set_name"]:
        changed["set_name"] = "quick"
    if ctx.get_parameter_source("seconds") is click.core.ParameterSource.DEFAULT:
        changed["seconds"] = QUICK_SECONDS
    return {**options, **changed}


# The key, in a context's `meta`, of the option that is written to standard output.
STANDARD_OUTPUT = "metalbench.standard_output"


def writable(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    """Raise BadParameter for a file that cannot be written, before anything is measured.

    Standard output, which is `-`, takes one file.
    """
    if str(value) == "-":
        name = parameter.opts[0]
        first = ctx.meta.setdefault(STANDARD_OUTPUT, name)
        if first != name:
            message = f"{first} is written to standard output already; name a file"
            raise click.BadParameter(message, ctx, parameter)
    elif value is not None:
        folder = value.absolute().parent
        if not folder.is_dir():
            raise click.BadParameter(f"{folder} does not exist", ctx, parameter)
        if not os.access(value if value.exists() else folder, os.W_OK):
            raise click.BadParameter(f"{value} cannot be written", ctx, parameter)
    return value


def writable_picture(
    ctx: click.Context, parameter: click.Parameter, value: Path | None
) -> Path | None:
    """Return a file for an SVG picture; raise as `writable` and `check_picture_path`."""
    from metalbench.report.chart import check_picture_path

    if value is not None:
        check_picture_path(value)
    return writable(ctx, parameter, value)


# Typed settings of commands. Option names are read here, and nowhere below.

Options = Mapping[str, Any]
# Options that a Python candidate cannot have: they need launches of a `.metal` file, or change the
# process of the command.
NOT_FOR_PYTHON = ("in_process", "on", "cold", "tuned", "record", "capture", "ab_control")
# Options that make no sense where no kernel is run.
NOT_FOR_CONTROL = (
    *("cold", "capture", "save", "record", "baseline", "max_regression", "fail_on", "on"),
)
FILE_FORMATS = ("junitxml", "html", "markdown", "csv", "json")


def spell_option(name: str) -> str:
    """Return the name of an option as users write it, such as --fail-on."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class MachineConfig:
    """The machine that kernels run on, and the limits of a kernel's process.

    `on` is the address of another machine, such as ssh://mac.local. Kernels are verified on this
    machine before they are sent there, unless `verify_here` is false. `memory_limit` is in bytes.
    """

    device: str
    kernel_timeout_s: float = 600.0
    memory_limit: int | None = None
    in_process: bool = False
    on: str | None = None
    install: bool = False
    verify_here: bool = True

    @classmethod
    def of(cls, options: Options) -> MachineConfig:
        """Read the options of a command; options that it does not have keep their defaults."""
        return cls(
            device=options["device"],
            kernel_timeout_s=options.get("kernel_timeout", cls.kernel_timeout_s),
            memory_limit=options.get("memory_limit"),
            in_process=options.get("in_process", False),
            on=options.get("on"),
            install=options.get("install", False),
            verify_here=not options.get("no_verify_here", False),
        )

    def check(self) -> None:
        """Raise click.UsageError for options that contradict each other."""
        if self.on is not None:
            if self.in_process:
                raise click.UsageError(
                    "--on: expected no --in-process, for kernels run on another machine"
                )
            return
        for option, is_given in (
            ("--install", self.install),
            ("--no-verify-here", not self.verify_here),
        ):
            if is_given:
                raise click.UsageError(f"{option}: expected --on with it, such as --on ssh://mac")

    @property
    def limits(self) -> Limits:
        """The resources that one kernel may use on this machine."""
        from metalbench.sandbox.resources import Limits

        if self.memory_limit is None:
            return Limits(self.kernel_timeout_s)
        return Limits(self.kernel_timeout_s, memory_bytes=self.memory_limit)

    def create_workers(self) -> Workers:
        """Return worker processes with these limits. The first one starts at once."""
        from metalbench.workers.pool import Workers

        return Workers(self.device, self.limits)


@dataclass(frozen=True)
class TrialConfig:
    """The kernels, sizes and element types to try, and how they are measured.

    `names` has names of tasks and files of Python candidates; `task` is the task of such a file.
    `launch_options` are the given options that a Python candidate cannot have.
    """

    names: tuple[str, ...]
    sizes: tuple[str, ...]
    dtypes: tuple[str, ...]
    seed: int
    seconds: float
    kernels: tuple[Path, ...]
    include: tuple[Path, ...]
    standard: str = ""
    task: str | None = None
    set_name: str | None = None
    cold: bool = False
    oracle: str = "all"
    against: str = ""
    unconfined: bool = False
    recheck: bool = False
    allow_empty: bool = False
    launch_options: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options) -> TrialConfig:
        """Read the options of a command; options that it does not have keep their defaults."""
        given = (each for each in NOT_FOR_PYTHON if options.get(each))
        return cls(
            names=tuple(options["names"]),
            sizes=tuple(options["sizes"]),
            dtypes=tuple(options["dtypes"]),
            seed=options["seed"],
            seconds=options["seconds"],
            kernels=tuple(options["kernels"]),
            include=tuple(options["include"]),
            standard=options.get("standard") or "",
            task=options.get("task"),
            set_name=options.get("set_name"),
            cold=options.get("cold", False),
            oracle=options.get("oracle", "all"),
            against=options.get("against") or "",
            unconfined=options.get("unconfined", False),
            recheck=options.get("recheck", False),
            allow_empty=options.get("allow_empty", False),
            launch_options=tuple(map(spell_option, given)),
        )


@dataclass(frozen=True)
class GateConfig:
    """When a run fails: verdicts, the share that a kernel may become slower by, and a baseline."""

    fail_on: tuple[str, ...] = ()
    max_regression: float | None = None
    baseline: str | None = None

    @classmethod
    def of(cls, options: Options) -> GateConfig:
        """Read the options of a command."""
        return cls(tuple(options["fail_on"]), options["max_regression"], options["baseline"])


@dataclass(frozen=True)
class RunConfig:
    """The settings of ``metalbench run``.

    `files` has the path of each file format that is asked for; ``-`` is standard output.
    `recorded` has all options as JSON can hold them: the store keeps them with the run.
    """

    machine: MachineConfig
    trials: TrialConfig
    gate: GateConfig
    files: Mapping[str, Path]
    db: Path | None
    target: str
    quiet: bool = False
    verbose: bool = False
    sort: str = "ratio"
    quick: bool = False
    tuned: bool = False
    record: bool = False
    capture: Path | None = None
    predict: str | None = None
    fail_fast: bool = False
    ab_control: bool = False
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Options, command_line: str = "") -> RunConfig:
        """Read the options; raise click.UsageError for options that --ab-control cannot have.

        The store keeps the `command_line` with the run.
        """
        for name in NOT_FOR_CONTROL:
            if options["ab_control"] and options[name]:
                raise click.UsageError(
                    f"--ab-control: expected no {spell_option(name)}, for no kernel is run; leave "
                    "one out"
                )
        return cls(
            machine=MachineConfig.of(options),
            trials=TrialConfig.of(options),
            gate=GateConfig.of(options),
            files=read_files(options),
            db=options["db"],
            target=options["target"],
            quiet=options["quiet"],
            verbose=options["verbose"],
            sort=options["sort"],
            quick=options["quick"],
            tuned=options["tuned"],
            record=options["record"],
            capture=options["capture"],
            predict=options["predict"],
            fail_fast=options["fail_fast"],
            ab_control=options["ab_control"],
            recorded={**make_plain(options), "command_line": command_line},
        )

    @property
    def takes_stdout(self) -> bool:
        """Whether results are written to standard output. The report then goes to stderr."""
        return any(str(path) == "-" for path in self.files.values())


def read_files(options: Options) -> dict[str, Path]:
    """Return the path of each file format that an option asks for."""
    paths = {name: options.get(f"{name}_file") for name in FILE_FORMATS}
    return {name: path for name, path in paths.items() if path}


def make_plain(options: Options) -> dict[str, Any]:
    """Return options as JSON can hold them."""

    def convert(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [convert(each) for each in value]
        return str(value) if isinstance(value, Path) else value

    return {name: convert(value) for name, value in options.items()}
