"""``metalbench hlo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import device_option, time_option, writable
from metalbench.cli.output import write_text
from metalbench.report.console import console, echo, echo_source

if TYPE_CHECKING:
    import numpy as np

    from metalbench.hlo.bench import BenchmarkProgram
    from metalbench.hlo.runtime.executable import Executable

EXAMPLES = """\b
Examples:
  metalbench hlo run model.mlir
  metalbench hlo run model.mlir --inputs inputs.npz --output results.npz
  metalbench hlo compile model.mlir > model.metal
  metalbench hlo compile model.mlir -O 0 --emit plan
  metalbench hlo bench model.mlir -O 3 --kernels
  metalbench hlo bench transformer 'matrix/dot*' --json before.json
  metalbench hlo compile model.mlir -O 3 --dump-after fuse-rows --emit dot | dot -Tsvg > graph.svg

\b
MODEL is StableHLO: text, MLIR bytecode or a portable artifact, such as
jax.jit(f).lower(...).as_text() gives. `pip install 'metalbench[hlo]'` brings what reads it.
"""
_model = click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_level = click.option(
    "-O",
    "level",
    type=click.Choice(["0", "2", "3"]),
    default="2",
    show_default=True,
    help="0 gives each operation a kernel, 2 fuses them, 3 has one for what is done to rows.",
)

_host = click.option(
    "--host",
    type=click.Choice(["never", "auto", "always"]),
    default="never",
    show_default=True,
    help="Run sequential parts of the program on the host's processors next to the GPU; auto where "
    "a cost model expects a gain. `compile --emit plan` shows its decisions.",
)


def _check_pass(
    _context: click.Context, _parameter: click.Parameter, name: str | None
) -> str | None:
    """Check the name of a pass. The passes are imported only here: that is slow."""
    from metalbench.hlo.passes.pipeline import PASSES

    if name is not None and name not in PASSES:
        raise click.BadParameter(f"expected one of {', '.join(PASSES)}, got {name}")
    return name


@click.group(epilog=EXAMPLES, short_help="StableHLO in, Metal kernels out.")
def hlo() -> None:
    """Compile programs in StableHLO, such as those of JAX, to Metal kernels, and run them."""
    from metalbench import _core

    # Kernels are made from operations, and none has a text of the user's: they run in this process.
    _core.run_apart(None)


@hlo.command(short_help="Run a program, and show what it gives.")
@_model
@_level
@click.option(
    "--inputs",
    metavar="FILE.npz|random",
    default="random",
    show_default=True,
    help="The arguments: arrays named arg0, arg1, ..., or random numbers.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write the results to FILE (.npz), as result0, result1, ...",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="End a run that takes longer, such as a loop that never ends.",
)
@_host
@device_option
def run(model: Path, inputs: str, output: Path | None, **options: Any) -> None:
    """Run MODEL."""
    import numpy as np

    from metalbench.hlo.bench.catalogue import draw_arguments

    made = _executable(model, options)
    given = (
        draw_arguments(made.inputs, options["seed"])
        if inputs == "random"
        else _arrays(made, Path(inputs))
    )
    found = made(*given)
    for number, (array, type_) in enumerate(zip(found, made.outputs, strict=True)):
        text = np.array2string(array, threshold=64, edgeitems=3)
        echo(f"result{number}: {type_}\n{text}")
    if output is not None:
        named: Any = {f"result{number}": each for number, each in enumerate(found)}
        with output.open("wb") as file:
            np.savez(file, allow_pickle=False, **named)


@hlo.command("compile", short_help="Show the kernels of a program.")
@_model
@_level
@click.option(
    "--emit",
    type=click.Choice(["msl", "graph", "dot", "plan"]),
    help="The kernels, the graph that they are made of (as text or for Graphviz), or the steps of "
    "a run.  [default: msl, with --dump-after graph]",
)
@click.option(
    "--dump-after",
    "until",
    metavar="PASS",
    callback=_check_pass,
    help="Show the graph as it is after this pass.",
)
@_host
@device_option
def compile_program(model: Path, emit: str | None, until: str | None, **options: str) -> None:
    """Show what MODEL becomes for a device, which need not be here; nothing is run."""
    from metalbench import _core
    from metalbench.hlo.ir import format_block, format_dot
    from metalbench.hlo.passes.pipeline import run_passes
    from metalbench.hlo.runtime.compilation import import_program
    from metalbench.hlo.runtime.host_regions import build_split_plan
    from metalbench.hlo.runtime.plan import format_source

    if until and emit in ("msl", "plan"):
        raise click.UsageError(f"--dump-after shows a graph: expected --emit graph, got {emit}")
    level, device = int(options["level"]), options["device"]
    kind = _core.open().kind if device == "auto" else device
    block = import_program(_read(model), str(model), until=until)
    if until:
        run_passes(block, level, until, device=kind)
    if until or emit in ("graph", "dot"):
        echo_source(format_dot(block) if emit == "dot" else format_block(block))
        return
    made = build_split_plan(block, level, device=kind, choice=options["host"])
    if emit == "plan":
        echo_source(made.format_steps())
        return
    echo_source(format_source(made))
    for step in made.steps:
        if step.host_plan is not None:
            echo_source(f"// Kernels of host region {step.host_run}, which the device cpu runs.")
            echo_source(format_source(step.host_plan))


@hlo.command(short_help="Time programs against XLA on the CPU and against MLX.")
@click.argument("names", nargs=-1, metavar="[MODEL.mlir|FAMILY|NAME|PATTERN]...")
@_level
@time_option(2.0, "Longest time to sample each program with each rival.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--against",
    "rivals",
    type=click.Choice(["xla", "mlx"]),
    multiple=True,
    default=["xla", "mlx"],
    show_default=True,
    help="Repeatable. MLX is left out of programs that it has no operations for.",
)
@click.option("--kernels", "shown", is_flag=True, help="Show each kernel's share of the time, too.")
@click.option("--list", "listed", is_flag=True, help="Print the ids, and time nothing.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write all results to FILE; `metalbench compare` takes two of these.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write a line for each program and rival to FILE.",
)
@device_option
def bench(names: tuple[str, ...], listed: bool, **options: Any) -> None:
    """Time programs in files, or the benchmarks that NAMES select (`matrix`, `transformer/*`).

    Shown are kernels at -O 0 and now, bytes that they move in proportion to the least, the largest
    live memory, the median, 95 and 99 % of a run's time, and XLA's and MLX's time in proportion.
    """
    from metalbench.hlo.bench.catalogue import select_programs

    files = [name for name in names if Path(name).is_file()]
    wanted = [name for name in names if name not in files]
    programs = select_programs(wanted) if wanted or not files else []
    if listed:
        echo("\n".join([*files, *(each.id for each in programs)]))
        return
    _bench(files, programs, options)


def _bench(files: list[str], programs: list[BenchmarkProgram], options: dict[str, Any]) -> None:
    from rich.text import Text

    from metalbench import _core
    from metalbench.cli.group import CommandFailure
    from metalbench.hlo.bench import report
    from metalbench.hlo.bench.timing import Subject, time_program
    from metalbench.run.trial import device_facts
    from metalbench.store.environment import environment

    subjects = [Subject(name, Path(name).read_bytes()) for name in files]
    subjects += [Subject(each.id, each.lower_to_text(), each.family) for each in programs]
    results, log = [], console(to_stderr=True)
    for number, subject in enumerate(subjects, 1):
        with log.status(Text(f"{number} of {len(subjects)}: {subject.name}")):
            results.append(
                time_program(
                    subject,
                    level=int(options["level"]),
                    device=options["device"],
                    seconds=options["seconds"],
                    seed=options["seed"],
                    rivals=options["rivals"],
                )
            )
    out = console()
    out.print(report.format_table(results))
    for each in results if options["shown"] else ():
        out.print(report.format_kernel_table(each))
    for text in report.list_remarks(results):
        out.print(text, soft_wrap=True)
    facts = device_facts(_core.open(options["device"]))
    if options["json_file"] is not None:
        document = report.to_json(results, facts, environment(), {"seed": options["seed"]})
        write_text(options["json_file"], document)
    if options["csv_file"] is not None:
        write_text(options["csv_file"], report.to_csv(results))
    failed = [each.subject.name for each in results if each.why]
    if failed:
        raise CommandFailure(f"{len(failed)} of {len(results)} failed: {', '.join(failed)}")


def _read(model: Path) -> bytes:
    return model.read_bytes()


def _executable(model: Path, options: dict[str, Any]) -> Executable:
    from metalbench.hlo.runtime.compilation import compile_program

    return compile_program(
        _read(model),
        level=int(options["level"]),
        device=options["device"],
        filename=str(model),
        run_limit=options["time_limit"],
        host=options["host"],
    )


def _arrays(made: Executable, path: Path) -> list[np.ndarray[Any, Any]]:
    import numpy as np

    from metalbench.cli.group import CommandFailure

    try:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise CommandFailure(f"--inputs {path} cannot be read: {error}") from error
    names = [f"arg{number}" for number in range(len(made.inputs))]
    if set(found) != set(names):
        expected, got = ", ".join(names) or "no arrays", ", ".join(found) or "none"
        raise CommandFailure(f"--inputs {path}: expected {expected}, got {got}")
    # numpy's files have no name for bfloat16, and give its bytes.
    return [
        found[name].view(type_.element.numpy) if found[name].dtype.kind == "V" else found[name]
        for name, type_ in zip(names, made.inputs, strict=True)
    ]
