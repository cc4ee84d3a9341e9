"""``metalbench hlo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.parameters import device_option, writable

if TYPE_CHECKING:
    import numpy as np

    from metalbench.hlo.running import Executable

EXAMPLES = """\b
Examples:
  metalbench hlo run model.mlir
  metalbench hlo run model.mlir --inputs inputs.npz --output results.npz
  metalbench hlo compile model.mlir > model.metal
  metalbench hlo compile model.mlir -O 0 --emit plan
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


def _known_pass(
    _context: click.Context, _parameter: click.Parameter, name: str | None
) -> str | None:
    """The passes are known only when they are asked for: they import much."""
    from metalbench.hlo.passes import PASSES

    if name is not None and name not in PASSES:
        raise click.BadParameter(f"expected one of {', '.join(PASSES)}, got {name}")
    return name


@click.group(epilog=EXAMPLES, short_help="StableHLO in, Metal kernels out.")
def hlo() -> None:
    """Compile programs in StableHLO, such as those of JAX, to Metal kernels, and run them."""


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
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random numbers.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Write the results to FILE (.npz), as result0, result1, ...",
)
@device_option
def run(model: Path, inputs: str, output: Path | None, **options: Any) -> None:
    """Run MODEL."""
    import numpy as np

    made = _executable(model, options["level"], options["device"])
    given = _random(made, options["seed"]) if inputs == "random" else _arrays(made, Path(inputs))
    found = made(*given)
    for number, (array, type_) in enumerate(zip(found, made.outputs, strict=True)):
        text = np.array2string(array, threshold=64, edgeitems=3)
        click.echo(f"result{number}: {type_}\n{text}")
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
    callback=_known_pass,
    help="Show the graph as it is after this pass.",
)
@device_option
def compile_program(
    model: Path, level: str, emit: str | None, until: str | None, device: str
) -> None:
    """Show what MODEL becomes for a device, which need not be here; nothing is run."""
    from metalbench import _core
    from metalbench.hlo.graph import picture, text
    from metalbench.hlo.passes import run_passes
    from metalbench.hlo.program import graph
    from metalbench.hlo.running import plan, source

    if until and emit in ("msl", "plan"):
        raise click.UsageError(f"--dump-after shows a graph: expected --emit graph, got {emit}")
    kind = _core.open().kind if device == "auto" else device
    block = graph(_read(model), str(model), until=until)
    if until:
        run_passes(block, int(level), until, device=kind)
    if until or emit in ("graph", "dot"):
        click.echo(picture(block) if emit == "dot" else text(block))
        return
    made = plan(block, int(level), device=kind)
    click.echo(made.text() if emit == "plan" else source(made))


def _read(model: Path) -> bytes:
    return model.read_bytes()


def _executable(model: Path, level: str, device: str) -> Executable:
    from metalbench.hlo.program import graph
    from metalbench.hlo.running import Executable

    return Executable(graph(_read(model), str(model)), level=int(level), device=device)


def _random(made: Executable, seed: int) -> list[np.ndarray[Any, Any]]:
    import numpy as np

    generator = np.random.default_rng(seed)
    arrays = []
    for type_ in made.inputs:
        element = type_.element
        drawn: Any = generator.standard_normal(type_.shape)
        if not element.is_float:
            drawn = generator.integers(0, 2 if element.bits <= 2 else 8, type_.shape)
        arrays.append(np.asarray(drawn).astype(element.numpy))
    return arrays


def _arrays(made: Executable, path: Path) -> list[np.ndarray[Any, Any]]:
    import numpy as np

    from metalbench.cli.failure import Failure

    try:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise Failure(f"--inputs {path} cannot be read: {error}") from error
    names = [f"arg{number}" for number in range(len(made.inputs))]
    if set(found) != set(names):
        expected, got = ", ".join(names) or "no arrays", ", ".join(found) or "none"
        raise Failure(f"--inputs {path}: expected {expected}, got {got}")
    # numpy's files have no name for bfloat16, and give its bytes.
    return [
        found[name].view(type_.element.numpy) if found[name].dtype.kind == "V" else found[name]
        for name, type_ in zip(names, made.inputs, strict=True)
    ]
