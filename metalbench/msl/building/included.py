"""Which files a source may read: those beside it, and those in the folders that it is given.

A kernel may be written by anybody. What it includes, or embeds, comes back in messages, results and
numbers; so that a file elsewhere is none of its business, nor whether there is one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.reading.program import Source

_SPLICE = re.compile(r"\\[ \t]*\r?\n")
# As clang's lexer: a quote without its other half ends with the line, quotes separate digits, and
# three directives take the rest of their line as it is.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|^[ \t]*(?:\#|%:)[ \t]*(?:error|warning|pragma[ \t]+mark)\b[^\n]*"
    r"|(?<![A-Za-z0-9_])(?:u8|[uUL])?R\"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)\""
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|\.?\d(?:'?\w|\.)*|[A-Za-z_]\w*",
    re.S | re.M,
)
_EMBED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*embed\b", re.M)
_ASKED = re.compile(
    r"\b__has_(?:include(?:_next)?|embed)\b(?P<call>\s*\(\s*(?:\"(?P<quoted>[^\"\n]*)\"|<(?P<angled>[^>\n]*)>))?"
)
# Of a list of make, as clang writes it: `a.metal b\ c.h \`.
_NAME = re.compile(r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?!\n))+")
_ESCAPED = re.compile(r"\\([ #\\])|\$(\$)")
_MESSAGE = re.compile(r"^(?:In file included from )?([^\n:]+):\d+", re.M)
# What clang says of a file that the system has not let it open.
_UNOPENED = re.compile(r"cannot open file '([^'\n]+)'")
_MISSING = re.compile(r"^([^\n:]+):\d+:\d+: fatal error: '([^'\n]+)' file not found", re.M)


class ReadableFolders:
    """The folders whose files a source may read."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        self.folders = [Path(folder).resolve() for folder in folders]

    def __contains__(self, file: str | Path) -> bool:
        path = Path(file).resolve()
        return any(path.is_relative_to(folder) for folder in self.folders)

    def make_overlay(self, current: Path) -> bytes:
        """Return a virtual file system for clang's -ivfsoverlay that has these folders alone.

        In it no other file exists, in whatever way a source asks for one. `current` is the folder
        that clang starts in, which it may know by another name (PWD).
        """
        names = {str(folder): str(folder) for folder in self.folders}
        known = os.environ.get("PWD", "")
        if os.path.isabs(known) and os.path.realpath(known) == str(current):
            names[os.path.normpath(known)] = str(current)
        # A folder of another one is in that already, and clang takes no second entry.
        outer = [
            name
            for name in names
            if not any(
                Path(name) != Path(other) and Path(name).is_relative_to(other) for other in names
            )
        ]
        roots = [
            {"type": "directory-remap", "name": name, "external-contents": names[name]}
            for name in outer
        ]
        # clang crashes on an overlay of the root folder, which has every file anyway.
        whole = os.path.sep in outer
        tree = {
            "version": 0,
            "fallthrough": whole,
            "use-external-names": False,
            "roots": [] if whole else roots,
        }
        # Of YAML, clang reads no pairs of \\u.
        return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogateescape")

    def check_text(self, text: str, filename: str) -> None:
        """Raise CompileError if a text asks for files in ways that show no name of one.

        That is `#embed`, which Metal has not, and `__has_include` of anything but a name within the
        folders: absolute, with `..`, or computed.
        """
        plain = _TOKEN.sub(
            lambda found: " " if found["comment"] else found[0], _SPLICE.sub("", text)
        )
        if _EMBED.search(plain):
            raise _refusal(filename, text, "embed", "#embed")
        for found in _ASKED.finditer(plain):
            name = found["quoted"] or found["angled"]
            if name is None or ".." in Path(name).parts or self._leaves(name):
                what = "__has_include of anything but the name of a file in the given folders"
                raise _refusal(filename, text, found[0].split("(")[0].strip(), what)

    def check_included_files(self, listed: str, folder: Path, filename: str, text: str) -> None:
        """Raise CompileError for a file that must not be read, or asks for such.

        `listed` is clang's list of files, as it writes it for make.
        """
        for name in _names(listed):
            if name == "-":
                continue
            if folder / name not in self:
                raise _refusal(filename, text, Path(name).name, f"#include of {self._shown(name)}")
            _check_parents(folder / name, filename)
            self.check_text((folder / name).read_text(errors="replace"), name)

    def check_messages(self, said: str, folder: Path, filename: str, text: str) -> None:
        """Raise CompileError for an #include of a file that must not be read.

        It takes the place of messages with lines of such a file. Whether there is one makes no
        difference.
        """
        for name in dict.fromkeys([*_MESSAGE.findall(said), *_UNOPENED.findall(said)]):
            if (folder / name).exists() and folder / name not in self and name != filename:
                raise _refusal(filename, text, Path(name).name, f"#include of {self._shown(name)}")
        for includer, name in _MISSING.findall(said):
            path = folder / Path(includer).parent / name
            if self._leaves(name) or path not in self:
                raise _refusal(filename, text, Path(name).name, f"#include of {self._shown(name)}")
            _check_parents(path, filename)

    def _leaves(self, name: str) -> bool:
        """Whether a name that a source asks for is absolute, or a link out of the folders."""
        return Path(name).is_absolute() or any(
            os.path.islink(folder / name) and folder / name not in self for folder in self.folders
        )

    def _shown(self, name: str) -> str:
        """A name as the source may have it: one in a folder without that."""
        path = Path(os.path.normpath(name))
        for folder in self.folders:
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return str(path)


def find_readable_folders(source: Source) -> ReadableFolders:
    """Return the folders whose files a source may read, whatever its #line directives name."""
    return ReadableFolders([Path(source.filename).resolve().parent, *source.include_dirs])


def _names(listed: str) -> Iterator[str]:
    """The files of a list as make has them."""
    for name in _NAME.findall(listed.replace("\\\n", " ")):
        yield _ESCAPED.sub(lambda found: found[1] or found[2], name)


def _check_parents(path: Path, filename: str) -> None:
    """Raise CompileError for a path with `link/..`.

    The virtual file system drops both parts, so clang would read another file than the system.
    """
    if os.path.realpath(path) != os.path.realpath(os.path.normpath(path)):
        raise CompileError(
            f"{filename}: error: #include of {path}: a link to a folder, followed by .. in the "
            "same path, is not supported; include the file through the folder itself"
        )


def _refusal(filename: str, text: str, word: str, what: str) -> CompileError:
    """The error for a directive, at the first line of the source that has `word`."""
    lines = text.split("\n")
    line = next((number for number, each in enumerate(lines, 1) if word in each), 1)
    return CompileError(
        f"{filename}:{line}: error: {what}: a kernel may read what lies beside it, and in the "
        "folders given for includes (--include, include_dirs)"
    )
