"""The front end's entry: parse a source, build one of its kernels. `_core` calls it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench._core import Error, MachineError
from metalbench.msl.building import cache
from metalbench.msl.building.options import BUFFER_ALIGNMENT, GPU, BuildOptions
from metalbench.msl.building.symbolize import frames, symbolize
from metalbench.msl.building.toolchain import Toolchain, find_toolchain
from metalbench.msl.building.tools import check_tools
from metalbench.msl.built import Built, Signature

if TYPE_CHECKING:
    from metalbench.msl.reading.constants import Value
    from metalbench.msl.reading.program import Source

__all__ = [
    "Built",
    "Program",
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


# What kernels that synchronise are run as.
ENGINE_VARIABLE = "METALBENCH_ENGINE"
ENGINES = ("vectors", "fibers")


class Program:
    """A source that has been parsed, by this process or by one that left it in the cache."""

    def __init__(self, inputs: _Inputs, key: str, record: cache.Record) -> None:
        self._inputs = inputs
        self.key = key
        self.functions: list[str] = list(record["functions"])

    @property
    def filename(self) -> str:
        """The source's name in messages."""
        return self._inputs.filename

    @cached_property
    def source(self) -> Source:
        """The parsed source; costs a run of the preprocessor on first use."""
        return self._inputs.source()


@dataclass(frozen=True)
class _Inputs:
    text: str
    filename: str
    macros: tuple[tuple[str, str], ...]
    include_dirs: tuple[str, ...]

    def source(self) -> Source:
        from metalbench.msl.building import parse

        return parse.parse(self.text, self.filename, dict(self.macros), self.include_dirs)

    def key(self) -> str:
        folders = [os.path.abspath(folder) for folder in (self.filename, *self.include_dirs)]
        return cache.digest(
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
) -> Program:
    """Preprocess and reflect an MSL source.

    Raises CompileError with the line of the user's file, Unsupported without a compiler.
    """
    given = tuple((name, str(value)) for name, value in (macros or {}).items())
    with _own_failures(filename):
        return _parse(_Inputs(source, filename, given, tuple(include_dirs)))


def _parse(inputs: _Inputs) -> Program:
    key = inputs.key()
    record = cache.load(key)
    if record is not None and _unchanged(record):
        return Program(inputs, cache.digest(key, repr(record["files"])), record)
    parsed = inputs.source()
    record = {"functions": list(parsed.entry_points), "files": _files(parsed, inputs.filename)}
    cache.store(key, record)
    program = Program(inputs, cache.digest(key, repr(record["files"])), record)
    program.source = parsed
    return program


@contextmanager
def _own_failures(filename: str) -> Iterator[None]:
    """A failure of the front end itself names the file and says what to do."""
    try:
        yield
    except (Error, OSError):
        raise
    except Exception as problem:
        from metalbench.msl.building.messages import REPORT

        raise Error(
            f"{filename}: the front end failed with {type(problem).__name__}: {problem}; this is "
            f"a defect of metalbench; {REPORT}"
        ) from problem


def build(
    program: Program,
    function: str,
    constants: Mapping[str | int, Value] | None = None,
    *,
    checked: bool = False,
    fast_math: bool = True,
    tools: Sequence[str] = (),
    counted: bool = False,
) -> Built:
    """Compile one kernel of a program, or find it in the cache.

    `constants` are function constants by name or index. A checked build finds more for `tools`,
    some of `building.tools.TOOLS`, and takes longer; a `counted` one counts what threads do. Raises
    CompileError with clang's own messages at the lines of the user's file, or for a tool that there
    is not.
    """
    named = check_tools(tools) if checked else ()
    options = BuildOptions(read_engine(), checked, fast_math, named, counted)
    return _build(program, function, constants, options)


def build_for_gpu(
    program: Program,
    function: str,
    constants: Mapping[str | int, Value] | None = None,
    *,
    fast_math: bool = True,
    buffer_alignment: int = BUFFER_ALIGNMENT,
) -> Built:
    """Compile one kernel to PTX, for NVIDIA GPUs; there are no checked and no counted builds of it.

    All of its buffers begin at multiples of `buffer_alignment` bytes. Raises CompileError.
    """
    options = BuildOptions(GPU, fast_math=fast_math, buffer_alignment=buffer_alignment)
    return _build(program, function, constants, options)


def _build(
    program: Program,
    function: str,
    constants: Mapping[str | int, Value] | None,
    options: BuildOptions,
) -> Built:
    key = _key(program, function, constants, options)
    record = _kept(key)
    if record is not None:
        return _built(record)
    from metalbench.msl.building.kernel import compile_kernel

    with _own_failures(program.filename):
        record = compile_kernel(program.source, function, constants or {}, options)
        cache.store(key, record)
        return _built(record)


def build_many(program: Program, functions: Sequence[str], *, fast_math: bool = True) -> None:
    """Compile kernels without constants at once, for `build` to find: faster than one by one.

    What is wrong with one of them `build` tells.
    """
    options = BuildOptions(read_engine(), fast_math=fast_math)
    keys = {name: _key(program, name, None, options) for name in functions}
    missing = [name for name, key in keys.items() if _kept(key) is None]
    if not missing:
        return
    from metalbench.msl.building.many import compile_many

    with _own_failures(program.filename):
        for name, record in compile_many(program.source, missing, options).items():
            cache.store(keys[name], record)


def _key(
    program: Program,
    function: str,
    constants: Mapping[str | int, Value] | None,
    options: BuildOptions,
) -> str:
    return cache.digest("kernel", program.key, function, _given(constants), repr(options))


def _kept(key: str) -> cache.Record | None:
    """What was built before, if its object is still what it was."""
    record = cache.load(key)
    if record is None or cache.digest_file(record["path"]) != record["object"]:
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
    """How the parameters of a kernel are written, for devices that compile it themselves.

    None where this front end cannot read the source or has no compiler to preprocess it with: such
    a device has reflection of its own, and needs this only for what that lacks.
    """
    try:
        return _signature(parse(source, filename, macros, include_dirs), function, constants)
    except Error:
        return None


def _signature(program: Program, function: str, constants: Mapping[str | int, Value]) -> Signature:
    from metalbench.msl.rewriting import lower

    key = cache.digest("signature", program.key, function, _given(constants))
    record = cache.load(key)
    if record is None:
        with _own_failures(program.filename):
            bindings = lower.bind_signature(program.source, function, constants)
        record = {"arguments": bindings.arguments, "attributes": bindings.attributes}
        cache.store(key, record)
    return Signature(**record)


def _given(constants: Mapping[str | int, Value] | None) -> str:
    """Function constants as a part of a key."""
    return repr(sorted((str(name), repr(value)) for name, value in (constants or {}).items()))


def read_engine() -> str:
    """What kernels that synchronise are run as: METALBENCH_ENGINE says so. Raises MachineError."""
    named = os.environ.get(ENGINE_VARIABLE, "vectors")
    if named not in ENGINES:
        raise MachineError(f"{ENGINE_VARIABLE}: expected {' or '.join(ENGINES)}, got {named!r}")
    return named


def _built(record: cache.Record) -> Built:
    fields = {name: value for name, value in record.items() if name != "object"}
    return Built(**{**fields, "widths": tuple(record["widths"])})


def _files(source: Source, filename: str) -> dict[str, str | None]:
    """Return digests of the files that the source includes."""
    from metalbench.msl.building.included import find_readable_folders

    own = {filename, "<source>", "<stdin>", "<built-in>", "<command line>"}
    folder = Path(filename).resolve().parent
    readable = find_readable_folders(source)
    found = {}
    for name in source.tokens.files:
        path = folder / name
        # A #line directive may name anything, which is not read.
        if name not in own and path in readable and path.is_file():
            found[str(path)] = cache.digest_file(path)
    return found


def _unchanged(record: cache.Record) -> bool:
    return all(cache.digest_file(path) == known for path, known in record["files"].items())
