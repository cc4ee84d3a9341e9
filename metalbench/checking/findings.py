"""Findings of checked builds: their kinds, tools, places, merging and suppressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalbench.errors import DeclarationError, suggestion
from metalbench.kernel.source_files import include_folders, read_candidate_text
from metalbench.verify.report import FindingPlace, place_of

TOOLS = ("mem", "race", "init", "sync", "arithmetic")
ALL = "all"
# A tool that compiles and does not run a kernel. It is not one of ALL: it reports slow code.
PERFORMANCE = "performance"
# A tool that runs a kernel with each layout of cooperative tensors. It is not one of ALL, either.
TENSOR = "tensor"


@dataclass(frozen=True, slots=True)
class CheckKind:
    """One kind of finding: `name` is its name in suppressions. Warnings are harmless on GPUs."""

    name: str
    tool: str
    what: str
    advice: str = ""
    is_warning: bool = False


_KINDS = (
    CheckKind(
        "out-of-bounds", "mem", "an access outside of a buffer or an array", "check the index first"
    ),
    CheckKind("wild-pointer", "mem", "an access to memory outside of all buffers of the kernel"),
    CheckKind("write-to-constant", "mem", "a write to what the kernel declares to be constant"),
    CheckKind(
        "write-to-input",
        "mem",
        "a write to an input",
        "declare it `device const`, or `inout` in its `// buffer:` line",
    ),
    CheckKind("misaligned", "mem", "an address that does not fit its type"),
    # Defined in Metal, but rarely intended.
    CheckKind(
        "texture-bounds",
        "mem",
        "a read or write of a texel outside of the texture",
        "ask get_width() and get_height() first",
        True,
    ),
    CheckKind("stack-overflow", "mem", "more private memory than a thread has"),
    CheckKind(
        "race",
        "race",
        "two threads access the same bytes without a barrier, and one of them writes",
    ),
    CheckKind(
        "texture-fence",
        "race",
        "a thread reads a texel that it has written, without a fence",
        "call fence() of the texture between the write and the read",
    ),
    CheckKind(
        "same-value-race",
        "race",
        "two threads write the same value to the same bytes without a barrier",
        is_warning=True,
    ),
    CheckKind(
        "uninitialised",
        "init",
        "a read of memory that was never written",
        "outputs, scratch and threadgroup memory are uninitialised at first",
    ),
    CheckKind("output-not-written", "init", "elements of an output that the kernel never writes"),
    CheckKind("barrier", "sync", "a barrier that some threads do not reach"),
    CheckKind("simdgroup", "sync", "a SIMD-group function that not all its lanes reach together"),
    CheckKind("time-limit", "sync", "a kernel that does not end in time"),
    CheckKind("division", "arithmetic", "an integer division by zero"),
    CheckKind("overflow", "arithmetic", "a signed quotient that does not fit its type"),
    CheckKind(
        "signed-overflow",
        "arithmetic",
        "a signed sum, difference or product that does not fit its type",
        "compute in an unsigned type, which wraps",
        True,
    ),
    # Both are defined in Metal, but rarely intended.
    CheckKind(
        "shift",
        "arithmetic",
        "a shift by the width of the type or more, or by a negative number",
        "",
        True,
    ),
    CheckKind("float-cast", "arithmetic", "a float that does not fit the integer type", "", True),
    CheckKind(
        "special-value",
        "arithmetic",
        "an infinity or NaN in arithmetic with fast math",
        "remove the line `// math: fast`, or start a maximum at -FLT_MAX and test the bits "
        "of a NaN",
        True,
    ),
    CheckKind("assertion", "arithmetic", "an assert() that does not hold"),
    CheckKind("trap", "arithmetic", "undefined behaviour that the compiler replaced by a trap"),
    CheckKind("fault", "mem", "a fault of unknown kind"),
    CheckKind(
        "layout-dependent",
        TENSOR,
        "a result that depends on which thread has which element of a cooperative tensor",
        "ask get_multidimensional_index for the place of an element, or load and store tensors",
    ),
)


def _lint(name: str, what: str, advice: str) -> CheckKind:
    return CheckKind(name, PERFORMANCE, what, advice, is_warning=True)


# What the static tool reports; the figures are of msl/analysis/performance.py.
_LINTS = (
    _lint(
        "thread-array",
        "a private array that stays in memory instead of registers",
        "index it by constants: give its loops constant bounds and "
        "`#pragma clang loop unroll(full)`",
    ),
    _lint(
        "registers",
        "more live values than a fully occupied core has registers for",
        "keep fewer values at once: a smaller tile per thread, or `half`",
    ),
    _lint(
        "register-spill",
        "more live values than a thread has registers for",
        "keep fewer values at once: a smaller tile per thread, or `half`",
    ),
    _lint(
        "strided-access",
        "neighbouring threads access addresses that are not neighbours",
        "let consecutive threads access consecutive elements, if needed by way of threadgroup "
        "memory",
    ),
    _lint(
        "bank-conflict",
        "threads access the same bank of threadgroup memory at once",
        "pad the rows of the array by one element",
    ),
    _lint(
        "divergent-branch",
        "both sides of a branch in a loop run one after the other",
        "compute both values and select one, or let whole SIMD-groups take one side",
    ),
    _lint(
        "integer-division",
        "an integer division by a run-time value in a loop",
        "make the divisor a constant, or carry the quotient and remainder from iteration to "
        "iteration",
    ),
    _lint(
        "precise-function",
        "a function of `precise::` in a loop",
        "use the function of `fast::` if its error is allowed",
    ),
    _lint(
        "wide-address",
        "a product of 64-bit indices in a loop",
        "compute indices and pitches in `uint`: one instruction then multiplies them to 64 bits",
    ),
    _lint(
        "threadgroup-memory",
        "threadgroup memory that leaves room for one threadgroup",
        "use at most half of it, so that another threadgroup runs during barriers",
    ),
    _lint(
        "few-threadgroups",
        "a dispatch with fewer threadgroups than a chip has cores",
        "divide the work into more threadgroups",
    ),
    _lint(
        "instruction-footprint",
        "code that does not fit into the instruction cache",
        "unroll less: `#pragma clang loop unroll_count(4)`",
    ),
)
KINDS = {each.name: each for each in (*_KINDS, *_LINTS)}


def find_kind(name: str) -> CheckKind:
    """Return the kind with a name; an unknown name gives the kind `fault`."""
    return KINDS.get(name, KINDS["fault"])


def parse_tools(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tools in `names`, such as `mem,race`; raises DeclarationError for others.

    `all` is every tool but PERFORMANCE and TENSOR.
    """
    wanted = [part.strip() for name in names for part in name.split(",")]
    for each in wanted:
        if each not in (*TOOLS, PERFORMANCE, TENSOR, ALL):
            known = (*TOOLS, PERFORMANCE, TENSOR, ALL)
            raise DeclarationError(f"unknown tool {each!r}; {suggestion(each, known)}")
    by_name = [each for each in (PERFORMANCE, TENSOR) if each in wanted]
    if not wanted or ALL in wanted:
        return (*TOOLS, *by_name)
    return (*(each for each in TOOLS if each in wanted), *by_name)


# Findings of checked runs.

_OTHER = re.compile(
    r"; the other (?:access|barrier) is at ([^,\n]*):(\d+)(?:, called at [^,\n]*)?$"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the source on the call stack of a finding; `line` and `column` count from 1."""

    function: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One defect of a kernel at one place of its source.

    `frames` is the call stack, innermost first. `count` is the number of occurrences in all sizes;
    `message` describes the first one in the grid, at `size`. `element` is the flat index in
    `buffer`, negative before its start. `allowed` is the reason of the comment that suppresses it,
    empty without one. `places` is above one if the finding represents unlisted places of its kind.
    """

    kind: str
    kernel: str
    message: str
    count: int
    frames: tuple[Frame, ...]
    size: str
    dtype: str
    element: int | None = None
    allowed: str = ""
    places: int = 1

    @property
    def kind_info(self) -> CheckKind:
        """The description of its kind."""
        return find_kind(self.kind)

    @property
    def severity(self) -> str:
        """Either error or warning."""
        return "warning" if self.kind_info.is_warning else "error"

    @property
    def frame(self) -> Frame | None:
        """The innermost frame; None if the place is unknown."""
        return self.frames[0] if self.frames else None

    @property
    def details(self) -> FindingPlace:
        """Buffer, byte and threads, as parsed from the message."""
        return place_of(self.message)

    @property
    def other_line(self) -> int | None:
        """The line of the other access of a race or of the other barrier; None if unknown."""
        found = _OTHER.search(self.message)
        same = found and self.frame and Path(found[1]).name == Path(self.frame.file).name
        return int(found[2]) if found and same else None

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of the finding: occurrences with the same key are merged."""
        return self.kind, self.kernel, self.frames, self.details.buffer


@dataclass(frozen=True)
class Findings:
    """All findings of a check in one kernel's file.

    `found` counts, errors first. `allowed` are suppressed by comments of the source, `unused` are
    messages about comments without a finding, `skipped` about checks that were impossible.
    """

    kernel: str
    sizes: tuple[str, ...]
    tools: tuple[str, ...]
    found: tuple[CheckFinding, ...] = ()
    allowed: tuple[CheckFinding, ...] = ()
    unused: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    source: str = field(default="", repr=False)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of `source`."""
        return self.source.splitlines()

    @property
    def errors(self) -> tuple[CheckFinding, ...]:
        """The findings that are not warnings."""
        return tuple(each for each in self.found if not each.kind_info.is_warning)

    @property
    def warnings(self) -> tuple[CheckFinding, ...]:
        """The findings that are harmless on GPUs."""
        return tuple(each for each in self.found if each.kind_info.is_warning)

    @property
    def passed(self) -> bool:
        """Whether there are only warnings."""
        return not self.errors

    @property
    def places_by_kind(self) -> dict[str, int]:
        """The number of places of each kind, errors first; listed or not."""
        places: dict[str, int] = {}
        for each in self.found:
            places[each.kind] = places.get(each.kind, 0) + each.places
        return places


def merge_findings(findings: list[CheckFinding]) -> list[CheckFinding]:
    """Merge equal findings and add their counts; errors first, then by line."""
    result: dict[tuple[object, ...], CheckFinding] = {}
    for each in findings:
        known = result.get(each.key)
        if known is None:
            result[each.key] = each
            continue
        # Sizes share their code, and so the unlisted places.
        longer = each if each.places > known.places else known
        result[each.key] = replace(longer, count=known.count + each.count)
    return sorted(result.values(), key=_order)


def _order(finding: CheckFinding) -> tuple[bool, str, int, int]:
    frame = finding.frame or Frame("", "", 0, 0)
    return finding.kind_info.is_warning, frame.file, frame.line, frame.column


# Suppression comments in a source: `// check: allow KIND reason`.
#
# A comment applies to its own line; on a line without code, to the next line of code.

_COMMENT = re.compile(r"//\s*check:(.*)")
_DISPATCH = re.compile(r"\s*//\s*dispatch:")
_ALLOW = re.compile(r"\s*allow\s+(\S+)\s*(.*)")
FORM = "`// check: allow KIND reason`"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment at `line` of `file`, for findings of `kind` in the line `of`."""

    kind: str
    reason: str
    file: str
    line: int
    of: int


def read_suppressions(source: str, file: str) -> list[Suppression]:
    """Return the suppressions of a source; raises DeclarationError for an invalid one."""
    found = []
    lines = source.splitlines()
    for number, text in enumerate(lines, 1):
        comment = _COMMENT.search(text)
        if comment is None:
            continue
        parts = _ALLOW.fullmatch(comment[1])
        if parts is None:
            raise DeclarationError(f"{file}:{number}: expected {FORM}, got `{comment[0].strip()}`")
        kind, reason = parts.groups()
        if kind not in KINDS:
            raise DeclarationError(
                f"{file}:{number}: unknown kind of finding {kind!r}; {suggestion(kind, KINDS)}"
            )
        if not reason.strip():
            raise DeclarationError(
                f"{file}:{number}: expected a reason why {kind} is allowed, got none; write {FORM}"
            )
        found.append(Suppression(kind, reason.strip(), file, number, _line_of(lines, number)))
    return found


def _line_of(lines: Sequence[str], number: int) -> int:
    """Return the line to which the comment at `number` applies: of code, or of a dispatch."""
    while number < len(lines) and not lines[number - 1].partition("//")[0].strip():
        number += 1
        if _DISPATCH.match(lines[number - 1]):
            break
    return number


def read_header_suppressions(
    findings: Sequence[CheckFinding], kernel: Path, folders: Iterable[Path | str]
) -> list[Suppression]:
    """Return the suppressions of the headers that findings are in.

    Only headers in the kernel's folder and in `folders` are read: the names in debug information
    are from the source, which may name any file. Raises DeclarationError for an invalid comment.
    """
    roots = [kernel.parent.resolve(), *(Path(each).resolve() for each in folders)]
    files = {frame.file for finding in findings for frame in finding.frames} - {str(kernel)}
    found = []
    for file in sorted(files):
        places = [Path(file).resolve(), *((root / file).resolve() for root in roots)]
        header = next((each for each in places if each.is_file()), None)
        if header is not None and any(header.is_relative_to(root) for root in roots):
            found += read_suppressions(read_candidate_text(header), file)
    return found


def apply_suppressions(
    findings: Sequence[CheckFinding],
    source: str,
    kernel: Path,
    tools: Sequence[str],
    include_dirs: Iterable[Path] = (),
    *,
    advice: str = "remove it",
) -> tuple[list[CheckFinding], list[CheckFinding], list[str]]:
    """Return the findings that count, the suppressed ones, and messages about unused comments.

    A suppression covers a finding in its line, and in a function that is called there. It may be in
    the kernel's file, with the text `source`, and in its headers. Unused comments in headers are
    not reported: other kernels use them. `advice` ends the messages. Raises DeclarationError for an
    invalid comment.
    """
    file = str(kernel)
    own = [each for each in read_suppressions(source, file) if find_kind(each.kind).tool in tools]
    headers = read_header_suppressions(findings, kernel, include_folders(kernel, include_dirs))
    counting, allowed = [], []
    used: set[Suppression] = set()
    for finding in findings:
        places = {(finding.kind, frame.file, frame.line) for frame in finding.frames}
        fitting = [each for each in (*own, *headers) if (each.kind, each.file, each.of) in places]
        used.update(fitting)
        if fitting:
            allowed.append(replace(finding, allowed=fitting[0].reason))
        else:
            counting.append(finding)
    idle = [
        f"{file}:{each.line}: allows {each.kind}, which was not found; {advice}"
        for each in own
        if each not in used
    ]
    return counting, allowed, idle
