"""Make text of unknown origin safe to print: one function for each output medium.

Exception messages, compiler messages, sources, file names and results from elsewhere may hold
anything: terminal escape sequences, commands of CI systems, formulas, markup. Whatever prints such
text calls the function of its medium.

=================  =============================================================
medium             function
=================  =============================================================
terminal, logs     `terminal_text`; `source_text` for text that must stay exact
files              `file_text`: control characters, whatever the format
CSV                `csv_cell`
Markdown           `markdown_text`, `markdown_cell`, `markdown_code`, `markdown_block`
GitHub commands    `github_message`, `github_property`
SARIF              `sarif_text`
XML of tests       `xml_text`
HTML, SVG          `html_text`
JSON               `json_text`
=================  =============================================================
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from typing import Any

# The end of a text that was cut.
CUT = " ..."
# C0 controls but tab and newline, DEL, C1 controls, marks, embeddings, overrides and isolates of
# bidirectional text (UAX #9), line and paragraph separators, interlinear annotations, the byte
# order mark, surrogates and invisible tags.
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_CONTROL = re.compile(f"[{_CONTROLS}]")
# GitHub's runner reads `::name ...::` at the start of a line, behind blanks of any kind, and
# `##[name ...]` anywhere: ActionCommand.TryParseV2 and TryParse of github.com/actions/runner.
_COMMAND = re.compile(r"(?m)^([^\S\n]*)::")
_OLD_COMMAND = re.compile(r"##(?=\[)")
# Text that a spreadsheet evaluates (OWASP, "CSV Injection"), also after blanks and quotes.
_FORMULA = re.compile(r"[\s'\"]*[=+\-@\t\r|\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
# Characters that begin or end markup within a line of Markdown. Words may have `_`, as names do.
_MARKUP = re.compile(r"[\\`*|~$]|(?<=\])\(|(?<!\w)_|_(?!\w)")
_ENTITY = re.compile(r"&(?=#?\w+;)")
# Starts of a Markdown block at the begin of a line: headings, quotes, lists, rules, links.
_BLOCK = re.compile(r"^(\s*)(?=[#>+=\-\[])|^(\s*\d+)(?=[.)])")
_FORBIDDEN_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def cut_line(text: str, most: int) -> str:
    """Return the first line of `text` with at most `most` characters; it is cut between words."""
    line = " ".join(text.strip().partition("\n")[0].split())
    if len(line) <= most:
        return line
    # A word that is longer than the line has no other end.
    begin = line[: most - len(CUT) + 1].rpartition(" ")[0] or line[: most - len(CUT)]
    return begin + CUT


def terminal_text(text: str) -> str:
    r"""Return `text` without anything that a terminal or the log of a CI job would obey.

    Control characters become visible escapes such as ``\x1b``; tabs and newlines stay.
    """
    return _OLD_COMMAND.sub(r"#\\#", _COMMAND.sub(r"\1\\::", file_text(text)))


def source_text(text: str) -> str:
    """Return a program's text for standard output, which may be a file that is compiled again.

    Lines of C++ may begin with ``::``, so that commands of CI systems are made harmless only where
    such a system reads them.
    """
    on_github = os.environ.get("GITHUB_ACTIONS") == "true"
    return terminal_text(text) if on_github else file_text(text)


def file_text(text: str) -> str:
    """Return `text` with visible escapes in place of control characters."""
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def shorten(text: str, most: int = 300) -> str:
    """Return text of about `most` characters at most, without its middle."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-most // 3 :]}"


def one_line(text: str) -> str:
    """Return `text` on a single line, without control characters."""
    return file_text(" ".join(re.split(r"[\r\n]+", text)))


def csv_cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula; numbers and None stay.

    Text that could be a formula gets an apostrophe, which spreadsheets read as "this is text".
    """
    if not isinstance(value, str):
        return value
    text = terminal_text(value)
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula and not text.startswith("'") else text


def markdown_cell(text: str) -> str:
    """Return inline Markdown that shows `text` and nothing else: no markup, HTML, link or mention.

    Newlines become blanks. It may stand in a table's cell or behind other text of a line.
    """
    text = _ENTITY.sub("&amp;", one_line(text)).replace("<", "&lt;")
    text = _MARKUP.sub(r"\\\g<0>", text)
    # GitHub links plain addresses, and notifies everybody who is mentioned.
    text = text.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
    return re.sub(r"@(?=\w)", "@\N{ZERO WIDTH SPACE}", terminal_text(text))


def markdown_text(text: str) -> str:
    """Return a line of Markdown that shows `text` as a paragraph, whatever it begins with."""
    return _BLOCK.sub(r"\1\2\\", markdown_cell(text))


def markdown_code(text: str) -> str:
    """Return a span of code that shows `text`, fenced with more backticks than it has in a row."""
    shown = terminal_text(one_line(text)).replace("|", "\N{BROKEN BAR}")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    blank = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{fence}{blank}{shown}{blank}{fence}" if shown else ""


def markdown_block(text: str) -> str:
    """Return a block of code that shows `text`, which cannot end it."""
    shown = terminal_text(text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"


def github_message(text: str) -> str:
    """Return the message of a GitHub workflow command."""
    text = file_text(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """Return the value of a property of a GitHub workflow command."""
    return github_message(text).replace(":", "%3A").replace(",", "%2C")


def json_text(value: object, **options: Any) -> str:
    """Return `value` as JSON of printable ASCII; options are those of `json.dumps`.

    JSON has no infinities and no NaN: they are null, unless ``allow_nan=False`` refuses them.
    """
    if options.setdefault("allow_nan", True):
        value, options["allow_nan"] = _without_infinities(value), False
    text = json.dumps(value, ensure_ascii=True, **options)
    # Both stand only within strings, where JSON may spell any character by its number.
    return text.replace("\x7f", "\\u007f").replace("##[", "#\\u0023[")


def sarif_text(text: str) -> str:
    """Return the text of a SARIF message, without embedded links (SARIF 2.1.0, 3.11.6)."""
    return file_text(text).replace("](", "\\](")


def html_text(text: str) -> str:
    """Return HTML or XML that shows `text`, also within the quotes of an attribute."""
    escaped = html.escape(_FORBIDDEN_IN_XML.sub("?", file_text(text)))
    # Commands of CI systems: the page may be printed into a log. A browser shows the same.
    return _OLD_COMMAND.sub("#&#35;", _COMMAND.sub(r"\1&#58;:", escaped))


def xml_text(text: str) -> str:
    """Return text for an XML element or attribute; what writes the XML escapes its markup."""
    return _FORBIDDEN_IN_XML.sub("?", terminal_text(text))


def _without_infinities(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _without_infinities(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(each) for each in value]
    return value


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"
