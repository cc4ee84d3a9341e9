"""C++ text to a shared object: to LLVM IR, which we edit, to an object, through the linker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building.frames import Frame, largest_frame
from metalbench.msl.building.llvm_ir import rewrite
from metalbench.msl.building.messages import REPORT
from metalbench.msl.building.toolchain import Toolchain, flags

TIME_LIMIT_S = 300


def compile_shared_object(
    text: str,
    target: Path,
    tools: Toolchain,
    translate: Callable[[str], str],
    *,
    checked: bool,
    fast_math: bool,
) -> Frame:
    """Compile lowered text and link it to `target`; return the largest frame of its functions.

    The object file stays beside it where the linker leaves debug information in there. Raises
    CompileError with clang's own messages as `translate` places them.
    """
    target_object = target.with_suffix(".o")
    options = flags(checked=checked, fast_math=fast_math, goal=tools.target)
    front = [*tools.clang, "-x", "c++", *options, *tools.include_flags]
    if checked:
        front.append(f"-fsanitize-ignorelist={tools.headers / 'unchecked.txt'}")
    front += ["-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-o", "-", "-"]
    back = [*tools.clang, "-c", "-x", "ir", *options, "-fstack-usage"]
    back += ["-o", str(target_object), "-"]
    usage = target.with_suffix(".su")
    try:
        _run(back, rewrite(_run(front, text, translate), checked=checked), translate)
        _run([*tools.linker, "-shared", "-o", str(target), str(target_object)], "", str)
        if not tools.target.debug_in_object:
            target_object.unlink()
        return largest_frame(usage.read_text())
    except BaseException:
        target_object.unlink(missing_ok=True)
        raise
    finally:
        usage.unlink(missing_ok=True)


def check_syntax(text: str, tools: Toolchain, translate: Callable[[str], str]) -> None:
    """Raise CompileError with clang's messages if it does not accept a text."""
    command = [*tools.clang, "-fsyntax-only", "-x", "c++", *flags(checked=False, fast_math=True)]
    _run([*command, *tools.include_flags, "-"], text, translate)


def _run(command: list[str], text: str, translate: Callable[[str], str]) -> str:
    try:
        answer = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise CompileError(
            f"{Path(command[0]).name}: no result after {TIME_LIMIT_S} s; simplify the kernel"
        ) from None
    if answer.returncode == 0:
        return answer.stdout
    crashed = (
        answer.returncode < 0
        or answer.returncode >= 128
        or "PLEASE submit a bug report" in answer.stderr
    )
    message = (
        answer.stderr.strip() or f"{command[0]} ended with {answer.returncode} without a message"
    )
    if crashed:
        raise CompileError(
            f"clang itself crashed on this kernel (exit status {answer.returncode}), which is no "
            f"fault of the kernel's; {REPORT}:\n{message}"
        )
    raise CompileError(translate(message))
