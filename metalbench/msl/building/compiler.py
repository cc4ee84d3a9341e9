"""C++ text to a shared object: to LLVM IR, which we edit, to an object, through the linker."""

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
from metalbench.msl.building.selects import with_selects
from metalbench.msl.building.targets import NVPTX
from metalbench.msl.building.toolchain import Toolchain, list_flags
from metalbench.msl.ir.module import Module
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.transforms import block_layout, memory_sanitizer
from metalbench.msl.transforms.debug_locations import locate_calls
from metalbench.msl.transforms.metal_semantics import give_metal_semantics


@dataclass(frozen=True)
class MessageTranslator:
    """How the messages of clang and of its linker become a user's; an empty one is no error.

    `ir` raises CompileError for LLVM IR that no kernel may have. `columns` puts the columns of the
    user's lines into a module's debug locations; `written` identifies these lines, for lowered text
    is the same whatever white space and macros a source has.
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
    """Compile lowered text with these flags and link it; return its functions' frames.

    Why it is compiled with fewer optimisations, if it is, is added to `reasons`.

    The code of `fibers` is put in an order in which lanes catch up with each other. A checked build
    may `follow` values that nothing has given, from their declaration to their use. The object file
    stays beside it where the linker leaves debug information in there. Raises CompileError with
    clang's own messages as `translate.clang` places them, and with what `translate.linker` makes of
    the linker's, warnings of names that are defined nowhere.
    """
    reasons = [] if reasons is None else reasons
    parsing = [*options, "-Xclang", "-disable-llvm-passes"]
    if checked:
        parsing.append(f"-fsanitize-ignorelist={tools.headers / 'unchecked.txt'}")
    if follow:
        parsing = memory_sanitizer.front_end_flags(parsing)
    generated = generate_ir(code, tools, parsing, translate)
    # Only findings of checked builds are told with columns.
    located = translate.map_columns(generated) if checked else generated
    module = Module(located)
    give_metal_semantics(module, checked=checked)
    if follow:
        module = Module(with_selects(str(module)))
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
    """The LLVM IR of lowered text, whose head may be precompiled for it.

    Raises CompileError, TooSlowError where it takes more than `processor_s` of processor time.
    """
    parsing = [*options, *tools.include_flags]
    head = find_precompiled_preamble(code.preamble, tools, parsing, make=make_head)
    ir = _front_end(code, tools, parsing, translate.clang, head, processor_s)
    translate.check_ir(ir)
    return ir


def optimise(
    ir: str,
    tools: Toolchain,
    translate: MessageTranslator,
    options: Sequence[str],
    reasons: list[str] | None = None,
) -> str:
    """A module of LLVM IR after LLVM's passes, as these flags say. Raises CompileError.

    Why there are fewer passes, if there are, is added to `reasons`.
    """

    def run(module: str, flags: Sequence[str], processor_s: int | None) -> str:
        command = [*tools.clang, "-x", "ir", *flags, "-S", "-emit-llvm", "-o", "-", "-"]
        return _run(command, module, translate.clang, processor_s=processor_s).stdout

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
    """Compile a module of LLVM IR and link it; raises and returns as `compile_shared_object`."""
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
            _run(back, module, translate.clang, writes=[made.parent], processor_s=processor_s)

        linking = [*tools.linker, "-shared", "-o", str(made), str(built)]
        run_with_time_limit(compile_with, ir, options, reasons)
        told = _run(
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
    """A module of LLVM IR as its target's assembly. Raises CompileError."""

    def run(module: str, flags: Sequence[str], processor_s: int | None) -> str:
        back = [*tools.clang, "-S", "-x", "ir", *flags, "-o", "-", "-"]
        return _run(back, module, translate.clang, processor_s=processor_s).stdout

    return run_with_time_limit(run, ir, options, [], REDUCED_FOR_GPU)


def _front_end(  # noqa: PLR0917
    code: TranslationUnit,
    tools: Toolchain,
    options: Sequence[str],
    translate: Callable[[str], str],
    head: PrecompiledPreamble | None,
    processor_s: int | None,
) -> str:
    """The LLVM IR of a text, which is parsed whole where its head is not, or cannot be used."""
    front = [*tools.clang, "-x", "c++", *options]
    emit = ["-S", "-emit-llvm", "-o", "-", "-"]
    if head is not None:
        command = [*front, *head.flags, *emit]
        reads = [tools.headers, *head.files]
        text = code.text[code.source_start :]
        answer = run_tool(command, text, reads=reads, processor_s=processor_s)
        if not head.is_rejected_in(answer):
            return _judged(answer, translate).stdout
    command = [*front, *emit]
    answer = run_tool(command, code.text, reads=[tools.headers], processor_s=processor_s)
    return _judged(answer, translate).stdout


def check_syntax(text: str, tools: Toolchain, translate: Callable[[str], str]) -> None:
    """Raise CompileError with clang's messages if it does not accept a text."""
    command = [
        *tools.clang,
        "-fsyntax-only",
        "-x",
        "c++",
        *list_flags(checked=False, fast_math=True),
    ]
    _run([*command, *tools.include_flags, "-"], text, translate, reads=[tools.headers])


def _run(
    command: list[str],
    text: str,
    translate: Callable[[str], str],
    *,
    reads: Sequence[Path] = (),
    writes: Sequence[Path] = (),
    processor_s: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """The answer of a program that succeeds, having read and written. Raises CompileError."""
    answer = run_tool(command, text, reads=reads, writes=writes, processor_s=processor_s)
    return _judged(answer, translate)


def _judged(
    answer: subprocess.CompletedProcess[str], translate: Callable[[str], str]
) -> subprocess.CompletedProcess[str]:
    """An answer, if the program succeeded. Raises CompileError."""
    if answer.returncode == 0:
        return answer
    if has_crashed(answer):
        raise CrashedError(format_crash(answer))
    message = (
        answer.stderr.strip()
        or f"{answer.args[0]} ended with {answer.returncode} without a message"
    )
    raise CompileError(translate(message))
