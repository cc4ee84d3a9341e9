"""C++ text to a shared object: to LLVM IR, which we edit, to an object, through the linker."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import in_order
from metalbench.msl.building.answer import answer_of, crashed
from metalbench.msl.building.following import (
    as_checked,
    followed,
    following,
    placed,
    traced,
    with_births,
    with_followed_results,
)
from metalbench.msl.building.frames import Frames
from metalbench.msl.building.host_calls import threadgroup_variables
from metalbench.msl.building.imports import check_imports
from metalbench.msl.building.llvm_ir import rewrite
from metalbench.msl.building.messages import REPORT
from metalbench.msl.building.precompiled import Precompiled, precompiled
from metalbench.msl.building.selects import with_selects
from metalbench.msl.building.toolchain import Toolchain, flags
from metalbench.msl.rewriting.edits import Code


@dataclass(frozen=True)
class Translate:
    """How the messages of clang and of its linker become a user's; an empty one is no error.

    `ir` raises CompileError for LLVM IR that no kernel may have. `columns` puts the columns of the
    user's lines into a module's debug locations; `written` identifies these lines, for lowered text
    is the same whatever white space and macros a source has.
    """

    clang: Callable[[str], str] = str
    linker: Callable[[str], str] = str
    ir: Callable[[str], None] = lambda _: None
    columns: Callable[[str], str] = str
    written: str = ""


def compile_shared_object(
    code: Code,
    target: Path,
    tools: Toolchain,
    translate: Translate,
    options: Sequence[str],
    *,
    checked: bool,
    fibers: bool = False,
    follow: bool = False,
) -> Frames:
    """Compile lowered text with these flags and link it; return its functions' frames.

    The code of `fibers` is put in an order in which lanes catch up with each other. A checked build
    may `follow` values that nothing has given, from their declaration to their use. The object file
    stays beside it where the linker leaves debug information in there. Raises CompileError with
    clang's own messages as `translate.clang` places them, and with what `translate.linker` makes of
    the linker's, warnings of names that are defined nowhere.
    """
    parsing = [*options, "-Xclang", "-disable-llvm-passes"]
    if checked:
        parsing.append(f"-fsanitize-ignorelist={tools.headers / 'unchecked.txt'}")
    if follow:
        parsing = following(parsing)
    generated = generate(code, tools, parsing, translate)
    # Only findings of checked builds are told with columns.
    located = translate.columns(generated) if checked else generated
    rewritten = rewrite(located, checked=checked)
    if follow:
        births = with_births(with_followed_results(with_selects(rewritten)))
        rewritten = as_checked(optimised(births, tools, translate, followed(options)))
        options = traced(options)
    if fibers and in_order.may_part(rewritten):
        inlined = in_order.inlined(rewritten)
        optimised_ir = placed(optimised(inlined, tools, translate, options))
        rewritten = placed(in_order.in_order(optimised_ir))
        options = [*options, *in_order.FLAGS]
    return assemble(rewritten, target, tools, translate, options, checked=checked)


def generate(
    code: Code,
    tools: Toolchain,
    options: Sequence[str],
    translate: Translate,
    *,
    make_head: bool = True,
) -> str:
    """The LLVM IR of lowered text, whose head may be precompiled for it. Raises CompileError."""
    parsing = [*options, *tools.include_flags]
    head = precompiled(code.head, tools, parsing, make=make_head)
    ir = _front_end(code, tools, parsing, translate.clang, head)
    translate.ir(ir)
    return ir


def optimised(ir: str, tools: Toolchain, translate: Translate, options: Sequence[str]) -> str:
    """A module of LLVM IR after LLVM's passes, as these flags say. Raises CompileError."""
    command = [*tools.clang, "-x", "ir", *options, "-S", "-emit-llvm", "-o", "-", "-"]
    return _run(command, ir, translate.clang).stdout


def assemble(
    ir: str,
    target: Path,
    tools: Toolchain,
    translate: Translate,
    options: Sequence[str],
    *,
    checked: bool = False,
) -> Frames:
    """Compile a module of LLVM IR and link it; raises and returns as `compile_shared_object`."""
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        made, built = Path(folder) / target.name, Path(folder) / f"{target.stem}.o"
        back = [*tools.clang, "-c", "-x", "ir", *options, "-fstack-usage", "-o", str(built), "-"]
        linking = [*tools.linker, "-shared", "-o", str(made), str(built)]
        _run(back, ir, translate.clang, writes=[made.parent])
        told = _run(
            linking, "", lambda said: translate.linker(said) or said, writes=[made.parent]
        ).stderr
        undefined = translate.linker(told)
        if undefined:
            raise CompileError(undefined)
        check_imports(made, tools.target, checked=checked, variables=threadgroup_variables(ir))
        frames = Frames(made.with_suffix(".su").read_text(), ir)
        if tools.target.debug_in_object:
            built.replace(target.with_suffix(".o"))
        made.replace(target)
    return frames


def assembly_of(ir: str, tools: Toolchain, translate: Translate, options: Sequence[str]) -> str:
    """A module of LLVM IR as its target's assembly. Raises CompileError."""
    back = [*tools.clang, "-S", "-x", "ir", *options, "-o", "-", "-"]
    return _run(back, ir, translate.clang).stdout


def _front_end(
    code: Code,
    tools: Toolchain,
    options: Sequence[str],
    translate: Callable[[str], str],
    head: Precompiled | None,
) -> str:
    """The LLVM IR of a text, which is parsed whole where its head is not, or cannot be used."""
    front = [*tools.clang, "-x", "c++", *options]
    emit = ["-S", "-emit-llvm", "-o", "-", "-"]
    if head is not None:
        command = [*front, *head.flags, *emit]
        reads = [tools.headers, *head.files]
        answer = answer_of(command, code.text[code.body :], reads=reads)
        if not head.refused(answer):
            return _judged(answer, translate).stdout
    return _run([*front, *emit], code.text, translate, reads=[tools.headers]).stdout


def check_syntax(text: str, tools: Toolchain, translate: Callable[[str], str]) -> None:
    """Raise CompileError with clang's messages if it does not accept a text."""
    command = [*tools.clang, "-fsyntax-only", "-x", "c++", *flags(checked=False, fast_math=True)]
    _run([*command, *tools.include_flags, "-"], text, translate, reads=[tools.headers])


def _run(
    command: list[str],
    text: str,
    translate: Callable[[str], str],
    *,
    reads: Sequence[Path] = (),
    writes: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """The answer of a program that succeeds, having read and written. Raises CompileError."""
    return _judged(answer_of(command, text, reads=reads, writes=writes), translate)


def _judged(
    answer: subprocess.CompletedProcess[str], translate: Callable[[str], str]
) -> subprocess.CompletedProcess[str]:
    """An answer, if the program succeeded. Raises CompileError."""
    if answer.returncode == 0:
        return answer
    message = (
        answer.stderr.strip()
        or f"{answer.args[0]} ended with {answer.returncode} without a message"
    )
    if crashed(answer):
        raise CompileError(
            f"clang itself crashed on this kernel (exit status {answer.returncode}), which is no "
            f"fault of the kernel's; {REPORT}:\n{message}"
        )
    raise CompileError(translate(message))
