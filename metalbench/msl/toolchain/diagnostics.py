"""Parse clang's messages and translate them: Metal's type names, no locations in MSL headers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from metalbench.msl.frontend.edits import TranslationUnit
from metalbench.msl.frontend.foreign_names import explain_unknown_name
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Location, split_source
from metalbench.msl.ir.places import OWN, is_own, map_columns
from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.msl.toolchain.file_access import find_readable_folders

REPORT = "please report it with the kernel and with what `metalbench doctor` prints"
_MESSAGE = re.compile(
    r"(?P<file>[^:\n]+):(?P<line>\d{1,10}):(?P<column>\d{1,10}): "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)"
)
_INCLUDED = re.compile(r"In file included from .*|\s+from .*:\d+[,:]|\d+ errors? generated\.")
_ARITY = re.compile(r"not viable: (requires .*)")
_CONDITION = re.compile(r"candidate disabled: (.*)")
# Files of pasted tokens, and of the text around a source.
_OWN_FILES = ("<scratch space>", OWN)

_REPLACEMENTS = [
    (
        re.compile(r"variable length array.*? \[-Werror,-Wvla(?:-[a-z-]+)?\]"),
        "variable length arrays are not supported in Metal; give the array a constant length",
    ),
    (re.compile(r"\bunsigned (char|short|int|long)\b"), r"u\1"),
    (re.compile(r"\bsigned char\b"), "char"),
    (re.compile(r"\b_Float16\b"), "half"),
    (re.compile(r"\b__bf16\b"), "bfloat"),
    # The headers encode a size as an array bound: mb_vec<float, char[4]>.
    (re.compile(r"\bmb_((?:packed_)?vec)<([\w: ]+), char\[([^]]+)\]>"), r"\1<\2, \3>"),
    (
        re.compile(r"\bmb_matrix<([\w: ]+), char\[([^]]+)\], char\[([^]]+)\]>"),
        r"matrix<\1, \2, \3>",
    ),
    (re.compile(r"\bmb_array<(.+?), char\[([^]]+)\]>"), r"array<\1, \2>"),
    (re.compile(r"\b(?:metal::)?(packed_)?vec<(\w+), ([234])>"), r"\1\2\3"),
    (re.compile(r"\b(?:metal::)?packed_vec<(\w+), ([234])>"), r"packed_\1\2"),
    (re.compile(r"\b(?:metal::)?matrix<(\w+), ([234]), ([234])>"), r"\1\2x\3"),
    (re.compile(r"\b(?:metal::)?simdgroup_matrix<(\w+), 8, 8>"), r"simdgroup_\g<1>8x8"),
    (re.compile(r"\b(?:metal::)?_atomic<(\w+)>"), r"atomic_\1"),
    (re.compile(r"\bmb_storage_"), ""),
    # Address spaces, as clang and as its linker write them.
    (re.compile(r"\b(?:const )?__global_host\b|\bSYhost\b(?: const)?"), "constant"),
    (re.compile(r"\b(?:__global_|SY)device\b"), "device"),
    (re.compile(r"\b(?:__|SY)local\b"), "threadgroup"),
    (re.compile(r"\bin generic address space\b"), "in address space 'thread'"),
    (re.compile(r"'((?:metal::)?[^']*)' \(aka '(?:metal::)?\1'\)"), r"'\1'"),
    (re.compile(r"'metal::(\w+)' \(aka '\1'\)"), r"'\1'"),
]


# Messages about vectors, which are class templates here and types of the compiler in Metal.
_VECTOR = re.compile(r"(?:packed_)?(bool|u?(?:char|short|int|long)|half|bfloat|float)([234])")
_NO_MEMBER = re.compile(rf"no member named '(\w+)' in '(?:{_VECTOR.pattern})'")
_BIT_CAST = re.compile(
    r"size of '__builtin_bit_cast' source type '(.*?)' does not match destination type '(.*?)' .*"
)


def spell_as_metal(message: str) -> str:
    """Return a message with types as Metal spells them: float4, not vec<float, 4>."""
    for pattern, text in _REPLACEMENTS:
        message = pattern.sub(text, message)
    if found := _NO_MEMBER.fullmatch(message):
        return f"illegal vector component name '{found[1]}'"
    if found := _BIT_CAST.fullmatch(message):
        given, wanted = map(_describe_operand, found.groups())
        return f"as_type cast from {given} to {wanted} of different size"
    return message


def _describe_operand(name: str) -> str:
    """Return a type as Metal's messages about `as_type` name it."""
    vector = _VECTOR.fullmatch(name)
    if vector is None:
        return f"scalar '{name}'"
    return f"vector '{name}' (vector of {vector[2]} '{vector[1]}' values)"


@dataclass(frozen=True)
class Message:
    """An error, warning or note; `lines` are the source lines that clang quotes."""

    location: Location
    kind: str
    text: str
    lines: tuple[str, ...] = ()
    notes: list[Message] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        """Whether the location is in the MSL headers or in text that the engine added."""
        own = (*_OWN_FILES, *(f"{folder}/" for folder in find_toolchain().own_folders))
        return self.location.file.startswith(own)


def _split_messages(text: str) -> Iterator[Message | str]:
    """Yield messages with their quoted lines; other lines unchanged."""
    found: Message | None = None
    for line in text.split("\n"):
        match = _MESSAGE.fullmatch(line)
        if match:
            if found is not None:
                yield found
            at = Location(match["file"], int(match["line"]), int(match["column"]))
            found = Message(at, match["kind"], match["text"])
        elif _INCLUDED.fullmatch(line):
            continue
        elif found is not None and re.match(r" *\d* \| ?", line):
            found = replace(found, lines=(*found.lines, line))
        else:
            if found is not None:
                yield found
                found = None
            yield line
    if found is not None:
        yield found


def parse_messages(text: str) -> list[Message | str]:
    """Return errors with their notes, at locations in the user's files if there are any.

    An error in the MSL headers moves to the call that led there. Notes in the headers are dropped.
    """
    found: list[Message | str] = []
    for item in _split_messages(text):
        last = found[-1] if found else None
        if isinstance(item, Message) and item.kind == "note" and isinstance(last, Message):
            last.notes.append(item)
        else:
            found.append(item)
    moved = [_move_to_caller(item) if isinstance(item, Message) else item for item in found]
    return [item for index, item in enumerate(moved) if item not in moved[:index]]


def _move_to_caller(message: Message) -> Message:
    """Return a message at the user's location, without notes in the headers."""
    notes = [note for note in message.notes if not note.is_internal]
    if message.is_internal and notes:
        caller = next((note for note in notes if "requested here" in note.text), notes[0])
        others = [note for note in notes if note is not caller]
        return replace(message, location=caller.location, lines=caller.lines, notes=others)
    if message.text.startswith("no matching function"):
        reasons = {match[1] for note in message.notes if (match := _ARITY.search(note.text))}
        conditions = {match[1] for note in message.notes if (match := _CONDITION.search(note.text))}
        if len(reasons) == 1:
            return replace(message, text=f"{message.text}: it {reasons.pop()}", notes=notes)
        if len(conditions) == 1:
            return replace(message, text=f"{message.text}; {conditions.pop()}", notes=notes)
    return replace(message, notes=notes)


# Map clang's messages to the user's columns: the compiled text has other spaces and no macros.

# Maximal length of a source line in a message.
_MAX_LINE_LENGTH = 300
# Limits of the steps that map tokens to the user's text, for one line and for a source.
STEPS_OF_A_LINE = 5_000_000
STEPS_OF_A_SOURCE = 50_000_000
_LINE_DIRECTIVE = re.compile(r'\s*#\s*(?:line\s+)?(\d+)(?:\s+"([^"]*)")?[\d\s]*')


@dataclass(frozen=True)
class _LineToken:
    text: str
    column: int


class Diagnostics:
    """Maps clang's messages about lowered text back to the user's source."""

    def __init__(self, source: Source, code: TranslationUnit) -> None:
        self.source = source
        self.code = code
        self._origins: dict[tuple[str, int], list[_LineToken | None]] = {}
        self._files: dict[str, list[str]] = {}
        self.steps = 0

    def translate(self, text: str) -> str:
        """Return the messages with the user's columns and lines, where they are known."""
        lines: list[str] = []
        listed = parse_messages(text)
        # Errors after the user's source follow from errors in it.
        blamed = any(isinstance(found, Message) and not found.is_internal for found in listed)
        for found in listed:
            if isinstance(found, str):
                lines.append(found)
                continue
            if found.is_internal and blamed:
                continue
            for message in (found, *found.notes):
                lines += self._format_message(message)
            if found.is_internal:
                lines.append(f"{self.source.filename}: this is a defect of metalbench; {REPORT}")
        return "\n".join(lines)

    def map_columns(self, ir: str) -> str:
        """Return the module with the columns of the user's lines in debug locations."""

        def find(paths: tuple[str, str], line: int, column: int) -> int:
            file = next((each for each in paths if (each, line) in self._line_starts), "")
            if not file or is_own(file):
                return column
            place = self._find_token(Location(file, line, column))
            # Column 0 is unknown: better than one of a line that the user has not written.
            return place.column if place else 0

        return map_columns(ir, find)

    def _format_message(self, message: Message) -> list[str]:
        at, text = message.location, explain_unknown_name(spell_as_metal(message.text))
        place = self._find_token(at)
        column = place.column if place else at.column
        first = f"{at.file}:{at.line}:{column}: {message.kind}: {text}"
        shown = [line[:_MAX_LINE_LENGTH] for line in message.lines]
        return [first, *(self._format_snippet(at, place) if place else shown)]

    def _find_token(self, at: Location) -> _LineToken | None:
        """Return the token of the user's line at clang's location, None if a macro hides it."""
        start = self._line_starts.get((at.file, at.line))
        tokens = self.source.tokens
        if start is None or not len(tokens):
            return None
        offset = self.code.edits.map_to_source(start - self.code.source_start + at.column - 1)
        index = max(bisect_right(tokens.start, offset) - 1, 0)
        where = tokens.locate_token(index)
        if (where.file, where.line) != (at.file, at.line):
            return None
        begins, firsts = self._first_tokens
        return self._find_line_token(at, firsts[bisect_right(begins, index) - 1], index)

    @cached_property
    def _first_tokens(self) -> tuple[list[int], list[int]]:
        """The first token of every expanded line, and the first token of its line in the source.

        Several expanded lines may belong to one source line.
        """
        tokens = self.source.tokens
        begins: list[int] = []
        firsts: list[int] = []
        index, previous = 0, None
        while index < len(tokens):
            place = tokens.locate_token(index)[:2]
            begins.append(index)
            firsts.append(firsts[-1] if place == previous else index)
            previous = place
            end = tokens.source.find("\n", tokens.start[index])
            behind = bisect_right(tokens.start, end) if end >= 0 else len(tokens)
            index = max(behind, index + 1)
        return begins, firsts

    def _find_line_token(self, at: Location, first: int, index: int) -> _LineToken | None:
        """Return the token of the user's line for token `index`; the line starts at `first`.

        A token from a macro maps to the macro's name, as in clang's messages.
        """
        if (at.file, at.line) not in self._origins:
            self._origins[at.file, at.line] = self._match_tokens(at, first)
        origins = self._origins[at.file, at.line]
        return origins[index - first] if index - first < len(origins) else None

    def _match_tokens(self, at: Location, first: int) -> list[_LineToken | None]:
        """Return, for each expanded token of a line, the token of the user's line or None."""
        begins, firsts = self._first_tokens
        behind = bisect_right(firsts, first)
        last = begins[behind] if behind < len(begins) else len(self.source.tokens)
        own, expanded = _split_line(self._read_line(at)), self.source.tokens.text[first:last]
        words = [each.text for each in own]
        if words == expanded:
            return list(own)
        steps = _estimate_steps(words, expanded)
        if steps > min(STEPS_OF_A_LINE, STEPS_OF_A_SOURCE - self.steps):
            return _match_ends(own, expanded)
        self.steps += steps
        found: list[_LineToken | None] = []
        opcodes = SequenceMatcher(None, words, expanded, autojunk=False).get_opcodes()
        gone = {at for tag, begin, end, *_ in opcodes if tag != "equal" for at in range(begin, end)}
        macro_of = _find_macro_names(own, gone)
        for tag, begin, end, start, stop in opcodes:
            if tag == "equal":
                found += [own[macro_of.get(at, at)] for at in range(begin, end)]
            else:
                # Between tokens that are the same: the first of those that were replaced.
                found += [own[begin] if begin < end else None] * (stop - start)
        return found

    def _read_line(self, at: Location) -> str:
        """Return the user's line as written."""
        return self._source_lines.get(at.file, {}).get(at.line) or self._read_included_line(at)

    def _read_included_line(self, at: Location) -> str:
        if at.file not in self._files:
            path = Path(self.source.filename).resolve().parent / at.file
            is_read = path in find_readable_folders(self.source) and path.is_file()
            text = path.read_text(errors="replace") if is_read else ""
            self._files[at.file] = text.split("\n") if is_read else []
        lines = self._files[at.file]
        return lines[at.line - 1] if 0 < at.line <= len(lines) else ""

    @cached_property
    def _source_lines(self) -> dict[str, dict[int, str]]:
        """The lines of the source, by the file and line of its #line directives."""
        written: dict[str, dict[int, str]] = {}
        file, number = self.source.filename, 1
        for line in self.source.text.split("\n"):
            directive = _LINE_DIRECTIVE.fullmatch(line)
            if directive:
                file, number = directive[2] or file, int(directive[1][:10])
            else:
                written.setdefault(file, {})[number] = line
                number += 1
        return written

    def _format_snippet(self, at: Location, found: _LineToken) -> list[str]:
        text = self._read_line(at)
        column = found.column - 1
        if len(text) > _MAX_LINE_LENGTH:
            begin = max(0, column - _MAX_LINE_LENGTH // 2)
            shown = text[begin : begin + _MAX_LINE_LENGTH]
            cut = "..." if begin else ""
            text, column = f"{cut}{shown}...", column - begin + len(cut)
        indent = re.sub(r"[^\t]", " ", text[:column])
        marked = min(len(found.text), _MAX_LINE_LENGTH) - 1
        return [f"{at.line:5} | {text}", f"      | {indent}^{'~' * marked}"]

    @cached_property
    def _line_starts(self) -> dict[tuple[str, int], int]:
        """The offset in the lowered text of every line of the user's files."""
        starts: dict[tuple[str, int], int] = {}
        file, number, offset = "", 0, self.code.source_start
        marker = re.compile(r'# (\d+) "((?:\\.|[^"\\])*)"')
        for line in self.code.text[self.code.source_start :].split("\n"):
            found = marker.match(line)
            if found:
                file, number = re.sub(r"\\(.)", r"\1", found[2]), int(found[1])
            else:
                starts.setdefault((file, number), offset)
                number += 1
            offset += len(line) + 1
        return starts


def _estimate_steps(own: Sequence[str], expanded: Sequence[str]) -> int:
    """Return the maximal number of steps to match two token lists and find macros."""
    times = Counter(expanded)
    equal = sum(times[text] for text in own)
    return equal * min(len(own), len(expanded)) + len(own) ** 2


def _match_ends(own: Sequence[_LineToken], expanded: Sequence[str]) -> list[_LineToken | None]:
    """Match the tokens at both ends of a line, as far as the lists are equal."""
    shorter = min(len(own), len(expanded))
    head = 0
    while head < shorter and own[head].text == expanded[head]:
        head += 1
    tail = 0
    while tail < shorter - head and own[-1 - tail].text == expanded[-1 - tail]:
        tail += 1
    unknown: list[_LineToken | None] = [None] * (len(expanded) - head - tail)
    return [*own[:head], *unknown, *own[len(own) - tail :]]


def _find_macro_names(own: list[_LineToken], gone: set[int]) -> dict[int, int]:
    """Return the macro's name for brackets and operators between the brackets of an invocation.

    A macro is a name that is `gone` from the expanded line. Names and numbers among its arguments
    map to themselves.
    """
    found: dict[int, int] = {}
    # The innermost invocation is the last one that begins before.
    for name in sorted(gone):
        if not own[name].text[0].isidentifier() or name + 1 == len(own):
            continue
        depth = 0
        for at in range(name + 1, len(own)):
            text = own[at].text
            depth += (text in "([{") - (text in ")]}")
            if not (text[0].isidentifier() or text[0].isdigit()):
                found[at] = name
            if depth <= 0:
                break
    return found


def _split_line(line: str) -> list[_LineToken]:
    """Return the significant tokens of one line."""
    found, column = [], 1
    for piece in split_source(line):
        if piece[0] not in " \n\t\r\f\v" and not piece.startswith(("//", "/*", "#")):
            found.append(_LineToken(piece, column))
        column += len(piece)
    return found
