"""Classify the outcome of generations: a generation is correct, or fails in one of these ways."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench.errors import CompileError, DeclarationError, MetalBenchError
from metalbench.finding_kinds import Kind
from metalbench.kernel.header import Kernel, parse
from metalbench.kernel.source_files import find_file_access
from metalbench.kernelbench.candidates import source as python_source
from metalbench.msl.frontend.unsupported import REFUSAL_SUFFIX
from metalbench.safe_text import cut_line

if TYPE_CHECKING:
    from metalbench.store.result import Failure


class GenerationOutcome(str, Enum):
    """The class of a generation, in the order in which a generation can get so far."""

    MISSING = "missing"
    NOT_EVALUATED = "not evaluated"
    REFUSED = "refused"
    CUT_OFF = "cut off"
    EMPTY = "empty"
    NO_TEXT = "no text"
    PROSE = "prose"
    SEVERAL_BLOCKS = "several code blocks"
    PYTHON = "Python, not Metal"
    NO_HEADER = "no or wrong header"
    FORBIDDEN = "forbidden"
    DOES_NOT_COMPILE = "does not compile"
    DOES_NOT_BIND = "does not bind"
    WRONG = "wrong result"
    FAULT = "race or bounds"
    CRASH = "crash"
    TIME_LIMIT = "time limit"
    OUT_OF_MEMORY = "out of memory"
    CHEAT = "cheat"
    NOT_OWN = "not by its own kernels"
    CORRECT = "correct"

    def __str__(self) -> str:
        return self.value

    @property
    def has_compiled(self) -> bool:
        """Whether the generation got past the compiler and its arguments were bound."""
        return _ORDER[self] > _ORDER[GenerationOutcome.DOES_NOT_BIND]


_ORDER = {each: place for place, each in enumerate(GenerationOutcome)}

_OF_KIND: Mapping[Kind, GenerationOutcome] = {
    Kind.WRONG_RESULT: GenerationOutcome.WRONG,
    Kind.NOT_WRITTEN: GenerationOutcome.WRONG,
    Kind.NONDETERMINISTIC: GenerationOutcome.WRONG,
    Kind.OUT_OF_BOUNDS: GenerationOutcome.FAULT,
    Kind.RACE: GenerationOutcome.FAULT,
    Kind.UNINITIALISED: GenerationOutcome.FAULT,
    Kind.GUARD_ZONE: GenerationOutcome.FAULT,
    Kind.INPUT_CHANGED: GenerationOutcome.FAULT,
    Kind.FAULT: GenerationOutcome.FAULT,
    Kind.CRASH: GenerationOutcome.CRASH,
    Kind.DISTURBED: GenerationOutcome.CRASH,
    Kind.TIME_LIMIT: GenerationOutcome.TIME_LIMIT,
    Kind.OUT_OF_MEMORY: GenerationOutcome.OUT_OF_MEMORY,
    Kind.STALE_RESULT: GenerationOutcome.CHEAT,
    Kind.LESS_WORK: GenerationOutcome.CHEAT,
    Kind.FORGED_TIMES: GenerationOutcome.CHEAT,
    Kind.IMPLAUSIBLE: GenerationOutcome.CHEAT,
    Kind.NOT_OWN_WORK: GenerationOutcome.NOT_OWN,
    Kind.COMPILE_ERROR: GenerationOutcome.DOES_NOT_COMPILE,
    Kind.DISPATCH_ERROR: GenerationOutcome.DOES_NOT_BIND,
    Kind.UNSUPPORTED: GenerationOutcome.DOES_NOT_COMPILE,
}
# Errors without a separate kind, by the name of their class.
_OF_ERROR = {
    "CompileError": GenerationOutcome.DOES_NOT_COMPILE,
    "Unsupported": GenerationOutcome.DOES_NOT_COMPILE,
    "DeclarationError": GenerationOutcome.DOES_NOT_BIND,
    "DispatchError": GenerationOutcome.DOES_NOT_BIND,
    "TimeLimitExceeded": GenerationOutcome.TIME_LIMIT,
    "OutOfMemoryError": GenerationOutcome.OUT_OF_MEMORY,
    "KernelFault": GenerationOutcome.FAULT,
}


def classify_failure(failure: Failure) -> GenerationOutcome:
    """Return the outcome that corresponds to a failure of a trial."""
    if REFUSAL_SUFFIX in failure.message:
        return GenerationOutcome.FORBIDDEN
    try:
        return _OF_KIND[Kind(failure.kind)]
    except ValueError:
        return _OF_ERROR.get(failure.kind, GenerationOutcome.CRASH)


# From a model's words to the text of a kernel, or to what is wrong with them.

MOST_BYTES = 1_000_000
# Stop reasons of answers that are incomplete or refused.
ENDINGS = {
    "refused": (GenerationOutcome.REFUSED, "the model refused to answer"),
    "cut": (
        GenerationOutcome.CUT_OFF,
        "the answer was cut off at the most tokens that it may have",
    ),
}
NOWHERE = Path("/nonexistent")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*$", re.M)
_PYTHON = re.compile(r"^(?:import|from) +(?:mlx|torch|numpy|os|sys|metalbench)\b", re.M)
_LIKE_PYTHON = re.compile(r"^[ \t]*(?:def|class|import|from|return|if|for|@)\b|=", re.M)
_CODE = re.compile(r"[{};]|#[ \t]*include")


class UnusableSample(Exception):  # noqa: N818 - a class of generations, no fault of ours
    """A text that cannot be tried: `outcome` is its class."""

    def __init__(self, outcome: GenerationOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def find_code_blocks(text: str) -> list[str]:
    """The code blocks between the fences of a text; one that does not end goes to the end."""
    fences = list(_FENCE.finditer(text))
    blocks, begin = [], None
    for fence in fences:
        if begin is None:
            begin = fence
        elif fence[0].strip().startswith(begin[1]) and fence[0].strip().strip("`~") == "":
            blocks.append(text[begin.end() + 1 : fence.start()])
            begin = None
    if begin is not None:
        blocks.append(text[begin.end() + 1 :])
    return blocks


def extract_code(text: str) -> str:
    """The text's only code block; without one, or with several, the text as it is."""
    blocks = find_code_blocks(text)
    return blocks[0] if len(blocks) == 1 else text


def decode_text(data: bytes) -> str:
    """The text that a file holds; raises Unusable for what is none."""
    if len(data) > MOST_BYTES:
        raise UnusableSample(
            GenerationOutcome.NO_TEXT,
            f"expected at most {MOST_BYTES} bytes of text, got {len(data)}",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnusableSample(GenerationOutcome.NO_TEXT, f"expected UTF-8: {error}") from None
    if "\0" in text:
        raise UnusableSample(GenerationOutcome.NO_TEXT, "expected text, got a NUL character")
    return text


def parse_sample(text: str, name: str, file: str, ending: str = "") -> Kernel:
    """The kernel that a generation is, for the task `name`; raises Unusable with what it is else.

    `file` is what messages call it: of `.metal` it is Metal, and includes headers of Metal and of
    the library only; of `.py` it is a Python candidate.
    """
    source = _extract_source(text, ending)
    if file.endswith(".py"):
        return _parse_python(source, name, file)
    if _is_python(source):
        raise UnusableSample(
            GenerationOutcome.PYTHON, f"expected Metal, got Python: {_first_line(source)}"
        )
    if not _CODE.search(source):
        raise UnusableSample(
            GenerationOutcome.PROSE, f"expected a kernel, got prose: {_first_line(source)}"
        )
    fault = find_file_access(source)
    if fault:
        raise UnusableSample(GenerationOutcome.FORBIDDEN, fault)
    try:
        return parse(source, name=name, path=_make_isolated_path(file))
    except MetalBenchError as error:
        raise UnusableSample(GenerationOutcome.NO_HEADER, str(error)) from None


def _extract_source(text: str, ending: str) -> str:
    """The only code of a generation."""
    if ending in ENDINGS:
        raise UnusableSample(*ENDINGS[ending])
    if not text.strip():
        raise UnusableSample(GenerationOutcome.EMPTY, "expected a kernel, got nothing")
    blocks = find_code_blocks(text)
    if len(blocks) > 1:
        raise UnusableSample(
            GenerationOutcome.SEVERAL_BLOCKS,
            f"expected one kernel in one code block, got {len(blocks)}",
        )
    source = extract_code(text)
    if not source.strip():
        raise UnusableSample(GenerationOutcome.EMPTY, "expected a kernel, got an empty code block")
    return source


def _parse_python(source: str, name: str, file: str) -> Kernel:
    try:
        return python_source.parse(source, name=name, path=_make_isolated_path(file))
    except python_source.ForbiddenError as error:
        raise UnusableSample(GenerationOutcome.FORBIDDEN, str(error)) from None
    except CompileError as error:
        if _LIKE_PYTHON.search(source):
            raise UnusableSample(GenerationOutcome.DOES_NOT_COMPILE, str(error)) from None
        message = f"expected Python, got prose: {_first_line(source)}"
        raise UnusableSample(GenerationOutcome.PROSE, message) from None
    except DeclarationError as error:
        raise UnusableSample(GenerationOutcome.DOES_NOT_BIND, str(error)) from None


def _is_python(source: str) -> bool:
    if _PYTHON.search(source):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    return any(isinstance(each, kinds) for each in tree.body)


def _first_line(text: str) -> str:
    return repr(cut_line(text, 80))


def _make_isolated_path(file: str) -> Path:
    """Return a path in an empty folder, so that a generation cannot include another one."""
    return NOWHERE / file
