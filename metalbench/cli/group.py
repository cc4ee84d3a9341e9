"""The command with its subcommands; turn errors into messages and exit codes."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable
from importlib import import_module
from typing import IO, Any

import click

from metalbench.cli.interruption import INTERRUPTED, MESSAGE, raise_from_now_on
from metalbench.errors import suggestion
from metalbench.report.console import echo
from metalbench.safe_text import terminal_text

# The key of the command line in a context's `meta`.
COMMAND_LINE = "metalbench.command_line"


class CommandFailure(click.ClickException):
    """A message and exit code 2: the usage or the environment is wrong, not a kernel."""

    exit_code = 2


class Interrupted(click.ClickException):
    """A message and exit code 130: the user has interrupted the command."""

    exit_code = INTERRUPTED

    def __init__(self) -> None:
        super().__init__(MESSAGE)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, in the line after the terminal's ^C."""
        click.echo(self.message, file=file, err=file is None)


# Suggest commands and options for their names in other programs.

OTHER_COMMANDS = {
    "bench": "`metalbench run`",
    "benchmark": "`metalbench run`",
    "diff": "`metalbench compare`",
    "inspect": "`metalbench show NAME`, with --engine or --emit, and `metalbench profile NAME`",
    "snapshot": "`metalbench snap`",
}
OTHER_OPTIONS = {
    ("run", "--diff"): "`--baseline RUN`",
    ("run", "--threshold"): "`--max-regression PERCENT`",
    ("run", "--tune"): "`--tuned` after `metalbench tune NAME`",
}


def suggest_command(
    error: click.UsageError, name: str, commands: Iterable[str]
) -> click.UsageError:
    """Return an error that suggests one of the `commands` for `name`, which does not exist."""
    here = OTHER_COMMANDS.get(name)
    if here is not None:
        return click.UsageError(f"No such command {name!r}: say {here}.", error.ctx)
    hint = suggestion(name, commands)
    if not hint.startswith("did you mean"):
        return error
    return click.UsageError(f"No such command {name!r}; {hint}", error.ctx)


def suggest_option(error: click.NoSuchOption) -> click.UsageError:
    """Return an error that suggests the option for one that does not exist."""
    command = error.ctx.info_name if error.ctx is not None else None
    here = OTHER_OPTIONS.get((command or "", error.option_name))
    if here is None:
        return error
    return click.UsageError(f"No such option {error.option_name!r}: say {here}.", error.ctx)


# The group of commands, and the handling of their errors.

# Module and name of each command. It is imported when it is used: all imports together take as long
# as the start of a command.
OWN = {
    "run": "run:run",
    "list": "listing:list_tasks",
    "show": "show:show",
    "export": "export:export",
    "check": "check:check",
    "compile": "compiling:compile_file",
    "compare": "compare:compare",
    "history": "history:history",
    "summary": "summary:summary",
    "report": "report:report",
    "sweep": "sweep:sweep",
    "leaderboard": "leaderboard:leaderboard",
    "certify": "certify:certify",
    "reproduce": "reproduce:reproduce",
    "profile": "profile:profile",
    "snap": "snap:snap",
    "calibrate": "calibrate:calibrate",
    "tune": "tune:tune",
    "new": "new:new",
    "import-torch": "importing:import_torch",
    "hlo": "hlo:hlo",
    "puzzles": "puzzles:puzzles",
    "admit": "admit:admit",
    "doctor": "doctor:doctor",
    "completion": "completion:completion",
    "evaluate": "evaluate:evaluate",
    "analyse": "analyse:analyse",
    "serve": "serve:serve",
}
# Entry points with which a package's metadata declares commands.
COMMANDS = "metalbench.commands"
EPILOG = """\b
Start here:
  metalbench doctor            does everything work on this machine?
  metalbench run --quick       a first look: one kernel for each technique
  metalbench run               check and time the whole library
  metalbench run softmax       one kernel, with the full report
  metalbench run softmax --on ssh://mac.local  the same, timed on another machine
  metalbench show softmax      its task, source, arguments and history
  metalbench export softmax --standalone  one file, for MLX, Swift or Objective-C++
  metalbench compare latest~1  the latest run against the one before
  metalbench history           every kernel over time: did it get slower?
  metalbench leaderboard       the fastest known kernel of every task, also as a page
  metalbench summary           what changed since `metalbench run --save NAME`
  metalbench report latest --html run.html  a stored run as a page
  metalbench sweep softmax --param cols=256:8192:*2  a kernel over a range of sizes
  metalbench certify softmax   a kernel measured for a contribution, and a file to reproduce it
  metalbench check softmax     all that is wrong with a kernel: races, bounds, memory not written
  metalbench compile a.metal   any MSL file: its errors, and what its kernels take
  metalbench profile softmax   what it does, counted: bytes, bank conflicts, arithmetic
  metalbench snap              does every kernel still compute the same bits?
  metalbench tune softmax      the values of its `// tune:` lines that are best here
  metalbench puzzles           exercises that teach Metal, from a map to a matrix product
  metalbench evaluate RUN/     kernels that models have written (`generate`); then `analyse RUN/`
  metalbench new my_kernel     a task and a kernel of your own to begin with
  metalbench import-torch F.py a task of a PyTorch module in KernelBench's format
  metalbench hlo run F.mlir    a program in StableHLO, such as JAX's, as Metal kernels

Exit codes: 0 all correct, 1 something is incorrect or fails by --fail-on, 2 wrong usage or
environment, 130 interrupted.
"""


class ErrorsAreMessages(click.Group):
    """A group whose commands end with the message of a MetalBenchError, and exit code 2.

    Interrupted commands print a message and exit with 130; click itself exits with 1.
    """

    def make_context(
        self, info_name: str | None, args: list[str], *arguments: Any, **options: Any
    ) -> click.Context:
        """Read the command line, and keep it for records of runs."""
        command = shlex.join(("metalbench", *args))
        try:
            ctx = super().make_context(info_name, args, *arguments, **options)
            ctx.meta[COMMAND_LINE] = command
            return ctx
        except click.ClickException as error:
            raise _sanitise(error) from error.__cause__
        except KeyboardInterrupt:
            raise Interrupted from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names."""
        try:
            found = super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError as error:
            raise suggest_command(error, args[0], self.list_commands(ctx)) from None
        # The command is imported. From now on it may have to clean up.
        raise_from_now_on()
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; kernels are loaded in executors only."""
        from metalbench.sandbox.executors import run_kernels_in_executors

        # A group that works without a command does not resolve one.
        raise_from_now_on()
        try:
            with run_kernels_in_executors():
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise _sanitise(suggest_option(error)) from None
        except click.ClickException as error:
            raise _sanitise(error) from error.__cause__
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            raise Interrupted from None
        except Exception as error:
            from metalbench.errors import MetalBenchError, find_machine_error

            own = error if isinstance(error, MetalBenchError) else find_machine_error(error)
            shown = own or _describe_system_error(error)
            if shown is None:
                raise
            raise _sanitise(CommandFailure(str(shown))) from error


def _describe_system_error(error: Exception) -> CommandFailure | None:
    """Return a failure that the user can fix: a file, or a missing package; else None."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "mlx":
        from metalbench.sandbox.exit_status import MLX

        return CommandFailure(f"MLX is missing ({error}); run `pip install {MLX}`")
    if isinstance(error, OSError) and error.errno not in (None, errno.EPIPE):
        where = f"{error.filename}: " if error.filename is not None else ""
        other = f" ({error.filename2})" if error.filename2 is not None else ""
        return CommandFailure(f"{where}{error.strerror}{other}; name another file or folder")
    return None


def _sanitise(error: click.ClickException) -> click.ClickException:
    """Return the error with control characters removed from quoted file names and messages."""
    message = terminal_text(error.format_message())
    error.format_message = lambda: message  # type: ignore[method-assign]
    return error


class _CommandGroup(ErrorsAreMessages):
    """Imports a command when it is used; has also the commands of other installed packages."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of this package, or of another one, such as agent_steel."""
        if cmd_name in OWN:
            module, _, name = OWN[cmd_name].partition(":")
            own: click.Command = getattr(import_module(f"metalbench.cli.{module}"), name)
            return own
        from importlib.metadata import entry_points

        found: click.Command | None = None
        for each in entry_points(group=COMMANDS, name=cmd_name):
            found = each.load()
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        from importlib.metadata import entry_points

        return sorted({*OWN, *(each.name for each in entry_points(group=COMMANDS))})


def _version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        echo(f"metalbench {version('metalbench')}")
        ctx.exit()


@click.group(
    cls=_CommandGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Benchmark, check and improve Metal compute kernels against MLX.

    On a Mac kernels run on the GPU; anywhere else on the cpu device, which gives the same results
    and finds the same mistakes, at the times of a simulation.
    """
