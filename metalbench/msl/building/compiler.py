"""Compile C++ text to a shared object: generate LLVM IR, transform it, compile and link it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building.answer import CrashedError, format_crash, has_crashed, run_tool
from metalbench.msl.building.effort import REDUCED, REDUCED_FOR_GPU, run_with_time_limit
from metalbench.msl.building.frames import StackUsage
from metalbench.msl.building.host_calls import threadgroup_variables
from metalbench.msl.building.imports import check_imports
from metalbench.msl.building.precompiled import PrecompiledPreamble, find_precompiled_preamble
from metalbench.msl.building.targets import NVPTX
from metalbench.msl.building.toolchain import Toolchain, list_flags
from metalbench.msl.ir.module import Module
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.transforms import block_layout, memory_sanitizer
from metalbench.msl.transforms.debug_locations import locate_calls
from metalbench.msl.transforms.if_conversion import convert_branches_to_selects
from metalbench.msl.transforms.metal_semantics import give_metal_semantics


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
    follow: bool = False,
    reasons: list[str] | None = None,
) -> StackUsage:
    """Compile lowered text with these flags and link it; return its functions' stack usage.

    If optimisations are reduced, the reason is appended to `reasons`. Code of `fibers` gets a block
    layout in which divergent lanes reconverge. A checked build may `follow` uninitialised values
    from their declaration to their use. Where the linker leaves debug information in the object
    file, that is stored next to the library. Raise CompileError with clang's messages, translated
    by `translate.clang`, or with the linker's messages about undefined symbols, translated by
    `translate.linker`.
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
    give_metal_semantics(module, checked=checked)
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
    processor_s: int | None = None,
) -> str:
    """Return the LLVM IR of lowered text; its preamble may be precompiled.

    Raise CompileError, and TooSlowError if it takes more than `processor_s` of processor time.
    """
    parsing = [*options, *tools.include_flags]
    head = find_precompiled_preamble(code.preamble, tools, parsing, make=make_head)
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

    reduced = REDUCED if tools.target is not NVPTX else REDUCED_FOR_GPU
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
        run_with_time_limit(compile_with, ir, options, reasons)
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
        *list_flags(checked=False, fast_math=True),
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
