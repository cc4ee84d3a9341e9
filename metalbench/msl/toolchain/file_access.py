"""Restrict the files that a source may include: its folder, and the given include folders.

A kernel may come from an untrusted author, and included text can appear in messages and results. So
a source can neither read other files nor find out whether they exist.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metalbench._core import CompileError
from metalbench.msl.frontend.source import Source

if TYPE_CHECKING:
    from metalbench.sandbox.landlock import Files


_SPLICE = re.compile(r"\\[ \t]*\r?\n")
# As in clang's lexer: an unmatched quote ends at the line's end, quotes separate digits, and three
# directives take the rest of their line verbatim.
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|^[ \t]*(?:\#|%:)[ \t]*(?:error|warning|pragma[ \t]+mark)\b[^\n]*"
    r"|(?<![A-Za-z0-9_])(?:u8|[uUL])?R\"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)\""
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|\.?\d(?:'?\w|\.)*|[A-Za-z_]\w*",
    re.S | re.M,
)
_EMBED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*embed\b", re.M)
_HAS_INCLUDE = re.compile(
    r"\b__has_(?:include(?:_next)?|embed)\b(?P<call>\s*\(\s*(?:\"(?P<quoted>[^\"\n]*)\"|<(?P<angled>[^>\n]*)>))?"
)
# A file name in clang's dependency list for make: `a.metal b\ c.h \`.
_NAME = re.compile(r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?!\n))+")
_ESCAPED = re.compile(r"\\([ #\\])|\$(\$)")
_MESSAGE = re.compile(r"^(?:In file included from )?([^\n:]+):\d+", re.M)
# Clang's message about a file that the sandbox did not let it open.
_CANNOT_OPEN = re.compile(r"cannot open file '([^'\n]+)'")
_FILE_NOT_FOUND = re.compile(r"^([^\n:]+):\d+:\d+: fatal error: '([^'\n]+)' file not found", re.M)


class ReadableFolders:
    """The folders whose files a source may read."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        self.folders = [Path(folder).resolve() for folder in folders]

    def __contains__(self, file: str | Path) -> bool:
        path = Path(file).resolve()
        return any(path.is_relative_to(folder) for folder in self.folders)

    def make_overlay(self, current: Path) -> bytes:
        """Return a virtual file system for clang's -ivfsoverlay that contains these folders only.

        Other files do not exist in it, regardless of how a source names them. `current` is clang's
        working folder, for which the environment variable PWD may have another name.
        """
        names = {str(folder): str(folder) for folder in self.folders}
        known = os.environ.get("PWD", "")
        if os.path.isabs(known) and os.path.realpath(known) == str(current):
            names[os.path.normpath(known)] = str(current)
        # A folder inside another one is covered by it, and clang accepts no second entry.
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
        # clang crashes on an overlay of the root folder, which contains all files anyway.
        whole = os.path.sep in outer
        tree = {
            "version": 0,
            "fallthrough": whole,
            "use-external-names": False,
            "roots": [] if whole else roots,
        }
        # Clang's YAML parser does not read surrogate pairs of \\u.
        return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogateescape")

    def check_text(self, text: str, filename: str) -> None:
        """Raise CompileError if a text asks for files without a plain file name.

        That is `#embed`, which Metal does not have, and `__has_include` of anything but a name
        within the folders: absolute names, names with `..`, and macros.
        """
        plain = _TOKEN.sub(
            lambda found: " " if found["comment"] else found[0], _SPLICE.sub("", text)
        )
        if _EMBED.search(plain):
            raise _make_refusal(filename, text, "embed", "#embed")
        for found in _HAS_INCLUDE.finditer(plain):
            name = found["quoted"] or found["angled"]
            if name is None or ".." in Path(name).parts or self._is_outside(name):
                what = "__has_include of anything but the name of a file in the given folders"
                raise _make_refusal(filename, text, found[0].split("(")[0].strip(), what)

    def check_included_files(self, listed: str, folder: Path, filename: str, text: str) -> None:
        """Raise CompileError for an included file outside of the folders, or that includes one.

        `listed` is clang's dependency list for make.
        """
        for name in _split_dependencies(listed):
            if name == "-":
                continue
            if folder / name not in self:
                raise _make_refusal(
                    filename, text, Path(name).name, f"#include of {self._shorten_path(name)}"
                )
            _check_parents(folder / name, filename)
            self.check_text((folder / name).read_text(errors="replace"), name)

    def check_messages(self, said: str, folder: Path, filename: str, text: str) -> None:
        """Raise CompileError for an #include of a file outside of the folders.

        The error replaces clang's messages, which may quote such a file. It is the same if the file
        does not exist.
        """
        for name in dict.fromkeys([*_MESSAGE.findall(said), *_CANNOT_OPEN.findall(said)]):
            if (folder / name).exists() and folder / name not in self and name != filename:
                raise _make_refusal(
                    filename, text, Path(name).name, f"#include of {self._shorten_path(name)}"
                )
        for includer, name in _FILE_NOT_FOUND.findall(said):
            path = folder / Path(includer).parent / name
            if self._is_outside(name) or path not in self:
                raise _make_refusal(
                    filename, text, Path(name).name, f"#include of {self._shorten_path(name)}"
                )
            _check_parents(path, filename)

    def _is_outside(self, name: str) -> bool:
        """Return whether a requested name is absolute, or a symbolic link out of the folders."""
        return Path(name).is_absolute() or any(
            os.path.islink(folder / name) and folder / name not in self for folder in self.folders
        )

    def _shorten_path(self, name: str) -> str:
        """Return a path relative to its folder, for messages."""
        path = Path(os.path.normpath(name))
        for folder in self.folders:
            if path.is_relative_to(folder):
                return str(path.relative_to(folder))
        return str(path)


def find_readable_folders(source: Source) -> ReadableFolders:
    """Return the folders that a source may read, independent of its #line directives."""
    return ReadableFolders([Path(source.filename).resolve().parent, *source.include_dirs])


def _split_dependencies(listed: str) -> Iterator[str]:
    """Yield the file names of a dependency list for make."""
    for name in _NAME.findall(listed.replace("\\\n", " ")):
        yield _ESCAPED.sub(lambda found: found[1] or found[2], name)


def _check_parents(path: Path, filename: str) -> None:
    """Raise CompileError for a path with `link/..`.

    The virtual file system removes both parts, so clang would read another file than the system.
    """
    if os.path.realpath(path) != os.path.realpath(os.path.normpath(path)):
        raise CompileError(
            f"{filename}: error: #include of {path}: a link to a folder, followed by .. in the "
            "same path, is not supported; include the file through the folder itself"
        )


def _make_refusal(filename: str, text: str, word: str, what: str) -> CompileError:
    """Return the error for a directive, at the first line of the source that contains `word`."""
    lines = text.split("\n")
    line = next((number for number, each in enumerate(lines, 1) if word in each), 1)
    return CompileError(
        f"{filename}:{line}: error: {what}: a kernel may include files of its folder and of the "
        "include folders (--include, include_dirs)"
    )


# List the files that a compiler needs to open, for its sandbox.

# The shell that sets limits, and shared libraries.
_PROGRAMS = ("/bin/sh", "/lib", "/lib64", "/usr/lib", "/usr/lib64")
# Facts about the processor, and /dev/null.
_FACTS = ("/etc/ld.so.cache", "/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/null")


def list_tool_files(
    program: str, reads: Sequence[str | Path] = (), writes: Sequence[str | Path] = ()
) -> Files | None:
    """Return the files that a compiler may open: its installation, `reads`, and folders `writes`.

    Return None for a script (METALBENCH_CLANG may name one), because it can start any program.
    """
    from metalbench.sandbox.landlock import Files

    real = Path(program).resolve()
    try:
        with real.open("rb") as file:
            if file.read(2) == b"#!":
                return None
    except OSError:
        return None
    return Files(
        readable=(*_FACTS, *reads),
        writable=("/dev/null", *writes),
        executable=(
            *_PROGRAMS,
            *_find_installation(real),
            *_find_installation(Path(program).absolute()),
        ),
    )


def _find_installation(program: Path) -> list[Path]:
    """Return the folder that a program is installed in: PREFIX of PREFIX/bin/clang."""
    prefix = program.parent.parent
    # For /bin/clang the prefix would be the root folder.
    belongs = program.parent.name == "bin" and prefix != Path(prefix.anchor)
    return [prefix if belongs else program.parent]
