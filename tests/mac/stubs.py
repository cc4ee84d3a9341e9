"""Read stubs of libraries: text files (.tbd) of Apple's SDK, in which linkers look for symbols.

They are YAML; this reads version 4 as Apple's `tapi` writes it, which all of the SDK's files have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_START = "--- !tapi-tbd\n"
_INSTALL_NAME = re.compile(r"^install-name:\s*'?([^'\n]+)'?$", re.M)
# A key with the text or the list behind it; a dash begins a group, whose first key is `targets`.
_ENTRY = re.compile(r"^([ -]*)([\w-]+):[ \t]*(\[[^\]]*\]|.*)$", re.M)
_NAME = re.compile(r"'([^']*)'|([^\s,\[\]']+)")
# zig's stub of libSystem names the architecture of Apple's own programs only.
_TARGETS = {"arm64-macos", "arm64e-macos"}
_SECTIONS = {"exports", "reexports"}
_PREFIXES = {
    "symbols": ("",),
    "weak-symbols": ("",),
    "thread-local-symbols": ("",),
    "objc-classes": ("_OBJC_CLASS_$_", "_OBJC_METACLASS_$_"),
    "objc-eh-types": ("_OBJC_EHTYPE_$_",),
    "objc-ivars": ("_OBJC_IVAR_$_",),
}


class StubError(Exception):
    """A library has no stub, or a stub cannot be read."""


@dataclass(frozen=True)
class Stub:
    """The symbols that one library has for arm64, and the names of libraries that it re-exports."""

    symbols: frozenset[str]
    reexported: frozenset[str]


class Stubs:
    """The stubs below some folders, by install name; the first one of a name counts."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._documents: dict[str, str] = {}
        self._stubs: dict[str, Stub] = {}
        for folder in folders:
            for path in sorted(folder.rglob("*.tbd")):
                for name, document in split_documents(path):
                    self._documents.setdefault(name, document)

    def exports(self, install_name: str) -> frozenset[str]:
        """Return the symbols of a library and of all that it re-exports.

        Raises StubError where one of them has no stub.
        """
        symbols: set[str] = set()
        names, seen = [install_name], {install_name}
        while names:
            stub = self._stub(names.pop())
            symbols |= stub.symbols
            names += sorted(stub.reexported - seen)
            seen |= stub.reexported
        return frozenset(symbols)

    def _stub(self, install_name: str) -> Stub:
        if install_name not in self._documents:
            raise StubError(f"{install_name}: expected a stub (.tbd) of this library, found none")
        if install_name not in self._stubs:
            self._stubs[install_name] = parse_stub(self._documents[install_name])
        return self._stubs[install_name]


def split_documents(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the install name and the text of each library in a file.

    Raises StubError for a file of another version.
    """
    first, *documents = path.read_text().split(_START)
    if first or not documents:
        raise StubError(f"{path}: expected `{_START.strip()}`, got {first[:40]!r}")
    for document in documents:
        name = _INSTALL_NAME.search(document)
        if not re.search(r"^tbd-version:\s*4$", document, re.M) or name is None:
            raise StubError(f"{path}: expected version 4 and an install name in each document")
        yield name[1], document


def parse_stub(document: str) -> Stub:
    """Return what a document has for arm64.

    Raises StubError for a kind of symbol that is not known.
    """
    symbols: set[str] = set()
    reexported: set[str] = set()
    section, is_for_arm64 = "", False
    for indent, key, value in _ENTRY.findall(document):
        names = [quoted or plain for quoted, plain in _NAME.findall(value)]
        if not indent:
            section = key
        elif key == "targets":
            is_for_arm64 = not _TARGETS.isdisjoint(names)
        elif is_for_arm64 and section == "reexported-libraries" and key == "libraries":
            reexported.update(names)
        elif is_for_arm64 and section in _SECTIONS:
            if key not in _PREFIXES:
                raise StubError(f"expected one of {', '.join(_PREFIXES)}, got `{key}`")
            symbols.update(prefix + name for prefix in _PREFIXES[key] for name in names)
    return Stub(frozenset(symbols), frozenset(reexported))
