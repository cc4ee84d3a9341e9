"""C++ text to a shared object: to LLVM IR, which we edit, to an object, through the linker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building.answer import answer_of, crashed
from metalbench.msl.building.frames import Frames
from metalbench.msl.building.imports import check_imports
from metalbench.msl.building.llvm_ir import rewrite
from metalbench.msl.building.messages import REPORT
from metalbench.msl.building.precompiled import precompiled
from metalbench.msl.building.toolchain import Toolchain, flags
from metalbench.msl.rewriting.edits import Code


@dataclass(frozen=True)
class Translate:
    """How the messages of clang and of its linker become a user's; an empty one is no error.

    `ir` raises CompileError for LLVM IR that no kernel may have.
    """

    clang: Callable[[str], str] = str
    linker: Callable[[str], str] = str
    ir: Callable[[str], None] = lambda _: None


def compile_shared_object(
    code: Code,
    target: Path,
    tools: Toolchain,
    translate: Translate,
    options: Sequence[str],
    *,
    checked: bool,
) -> Frames:
    """Compile lowered text with these flags and link it; return its functions' frames.

    The object file stays beside it where the linker leaves debug information in there. Raises
    CompileError with clang's own messages as `translate.clang` places them, and with what
    `translate.linker` makes of the linker's, warnings of names that are defined nowhere.
    """
    parsing = [*options, "-Xclang", "-disable-llvm-passes"]
    if checked:
        parsing.append(f"-fsanitize-ignorelist={tools.headers / 'unchecked.txt'}")
    generated = generate(code, tools, parsing, translate)
    rewritten = rewrite(generated, checked=checked)
    return assemble(rewritten, target, tools, translate, options, checked=checked)


def generate(code: Code, tools: Toolchain, options: Sequence[str], translate: Translate) -> str:
    """The LLVM IR of lowered text. Raises CompileError."""
    ir = _front_end(code, tools, [*options, *tools.include_flags], translate.clang)
    translate.ir(ir)
    return ir


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
    target_object = target.with_suffix(".o")
    back = [*tools.clang, "-c", "-x", "ir", *options, "-fstack-usage"]
    back += ["-o", str(target_object), "-"]
    linking = [*tools.linker, "-shared", "-o", str(target), str(target_object)]
    usage = target.with_suffix(".su")
    try:
        _run(back, ir, translate.clang)
        linked = _run(linking, "", lambda said: translate.linker(said) or said)
        undefined = translate.linker(linked.stderr)
        if undefined:
            raise CompileError(undefined)
        check_imports(target, tools.target, checked=checked)
        if not tools.target.debug_in_object:
            target_object.unlink()
        return Frames(usage.read_text(), ir)
    except BaseException:
        target_object.unlink(missing_ok=True)
        raise
    finally:
        usage.unlink(missing_ok=True)


def to_assembly(
    ir: str, target: Path, tools: Toolchain, translate: Translate, options: Sequence[str]
) -> None:
    """Compile a module of LLVM IR to its target's assembly. Raises CompileError."""
    back = [*tools.clang, "-S", "-x", "ir", *options, "-o", str(target), "-"]
    _run(back, ir, translate.clang)


def _front_end(
    code: Code, tools: Toolchain, options: Sequence[str], translate: Callable[[str], str]
) -> str:
    """The LLVM IR of a text, which is parsed whole where its head is not, or cannot be used."""
    front = [*tools.clang, "-x", "c++", *options]
    emit = ["-S", "-emit-llvm", "-o", "-", "-"]
    head = precompiled(code.head, tools, options)
    if head is not None:
        answer = answer_of([*front, *head.flags, *emit], code.text[code.body :])
        if not head.refused(answer):
            return _judged(answer, translate).stdout
    return _run([*front, *emit], code.text, translate).stdout


def check_syntax(text: str, tools: Toolchain, translate: Callable[[str], str]) -> None:
    """Raise CompileError with clang's messages if it does not accept a text."""
    command = [*tools.clang, "-fsyntax-only", "-x", "c++", *flags(checked=False, fast_math=True)]
    _run([*command, *tools.include_flags, "-"], text, translate)


def _run(
    command: list[str], text: str, translate: Callable[[str], str]
) -> subprocess.CompletedProcess[str]:
    """The answer of a program that succeeds. Raises CompileError if it fails."""
    return _judged(answer_of(command, text), translate)


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
