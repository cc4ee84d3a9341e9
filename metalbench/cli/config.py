"""Typed settings of commands. Option names are read here, and nowhere below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from metalbench.isolation import Limits, Workers

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
        from metalbench.isolation import Limits

        if self.memory_limit is None:
            return Limits(self.kernel_timeout_s)
        return Limits(self.kernel_timeout_s, memory_bytes=self.memory_limit)

    def create_workers(self) -> Workers:
        """Return worker processes with these limits. The first one starts at once."""
        from metalbench.isolation import Workers

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
    task: str | None = None
    set_name: str | None = None
    cold: bool = False
    oracle: str = "all"
    against: str = ""
    unconfined: bool = False
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
            task=options.get("task"),
            set_name=options.get("set_name"),
            cold=options.get("cold", False),
            oracle=options.get("oracle", "all"),
            against=options.get("against") or "",
            unconfined=options.get("unconfined", False),
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
    tuned: bool = False
    record: bool = False
    capture: Path | None = None
    fail_fast: bool = False
    ab_control: bool = False
    recorded: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Options) -> RunConfig:
        """Read the options; raise click.UsageError for options that --ab-control cannot have."""
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
            tuned=options["tuned"],
            record=options["record"],
            capture=options["capture"],
            fail_fast=options["fail_fast"],
            ab_control=options["ab_control"],
            recorded=make_plain(options),
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
