"""Run clang on lowered text, limit its time, and check the use of the stack.

Some of LLVM's passes take quadratic time in a basic block's length (instruction selection, register
allocation, address sinking). The loop vectoriser asks whether a value is uniform without caching
the answer, which takes exponential time for a chain such as `b = b < v ? v : b` (LLVM 22, VPlan).
Large code, and code whose optimisation exceeds a time limit, is compiled with passes of linear
time.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from metalbench import build_cache
from metalbench._core import CompileError, Error
from metalbench.msl.frontend.edits import TranslationUnit
from metalbench.msl.frontend.lower import is_metal4
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import is_own
from metalbench.msl.toolchain.clang import Toolchain, list_flags, list_superlinear_passes
from metalbench.msl.toolchain.host_calls import threadgroup_variables
from metalbench.msl.toolchain.run_tool import (
    CrashedError,
    TooSlowError,
    format_crash,
    has_crashed,
    run_tool,
)
from metalbench.msl.toolchain.symbols import check_imports
from metalbench.msl.transforms import block_layout, memory_sanitizer
from metalbench.msl.transforms.debug_locations import locate_calls
from metalbench.msl.transforms.if_conversion import convert_branches_to_selects
from metalbench.msl.transforms.metal_semantics import give_metal_semantics

Result = TypeVar("Result")


@dataclass(frozen=True)
class SizeLimits:
    """The largest LLVM IR that is compiled with all passes.

    Lines are those of a module and of one of its functions. Basic blocks and loops are those of one
    function. A loop is counted by its back edge.
    """

    module_lines: int
    function_lines: int
    function_blocks: int
    function_loops: int


# For code before the passes of -O3. Of 40 kernels of this package, the largest has a quarter of the
# lines of a module, and at most a tenth of the other limits. Code at the limits takes 2 to 4 s: the
# loop vectoriser takes quadratic time in the number of blocks, loop unrolling in the number of
# loops, register allocation in the length of a block.
O3_LIMITS = SizeLimits(60_000, 10_000, 600, 70)
# For code of other passes, and code whose passes are done. CodeGenPrepare takes quadratic time in
# the number of blocks: fibers of 2 000 blocks take 3.5 s, those of 4 000 blocks 16 s, vectors of
# 3 000 blocks 3.6 s.
O1_LIMITS = SizeLimits(60_000, 20_000, 3_200, 1_000)
# Instructions of one lane after optimisation. The vectorised module has several for each.
LARGEST_LANE = 4_000
# Processor time of a run of clang with all passes. The slowest known kernels take 5 s.
OPTIMISING_S = 10
_REDUCED_PASSES = ["-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"]
# Code generation in linear time. CodeGenPrepare and loop strength reduction take quadratic time in
# the number of blocks and loops: 15 of 16 s for 2 000 branches. The older implementation of
# variables' locations ends at once without variables.
REDUCED = [
    *_REDUCED_PASSES,
    *("-mllvm", "-fast-isel"),
    *("-mllvm", "-optimize-regalloc=0"),
    *("-mllvm", "-disable-cgp"),
    *("-mllvm", "-disable-lsr"),
    *("-mllvm", "-experimental-debug-variable-locations=false"),
]
# NVPTX has neither fast instruction selection nor register allocation.
REDUCED_FOR_GPU = _REDUCED_PASSES
# Loop metadata that requests vectorisation overrides -fno-vectorize.
_FORCED = '!"llvm.loop.vectorize.enable", i1 true'
_FORBIDDEN = '!"llvm.loop.vectorize.enable", i1 false'


def explain_reduction(ir: str, options: Sequence[str]) -> str:
    """Return why a module is too large for all passes of these flags, or an empty string."""
    is_done = "-O3" not in options or "-disable-llvm-passes" in options
    limits = O1_LIMITS if is_done else O3_LIMITS
    lines = ir.count("\n")
    if lines > limits.module_lines:
        return f"{lines} lines of LLVM IR, more than {limits.module_lines}"
    for counts in _measure_functions(ir):
        for count, most, what in zip(
            counts,
            (limits.function_lines, limits.function_blocks, limits.function_loops),
            ("lines of LLVM IR", "basic blocks", "loops"),
            strict=True,
        ):
            if count > most:
                return f"a function of {count} {what}, more than {most}"
    return ""


def _measure_functions(ir: str) -> Iterator[tuple[int, int, int]]:
    """Yield the lines, basic blocks and back edges of each function.

    This reads the text only: a model of a large module takes longer than the reduced passes.
    """
    lines, blocks, loops = 0, 0, 0
    labels: set[str] | None = None
    for line in ir.split("\n"):
        if labels is None:
            if line.startswith("define "):
                labels, lines, blocks, loops = set(), 0, 1, 0
            continue
        lines += 1
        if line == "}":
            yield lines, blocks, loops
            labels = None
        elif line.startswith("  br "):
            targets = (each.partition(",")[0] for each in line.split("label %")[1:])
            loops += any(each in labels for each in targets)
        elif line and line[0] not in " \t;":
            blocks += 1
            labels.add(line.partition(":")[0])


def run_with_time_limit(
    run: Callable[[str, Sequence[str], int | None], Result],
    ir: str,
    options: Sequence[str],
    reasons: list[str],
    reduced: Sequence[str] = REDUCED,
) -> Result:
    """Return the result of `run` for a module, with flags of clang and a limit of processor time.

    Flags are reduced for a module that is too large, and for one that exceeds the limit. The reason
    is appended to `reasons`. Raise as `run` does.
    """
    why = explain_reduction(ir, options)
    if not why:
        try:
            return run(ir, options, OPTIMISING_S)
        except TooSlowError:
            why = f"LLVM's passes took more than {OPTIMISING_S} s of processor time"
    reasons.append(f"compiled with few optimisations: {why}")
    return run(ir.replace(_FORCED, _FORBIDDEN), [*options, *reduced], None)


# Precompile the preamble of kernels: the MSL headers are parsed once for all equal preambles.
#
# The first kernel stores its preamble in the cache. The second one finds it there and lets clang
# precompile it, so a preamble that only one kernel has costs nothing. This only saves time: a file
# that cannot be written, is damaged or does not fit is ignored.

# Headers are compared by content, because an installation changes their times.
_BY_CONTENT = ["-Xclang", "-fvalidate-ast-input-files-content"]
# Templates that the preamble uses are instantiated once, not by each kernel.
_INSTANTIATED = ["-fpch-instantiate-templates"]
# Parts of clang's messages about an unusable precompiled header.
_REJECTION_MESSAGES = ("precompiled file", "PCH file", "AST file")


@dataclass(frozen=True)
class PrecompiledPreamble:
    """A preamble in the cache (`.h`) and its precompiled header (`.pch`)."""

    key: str
    lines: Path
    path: Path

    @property
    def flags(self) -> list[str]:
        """The flags of clang that load the precompiled header."""
        return [*_BY_CONTENT, "-include-pch", str(self.path)]

    @property
    def files(self) -> tuple[Path, Path]:
        """The files that clang reads in addition to the headers."""
        return self.lines, self.path

    def is_rejected_in(self, answer: subprocess.CompletedProcess[str]) -> bool:
        """Return whether clang may have failed because of the precompiled header."""
        words = (*_REJECTION_MESSAGES, str(self.lines), str(self.path))
        failed = answer.returncode != 0
        return failed and (has_crashed(answer) or any(word in answer.stderr for word in words))


def find_precompiled_preamble(
    head: str,
    tools: Toolchain,
    options: Sequence[str],
    *,
    make: bool = True,
    at_once: bool = False,
) -> PrecompiledPreamble | None:
    """Return the precompiled form of the preamble `head`; None if there is none.

    With `make` it is created if another kernel had the same preamble, or `at_once`. Concurrent
    processes should not wait for each other to create it.
    """
    folder = str(build_cache.find_cache_folder().absolute())
    key = build_cache.digest("head", tools.key, repr(options), folder, head)
    lines, path = (build_cache.locate_file(key, suffix).absolute() for suffix in (".h", ".pch"))
    found = PrecompiledPreamble(key, lines, path)
    try:
        if make and not _is_known(found, head) and not at_once:
            return None
        record = build_cache.load(key)
        if record is None or not _is_intact(found, record):
            record = _precompile(found, tools, options) if make else None
    except Error:
        return None
    return found if record and record["object"] else None


def _is_intact(found: PrecompiledPreamble, record: build_cache.Record) -> bool:
    """Return whether the precompiled header is the one of a record, or was rejected.

    Its 3 MB are only read if the file has changed since: their digest takes 4 ms.
    """
    if record["object"] is None:
        return True
    state = build_cache.read_file_state(found.path)
    if state is not None and state == record.get("state"):
        return True
    if build_cache.digest_file(found.path) != record["object"]:
        return False
    build_cache.store(found.key, record | {"state": state})
    return True


def _is_known(found: PrecompiledPreamble, head: str) -> bool:
    """Return whether another kernel had this preamble; store it otherwise."""
    if build_cache.digest_file(found.lines) == build_cache.digest(head):
        return True
    with build_cache.write_atomically(found.lines) as path:
        path.write_text(head)
    return False


def _precompile(
    found: PrecompiledPreamble, tools: Toolchain, options: Sequence[str]
) -> build_cache.Record:
    """Precompile the preamble. A result that clang rejects is recorded and not retried."""
    command = [*tools.clang, "-x", "c++-header", *options, *_BY_CONTENT, *_INSTANTIATED]
    # The file contains the output folder's name, so all processes use the same one.
    folder = found.path.with_suffix(".new")
    folder.mkdir(exist_ok=True)
    with build_cache.write_atomically(folder / found.path.name) as path:
        command += ["-o", str(path), str(found.lines)]
        reads = [tools.headers, found.lines]
        run_tool(command, "", found.path.parent, reads=reads, writes=[folder])
    # Another process may have moved the same file already.
    with suppress(FileNotFoundError):
        (folder / found.path.name).replace(found.path)
    reading = [*tools.clang, "-x", "c++", *options, *found.flags, "-fsyntax-only", "-"]
    usable = run_tool(reading, "", reads=[tools.headers, *found.files]).returncode == 0
    state = build_cache.read_file_state(found.path)
    record = {"object": build_cache.digest_file(found.path) if usable else None, "state": state}
    build_cache.store(found.key, record)
    return record


# Check the private memory of a compiled kernel's functions, from clang's -fstack-usage.


class StackFrame(NamedTuple):
    """The stack usage of a function call, including its callees.

    `location` and `function` are those of the callee with the largest frame. Most of a kernel's
    functions are inlined.
    """

    bytes: int
    location: str
    function: str


_EMPTY_FRAME = StackFrame(0, "", "")


class StackUsage:
    """Stack usage of a module's functions. `usage` is the output of `-fstack-usage`.

    The call graph is that of the module's unoptimised `ir`: inlined functions have no frame.
    """

    def __init__(self, usage: str, ir: str) -> None:
        self._own = {frame.function: frame for frame in _parse_usage(usage)}
        self._ir = ir

    @property
    def total_bytes(self) -> int:
        """The sum of all frames: an upper bound for any chain of calls."""
        return sum(frame.bytes for frame in self._own.values())

    def find_largest(self) -> StackFrame:
        """Return the largest frame of a single function."""
        return max(self._own.values(), default=_EMPTY_FRAME)

    def find_deepest(self) -> StackFrame:
        """Return the chain of calls with the largest sum of frames. Recursion counts once."""
        calls = {
            name.strip('"'): {each.strip('"') for each in function.callees}
            for name, function in Module(self._ir).functions.items()
        }
        deepest: dict[str, StackFrame] = {}

        waiting = list(self._own)
        while waiting:
            function = waiting[-1]
            if function not in deepest:
                deepest[function] = _EMPTY_FRAME  # for recursive calls
                waiting += [each for each in calls.get(function, ()) if each not in deepest]
                continue
            waiting.pop()
            listed = [deepest.get(each, _EMPTY_FRAME) for each in calls.get(function, ())]
            below = max(listed, default=_EMPTY_FRAME)
            frame = self._own.get(function, _EMPTY_FRAME)
            most = max(frame, self._own.get(below.function, _EMPTY_FRAME))
            deepest[function] = most._replace(bytes=frame.bytes + below.bytes)
        return max((deepest[each] for each in self._own), default=_EMPTY_FRAME)


def _parse_usage(usage: str) -> Iterator[StackFrame]:
    for line in usage.splitlines():
        name, size, _ = line.split("\t")
        where, _, function = name.rpartition(":")
        yield StackFrame(int(size), where, function)


def check_stack_usage(frames: StackUsage, kernel: str, headers: Path, *, together: bool) -> None:
    """Raise CompileError if a function's frame exceeds the private memory of a thread.

    With `together` the sum over a chain of calls counts: vectors have fibers as a fallback.
    Otherwise a thread that exceeds the limit in nested calls is stopped at run time.
    """
    most = _read_private_limit(headers)
    if frames.total_bytes <= most:
        return
    frame = frames.find_deepest() if together else frames.find_largest()
    if frame.bytes <= most:
        return
    its = "" if is_own(frame.location) else f" in {frame.function} ({frame.location})"
    raise CompileError(
        f"[{kernel}] private memory: expected at most {most} bytes ({most >> 10} KiB) a thread, "
        f"got a frame of {frame.bytes} bytes{its}; make the arrays of a thread smaller, or keep "
        "them in threadgroup or device memory"
    )


@cache
def _read_private_limit(headers: Path) -> int:
    """Return the runtime's limit in bytes, from the runtime's header."""
    found = re.search(
        r"private_bytes = (\d+) \* 1024;", (headers / "mb" / "cpu" / "abi.h").read_text()
    )
    assert found is not None
    return int(found[1]) * 1024


# Compile C++ text to a shared object: generate LLVM IR, transform it, compile and link it.


@dataclass(frozen=True)
class MessageTranslator:
    """Translates messages of clang and its linker for the user. An empty message is not an error.

    `check_ir` raises CompileError for LLVM IR that a kernel must not have. `map_columns` replaces
    the columns in a module's debug locations by those of the user's lines. `source_digest`
    identifies these lines: sources that differ in white space and macros can have the same lowered
    text.
    """

    clang: Callable[[str], str] = str
    linker: Callable[[str], str] = str
    check_ir: Callable[[str], None] = lambda _: None
    map_columns: Callable[[str], str] = str
    source_digest: str = ""


def compile_shared_object(
    code: TranslationUnit,
    target: Path,
    tools: Toolchain,
    translate: MessageTranslator,
    options: Sequence[str],
    *,
    checked: bool,
    fibers: bool = False,
    check_arithmetic: bool = False,
    follow: bool = False,
    reasons: list[str] | None = None,
) -> StackUsage:
    """Compile lowered text with these flags and link it; return its functions' stack usage.

    If optimisations are reduced, the reason is appended to `reasons`. Code of `fibers` gets a block
    layout in which divergent lanes reconverge. A checked build may `check_arithmetic` for
    infinities and NaN with fast math, and `follow` uninitialised values from their declaration to
    their use. Where the linker leaves debug information in the object file, that is stored next to
    the library. Raise CompileError with clang's messages, translated by `translate.clang`, or with
    the linker's messages about undefined symbols, translated by `translate.linker`.
    """
    reasons = [] if reasons is None else reasons
    parsing = [*options, "-Xclang", "-disable-llvm-passes"]
    if checked:
        parsing.append(f"-fsanitize-ignorelist={tools.headers / 'unchecked.txt'}")
    if follow:
        parsing = memory_sanitizer.front_end_flags(parsing)
    generated = generate_ir(code, tools, parsing, translate)
    # Only findings of checked builds are reported with columns.
    located = translate.map_columns(generated) if checked else generated
    module = Module(located)
    give_metal_semantics(module, checked=checked, arithmetic=check_arithmetic)
    if follow:
        convert_branches_to_selects(module)
        memory_sanitizer.instrument_results(module)
        memory_sanitizer.mark_allocas_uninitialized(module)
        for each in memory_sanitizer.pass_flags(options):
            # Clang takes the target of its command line.
            module.remove_target()
            module = Module(optimise(str(module), tools, translate, each, reasons))
        module.remove_target()
        memory_sanitizer.prepare_for_address_sanitizer(module)
        options = memory_sanitizer.without_tracing(options)
    if fibers and block_layout.may_diverge(module):
        block_layout.inline_meeting_functions(module)
        module = Module(optimise(str(module), tools, translate, options, reasons))
        locate_calls(module)
        block_layout.lay_out_blocks(module)
        locate_calls(module)
        options = [*options, *block_layout.FLAGS]
    return assemble(
        str(module), target, tools, translate, options, checked=checked, reasons=reasons
    )


def generate_ir(
    code: TranslationUnit,
    tools: Toolchain,
    options: Sequence[str],
    translate: MessageTranslator,
    *,
    make_head: bool = True,
    at_once: bool = False,
    processor_s: int | None = None,
) -> str:
    """Return the LLVM IR of lowered text; its preamble may be precompiled, also `at_once`.

    Raise CompileError, and TooSlowError if it takes more than `processor_s` of processor time.
    """
    parsing = [*options, *tools.include_flags]
    kind = {"make": make_head, "at_once": at_once}
    head = find_precompiled_preamble(code.preamble, tools, parsing, **kind)
    ir = _run_front_end(code, tools, parsing, translate.clang, head, processor_s)
    translate.check_ir(ir)
    return ir


def optimise(
    ir: str,
    tools: Toolchain,
    translate: MessageTranslator,
    options: Sequence[str],
    reasons: list[str] | None = None,
) -> str:
    """Return a module of LLVM IR after LLVM's passes with these flags. Raise CompileError.

    If passes are reduced, the reason is appended to `reasons`.
    """

    def run(module: str, flags: Sequence[str], processor_s: int | None) -> str:
        command = [*tools.clang, "-x", "ir", *flags, "-S", "-emit-llvm", "-o", "-", "-"]
        return _run_checked(command, module, translate.clang, processor_s=processor_s).stdout

    reduced = REDUCED_FOR_GPU
    if tools.target.object_format:
        reduced = [*REDUCED, *list_superlinear_passes(tools)]
    return run_with_time_limit(run, ir, options, [] if reasons is None else reasons, reduced)


def assemble(
    ir: str,
    target: Path,
    tools: Toolchain,
    translate: MessageTranslator,
    options: Sequence[str],
    *,
    checked: bool = False,
    reasons: list[str] | None = None,
) -> StackUsage:
    """Compile and link a module of LLVM IR. Raise and return as `compile_shared_object` does."""
    reasons = [] if reasons is None else reasons
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        made, built = Path(folder) / target.name, Path(folder) / f"{target.stem}.o"

        def compile_with(module: str, flags: Sequence[str], processor_s: int | None) -> None:
            back = [
                *tools.clang,
                "-c",
                "-x",
                "ir",
                *flags,
                "-fstack-usage",
                "-o",
                str(built),
                "-",
            ]
            _run_checked(
                back, module, translate.clang, writes=[made.parent], processor_s=processor_s
            )

        linking = [*tools.linker, "-shared", "-o", str(made), str(built)]
        reduced = [*REDUCED, *list_superlinear_passes(tools)]
        run_with_time_limit(compile_with, ir, options, reasons, reduced)
        told = _run_checked(
            linking, "", lambda said: translate.linker(said) or said, writes=[made.parent]
        ).stderr
        undefined = translate.linker(told)
        if undefined:
            raise CompileError(undefined)
        check_imports(made, tools.target, checked=checked, variables=threadgroup_variables(ir))
        frames = StackUsage(made.with_suffix(".su").read_text(), ir)
        if tools.target.debug_in_object:
            built.replace(target.with_suffix(".o"))
        made.replace(target)
    return frames


def emit_assembly(
    ir: str, tools: Toolchain, translate: MessageTranslator, options: Sequence[str]
) -> str:
    """Return the target's assembly of a module of LLVM IR. Raise CompileError."""

    def run(module: str, flags: Sequence[str], processor_s: int | None) -> str:
        back = [*tools.clang, "-S", "-x", "ir", *flags, "-o", "-", "-"]
        return _run_checked(back, module, translate.clang, processor_s=processor_s).stdout

    return run_with_time_limit(run, ir, options, [], REDUCED_FOR_GPU)


def _run_front_end(  # noqa: PLR0917
    code: TranslationUnit,
    tools: Toolchain,
    options: Sequence[str],
    translate: Callable[[str], str],
    head: PrecompiledPreamble | None,
    processor_s: int | None,
) -> str:
    """Return the LLVM IR of a text. Parse its preamble if the precompiled one cannot be used."""
    front = [*tools.clang, "-x", "c++", *options]
    emit = ["-S", "-emit-llvm", "-o", "-", "-"]
    if head is not None:
        command = [*front, *head.flags, *emit]
        reads = [tools.headers, *head.files]
        text = code.text[code.source_start :]
        answer = run_tool(command, text, reads=reads, processor_s=processor_s)
        if not head.is_rejected_in(answer):
            return _check_result(answer, translate).stdout
    command = [*front, *emit]
    answer = run_tool(command, code.text, reads=[tools.headers], processor_s=processor_s)
    return _check_result(answer, translate).stdout


def check_syntax(text: str, tools: Toolchain, translate: Callable[[str], str]) -> None:
    """Raise CompileError with clang's messages if clang does not accept a text."""
    command = [
        *tools.clang,
        "-fsyntax-only",
        "-x",
        "c++",
        *list_flags(checked=False, fast_math=True, metal4=is_metal4(text)),
    ]
    _run_checked([*command, *tools.include_flags, "-"], text, translate, reads=[tools.headers])


def _run_checked(
    command: list[str],
    text: str,
    translate: Callable[[str], str],
    *,
    reads: Sequence[Path] = (),
    writes: Sequence[Path] = (),
    processor_s: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program that must succeed; return its result. Raise CompileError."""
    answer = run_tool(command, text, reads=reads, writes=writes, processor_s=processor_s)
    return _check_result(answer, translate)


def _check_result(
    answer: subprocess.CompletedProcess[str], translate: Callable[[str], str]
) -> subprocess.CompletedProcess[str]:
    """Return the result of a program that succeeded. Raise CompileError for others."""
    if answer.returncode == 0:
        return answer
    if has_crashed(answer):
        raise CrashedError(format_crash(answer))
    message = (
        answer.stderr.strip()
        or f"{answer.args[0]} ended with {answer.returncode} without a message"
    )
    raise CompileError(translate(message))
