"""The entry of the engine for `_core`: parse a source, build its kernels, return bindings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench import build_cache
from metalbench._core import Error, MachineError
from metalbench.msl.toolchain.clang import (
    BUFFER_ALIGNMENT,
    GPU,
    HOPPER,
    BuildOptions,
    Toolchain,
    check_tools,
    find_toolchain,
)
from metalbench.msl.toolchain.symbolize import frames, symbolize

if TYPE_CHECKING:
    from metalbench.msl.frontend.constants import Value
    from metalbench.msl.frontend.source import Source

__all__ = [
    "CompiledKernel",
    "MslProgram",
    "Signature",
    "Toolchain",
    "build",
    "build_for_gpu",
    "build_many",
    "find_toolchain",
    "frames",
    "parse",
    "read_engine",
    "signature",
    "symbolize",
]


@dataclass(frozen=True)
class CompiledKernel:
    """A compiled kernel.

    `path` is a shared object in the cache with the exports of csrc/msl/mb/cpu/abi.h, or PTX with
    the entry of gpu/abi.h. `arguments` are in the order of the kernel's parameters, without those
    that a function constant removes. `engine` is the execution mode of its threads: `loops`,
    `fibers`, `vectors`, or `cuda` for a GPU; `reason` says why it is not `vectors`, and why it is
    compiled with few optimisations. For `vectors`, `widths` are the numbers of threads along x that
    one call may run, the largest first, and `lane` is the file with the LLVM IR of one of them.
    With `any_order`, threadgroups never wait for each other. The exported names end in `entry_name`
    if the object contains several kernels.
    """

    name: str
    path: str
    arguments: list[dict[str, str | int]]
    attributes: list[dict[str, str]]
    max_threads: int
    needs_fibers: bool
    engine: str = "fibers"
    reason: str = ""
    widths: tuple[int, ...] = ()
    lane: str = ""
    fast_math: bool = True
    spaces: bool = False
    any_order: bool = False
    entry_name: str = ""

    def entry(self, width: int, rows: bool) -> str:
        """Return the shared object that runs `width` threads a call; compile it on first use.

        With `rows` the threads lie along x, otherwise a group may have any shape. If the vectors
        need too much stack, the object runs threads as fibers.
        """
        from metalbench.msl.ir.text import IrError
        from metalbench.msl.toolchain.compile_kernel import build_entry, compile_fibers_from_file
        from metalbench.msl.vectorize.body import LaunchShape

        lane, launch = Path(self.lane), LaunchShape(width, rows)
        try:
            return str(build_entry(lane, launch, self.name, fast_math=self.fast_math))
        except IrError:
            text = lane.with_suffix(".cpp")
            kind = {"fast_math": self.fast_math, "spaces": self.spaces}
            return str(compile_fibers_from_file(text, self.name, **kind))

    @cached_property
    def lowered(self) -> str:
        """The C++ text that was compiled."""
        compiled = Path(self.lane or self.path)
        return compiled.with_suffix(".cpp").read_text()


@dataclass(frozen=True)
class Signature:
    """The bindings of a kernel's parameters, as in `CompiledKernel`."""

    arguments: list[dict[str, str | int]]
    attributes: list[dict[str, str]]


# The engine's entry points, called by `_core`: parse a source, build one of its kernels.

# Execution mode of kernels that synchronise.
ENGINE_VARIABLE = "METALBENCH_ENGINE"
ENGINES = ("vectors", "fibers")


class MslProgram:
    """A parsed source, from this process or from the cache."""

    def __init__(self, inputs: _SourceInputs, key: str, record: build_cache.Record) -> None:
        self._inputs = inputs
        self.key = key
        self.functions: list[str] = list(record["functions"])

    @property
    def filename(self) -> str:
        """The source's name in messages."""
        return self._inputs.filename

    @cached_property
    def source(self) -> Source:
        """The parsed source. First use may run the preprocessor."""
        return self._inputs.source()


@dataclass(frozen=True)
class _SourceInputs:
    text: str
    filename: str
    macros: tuple[tuple[str, str], ...]
    include_dirs: tuple[str, ...]

    def source(self) -> Source:
        from metalbench.msl.toolchain import preprocess

        return preprocess.parse(self.text, self.filename, dict(self.macros), self.include_dirs)

    def key(self) -> str:
        folders = [os.path.abspath(folder) for folder in (self.filename, *self.include_dirs)]
        return build_cache.digest(
            "program",
            find_toolchain().key,
            self.text,
            self.filename,
            repr(sorted(self.macros)),
            *folders,
        )


def parse(
    source: str,
    filename: str = "<source>",
    macros: Mapping[str, str] | None = None,
    include_dirs: Sequence[str] = (),
) -> MslProgram:
    """Preprocess and reflect an MSL source.

    Raise CompileError with the line of the user's file, and Unsupported without a compiler.
    """
    given = tuple((name, str(value)) for name, value in (macros or {}).items())
    with _report_internal_errors(filename):
        return _parse_inputs(_SourceInputs(source, filename, given, tuple(include_dirs)))


def _parse_inputs(inputs: _SourceInputs) -> MslProgram:
    key = inputs.key()
    record = build_cache.load(key)
    if record is not None and _is_current(record):
        return MslProgram(inputs, build_cache.digest(key, repr(record["files"])), record)
    parsed = inputs.source()
    record = {
        "functions": list(parsed.entry_points),
        "files": _digest_included_files(parsed, inputs.filename),
    }
    build_cache.store(key, record)
    program = MslProgram(inputs, build_cache.digest(key, repr(record["files"])), record)
    program.source = parsed
    return program


@contextmanager
def _report_internal_errors(filename: str) -> Iterator[None]:
    """Convert internal failures to errors that name the file and ask for a report."""
    try:
        yield
    except (Error, OSError):
        raise
    except Exception as problem:
        from metalbench.msl.toolchain.diagnostics import REPORT

        raise Error(
            f"{filename}: the front end failed with {type(problem).__name__}: {problem}; this is "
            f"a defect of metalbench; {REPORT}"
        ) from problem


def build(
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, Value] | None = None,
    *,
    checked: bool = False,
    fast_math: bool = True,
    tools: Sequence[str] = (),
    counted: bool = False,
) -> CompiledKernel:
    """Compile one kernel of a program, or load it from the cache.

    `constants` are function constants by name or index. A `checked` build instruments more for
    `tools` (of `building.tools.TOOLS`), which takes longer; a `counted` build counts operations.
    Raise CompileError with clang's messages at the lines of the user's file, and for an unknown
    tool.
    """
    named = check_tools(tools) if checked else ()
    options = BuildOptions(read_engine(), checked, fast_math, named, counted)
    return _build_cached(program, function, constants, options)


def build_for_gpu(
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, Value] | None = None,
    *,
    fast_math: bool = True,
    buffer_alignment: int = BUFFER_ALIGNMENT,
    architecture: str = "",
) -> CompiledKernel:
    """Compile one kernel to PTX, for NVIDIA GPUs. Checked and counted builds are not supported.

    All of its buffers begin at multiples of `buffer_alignment` bytes. With the `architecture`
    `sm_90` the result may be for Hopper GPUs only. Raise CompileError.
    """
    options = BuildOptions(
        GPU,
        fast_math=fast_math,
        buffer_alignment=buffer_alignment,
        architecture=HOPPER if architecture == HOPPER else "",
    )
    return _build_cached(program, function, constants, options)


def _build_cached(
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, Value] | None,
    options: BuildOptions,
) -> CompiledKernel:
    key = _make_key(program, function, constants, options)
    record = _load_record(key)
    if record is not None:
        return _make_kernel(record)
    from metalbench.msl.toolchain.compile_kernel import compile_kernel

    with _report_internal_errors(program.filename):
        record = compile_kernel(program.source, function, constants or {}, options)
        build_cache.store(key, record)
        return _make_kernel(record)


def build_many(program: MslProgram, functions: Sequence[str], *, fast_math: bool = True) -> None:
    """Compile kernels without constants in parallel into the cache, where `build` finds them.

    Errors of a kernel are raised by `build`.
    """
    options = BuildOptions(read_engine(), fast_math=fast_math)
    keys = {name: _make_key(program, name, None, options) for name in functions}
    missing = [name for name, key in keys.items() if _load_record(key) is None]
    if not missing:
        return
    from metalbench.msl.toolchain.compile_batch import compile_many

    with _report_internal_errors(program.filename):
        for name, record in compile_many(program.source, missing, options).items():
            build_cache.store(keys[name], record)


def _make_key(
    program: MslProgram,
    function: str,
    constants: Mapping[str | int, Value] | None,
    options: BuildOptions,
) -> str:
    return build_cache.digest(
        "kernel", program.key, function, _format_constants(constants), repr(options)
    )


def _load_record(key: str) -> build_cache.Record | None:
    """Return the cached record of a build, if its object file is unchanged."""
    record = build_cache.load(key)
    if record is None or build_cache.digest_file(record["path"]) != record["object"]:
        return None
    return record


def signature(  # noqa: PLR0917 - `_core` calls it
    source: str,
    filename: str,
    macros: Mapping[str, str],
    include_dirs: Sequence[str],
    function: str,
    constants: Mapping[str | int, Value],
) -> Signature | None:
    """Return the bindings of a kernel's parameters, for devices that compile MSL themselves.

    Return None if this front end cannot read the source or has no compiler: such a device has its
    own reflection, and uses this result for what that lacks.
    """
    try:
        return _bind_cached(parse(source, filename, macros, include_dirs), function, constants)
    except Error:
        return None


def _bind_cached(
    program: MslProgram, function: str, constants: Mapping[str | int, Value]
) -> Signature:
    from metalbench.msl.frontend import lower

    key = build_cache.digest("signature", program.key, function, _format_constants(constants))
    record = build_cache.load(key)
    if record is None:
        with _report_internal_errors(program.filename):
            bindings = lower.bind_signature(program.source, function, constants)
        record = {"arguments": bindings.arguments, "attributes": bindings.attributes}
        build_cache.store(key, record)
    return Signature(**record)


def _format_constants(constants: Mapping[str | int, Value] | None) -> str:
    """Return function constants as a part of a key."""
    return repr(sorted((str(name), repr(value)) for name, value in (constants or {}).items()))


def read_engine() -> str:
    """Return the execution mode of METALBENCH_ENGINE. Raise MachineError for an unknown one."""
    named = os.environ.get(ENGINE_VARIABLE, "vectors")
    if named not in ENGINES:
        raise MachineError(f"{ENGINE_VARIABLE}: expected {' or '.join(ENGINES)}, got {named!r}")
    return named


def _make_kernel(record: build_cache.Record) -> CompiledKernel:
    fields = {name: value for name, value in record.items() if name != "object"}
    return CompiledKernel(**{**fields, "widths": tuple(record["widths"])})


def _digest_included_files(source: Source, filename: str) -> dict[str, str | None]:
    """Return digests of the files that the source includes."""
    from metalbench.msl.toolchain.file_access import find_readable_folders

    own = {filename, "<source>", "<stdin>", "<built-in>", "<command line>"}
    folder = Path(filename).resolve().parent
    readable = find_readable_folders(source)
    found = {}
    for name in source.tokens.files:
        path = folder / name
        # A #line directive may name any file, which must not be read.
        if name not in own and path in readable and path.is_file():
            found[str(path)] = build_cache.digest_file(path)
    return found


def _is_current(record: build_cache.Record) -> bool:
    return all(build_cache.digest_file(path) == known for path, known in record["files"].items())
