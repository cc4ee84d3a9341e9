"""Print intermediate forms of a kernel as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import (
    device_option,
    dtype_option,
    include_option,
    standard_option,
)
from metalbench.msl.frontend.standards import define_version
from metalbench.report.console import echo, echo_source

if TYPE_CHECKING:
    from metalbench._core import Device, Library, Pipeline
    from metalbench.msl.engine import MslProgram


EMITTED = ("cpp", "ptx")
EMIT_HELP = "the C++ that one is compiled from off a GPU, the PTX of it for NVIDIA's"


def emit_text(
    what: str,
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, bool | int | float] | None = None,
    *,
    checked: bool = False,
    fast_math: bool = True,
) -> str:
    """Return the lowered C++ of a kernel ("cpp"), or its PTX ("ptx"), which cannot be checked.

    Raises CompileError as `engine.build` does.
    """
    from metalbench.msl import engine

    if what == "ptx":
        built = engine.build_for_gpu(program, function, constants, fast_math=fast_math)
        return Path(built.path).read_text(encoding="utf-8")
    built = engine.build(program, function, constants, checked=checked, fast_math=fast_math)
    return built.lowered


# ``metalbench compile``.

EXAMPLES = """\b
Examples:
  metalbench compile softmax.metal
  metalbench compile gemm.metal --function gemm_f16 -D BM=64 -D BN=64 --checked
  metalbench compile gemm.metal --function gemm_f16 --emit cpp > gemm.cpp
  metalbench compile gemm.metal --function gemm_f16 --emit ptx
  metalbench compile gemm.metal --emit engine
  cat kernel.metal | metalbench compile -

Errors go to standard error as clang writes them, FILE:LINE:COLUMN: error: ...
Exit codes: 0 it compiles, 1 it does not, 2 wrong usage or environment.
"""


def _definitions(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Read NAME or NAME=VALUE; a macro without a value is 1, as with clang."""
    pairs = [value.partition("=") for value in values]
    for value, (name, _, _) in zip(values, pairs, strict=True):
        if not name.isidentifier():
            raise click.BadParameter(f"expected NAME or NAME=VALUE, got {value}", ctx, parameter)
    return {name: text if equals else "1" for name, equals, text in pairs}


def _constants(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[int | str, bool | int | float]:
    """Read NAME=VALUE or INDEX=VALUE."""
    found: dict[int | str, bool | int | float] = {}
    for value in values:
        name, _, text = value.partition("=")
        constant = _number(text)
        if not name or constant is None:
            message = f"expected NAME=VALUE with true, false or a number, got {value}"
            raise click.BadParameter(message, ctx, parameter)
        found[int(name) if name.isdigit() else name] = constant
    return found


def _number(text: str) -> bool | int | float | None:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


@click.command(
    "compile", epilog=EXAMPLES, short_help="Compile any MSL file and show what it takes."
)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--function",
    "functions",
    metavar="NAME",
    multiple=True,
    help="Only this kernel; else all of them. Repeatable.",
)
@click.option(
    "-D",
    "--define",
    "macros",
    metavar="NAME[=VALUE]",
    multiple=True,
    callback=_definitions,
    help="Define a macro. Repeatable.",
)
@click.option(
    "--constant",
    "constants",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_constants,
    help="Set a function constant, by name or index. Repeatable.",
)
@dtype_option(help="Element type DTYPE; by default the first of the file's `// dtypes:` line.")
@click.option("--checked", is_flag=True, help="The build that catches undefined behaviour.")
@click.option("--safe-math", is_flag=True, help="Neither reassociate nor approximate.")
@click.option(
    "--emit",
    type=click.Choice(["reflection", *EMITTED, "engine"]),
    default="reflection",
    show_default=True,
    help=f"What to print: what the kernels take, {EMIT_HELP}, or how the cpu device runs them and "
    "why.",
)
@device_option
@include_option
@standard_option
@click.pass_context
def compile_file(ctx: click.Context, /, file: str, **options: Any) -> None:
    """Compile FILE, any source in Metal's language; no task is needed. - is standard input.

    Header lines of a kernel, such as `// tune:`, define its macros, unless -D does.
    """
    from metalbench.errors import CompileError

    source, filename = _read(file)
    options["macros"] = {
        **_header_macros(source, filename, options),
        **options["macros"],
        **define_version(options["standard"] or ""),
    }
    try:
        if options["emit"] in EMITTED:
            _emit_text(source, filename, options)
        elif options["emit"] == "engine":
            ctx.exit(_emit_engine(source, filename, options))
        else:
            ctx.exit(_emit_reflection(source, filename, options))
    except CompileError as error:
        echo(str(error), err=True)
        ctx.exit(1)


def _read(file: str) -> tuple[str, str]:
    from metalbench.cli.group import CommandFailure

    if file == "-":
        return sys.stdin.read(), "<stdin>"
    try:
        return Path(file).read_text(encoding="utf-8", errors="surrogateescape"), file
    except OSError as error:
        raise CommandFailure(f"{file} cannot be read: {error.strerror}") from error


def _header_macros(source: str, filename: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the macros that a kernel's header declares: DTYPE, version, and tunables.

    A file without header lines has none. A header that cannot be read is reported on stderr.
    """
    from metalbench import _core
    from metalbench.cli.group import CommandFailure
    from metalbench.errors import DeclarationError
    from metalbench.kernel.header import device_names, has_directives, parse
    from metalbench.task.dtypes import DTYPES

    wanted = options["dtype"]
    if not has_directives(source):
        return {} if wanted is None else {"DTYPE": DTYPES[wanted].msl}
    path = Path(filename)
    try:
        kernel = parse(source, name=path.name.partition(".")[0], path=path)
    except DeclarationError as error:
        echo(f"note: its header lines are not used: {error}", err=True)
        return {} if wanted is None else {"DTYPE": DTYPES[wanted].msl}
    if wanted is not None and wanted not in kernel.dtypes:
        written = ", ".join(kernel.dtypes)
        raise CommandFailure(f"--dtype {wanted}: expected one of {written} by the file's header")
    dtype = wanted or kernel.dtypes[0]
    device = _core.open(options["device"])
    tunables = kernel.on(device_names(device)).resolve_tunables(dtype=dtype)
    return {
        "DTYPE": DTYPES[dtype].msl,
        **define_version(kernel.standard),
        **{name: str(each) for name, each in tunables.items()},
    }


def _folders(filename: str, options: dict[str, Any]) -> list[str]:
    from metalbench.kernel.source_files import include_folders

    return include_folders(filename, options["include"])


def _emit_reflection(source: str, filename: str, options: dict[str, Any]) -> int:
    from metalbench import _core
    from metalbench.report.console import console
    from metalbench.report.kernel import reflection

    device = _core.open(options["device"])
    if options["checked"] and not device.checked_builds:
        device = _core.open("cpu")
    library = _library(device, source, filename, options, checked=options["checked"])
    pipelines, faults = _pipelines(library, options)
    if not library.functions:
        faults = _check_without_kernels(device, source, filename, options)
    out = console()
    _tell(filename, library, faults)
    out.print(reflection(pipelines, device, terminal=out.is_terminal))
    return int(bool(faults))


def _emit_engine(source: str, filename: str, options: dict[str, Any]) -> int:
    from metalbench import _core
    from metalbench.report.console import console
    from metalbench.report.kernel import engine_table

    device = _core.open("cpu")
    builds: dict[bool, list[Pipeline]] = {}
    faults: dict[str, None] = {}
    for checked in (True,) if options["checked"] else (False, True):
        library = _library(device, source, filename, options, checked=checked)
        builds[checked], found = _pipelines(library, options)
        faults |= dict.fromkeys(found)
    out = console()
    _tell(filename, library, faults)
    out.print(engine_table(builds, terminal=out.is_terminal))
    return int(bool(faults))


def _library(
    device: Device, source: str, filename: str, options: dict[str, Any], *, checked: bool
) -> Library:
    return device.compile(
        source,
        filename=filename,
        macros=options["macros"],
        include_dirs=_folders(filename, options),
        checked=checked,
        fast_math=not options["safe_math"],
    )


# Compiling a kernel compiles the functions of its file.
_EMPTY_KERNEL = "\nkernel void metalbench_empty_kernel() {}\n"


def _check_without_kernels(
    device: Device, source: str, filename: str, options: dict[str, Any]
) -> list[str]:
    """Return the error of a file that has no kernels, such as a header; none if it compiles."""
    from metalbench.errors import CompileError

    try:
        _library(device, source + _EMPTY_KERNEL, filename, options, checked=False).pipeline()
    except CompileError as error:
        return [str(error)]
    return []


def _tell(filename: str, library: Library, faults: Iterable[str]) -> None:
    for fault in faults:
        echo(fault, err=True)
    if not library.functions:
        echo(f"{filename}: has no kernel", err=True)


def _pipelines(library: Library, options: dict[str, Any]) -> tuple[list[Pipeline], list[str]]:
    """The wanted kernels that compile, and each error of the others once."""
    from metalbench.errors import CompileError

    pipelines, faults = [], {}
    for name in options["functions"] or library.functions:
        try:
            pipelines.append(library.pipeline(name, constants=options["constants"]))
        except CompileError as error:
            faults[str(error)] = name
    return pipelines, list(faults)


def _emit_text(source: str, filename: str, options: dict[str, Any]) -> None:
    from metalbench.msl import engine

    what = options["emit"]
    program = engine.parse(source, filename, options["macros"], _folders(filename, options))
    wanted = options["functions"] or program.functions
    if len(wanted) != 1:
        listed = ", ".join(wanted) or "none"
        raise click.UsageError(f"--emit {what}: expected --function with one of: {listed}")
    if what == "ptx" and options["checked"]:
        raise click.UsageError("--emit ptx: expected no --checked, for no checked build is a GPU's")
    text = emit_text(
        what,
        program,
        wanted[0],
        options["constants"],
        checked=options["checked"],
        fast_math=not options["safe_math"],
    )
    echo_source(text)
