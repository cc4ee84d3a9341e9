"""Stubs of libraries (.tbd) say what Apple's libraries export."""

from __future__ import annotations

from pathlib import Path

import pytest
from mac.stubs import StubError, Stubs
from metal_double.compiler import zig

FRAMEWORK = "/System/Library/Frameworks/Small.framework/Versions/A/Small"
INNER = "/usr/lib/libinner.dylib"
TEXT = f"""--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos,
                   arm64e-macos ]
install-name:    '{FRAMEWORK}'
current-version: 1.2
reexported-libraries:
  - targets:         [ x86_64-macos, arm64-macos ]
    libraries:       [ '{INNER}' ]
  - targets:         [ x86_64-macos ]
    libraries:       [ '/usr/lib/libold.dylib' ]
exports:
  - targets:         [ x86_64-macos ]
    symbols:         [ _only_on_x86_64 ]
  - targets:         [ arm64-macos, arm64-maccatalyst ]
    symbols:         [ '_open$NOCANCEL', _first,
                       _second ]
    weak-symbols:    [ __ZTISt9exception ]
    objc-classes:    [ SMThing ]
    objc-eh-types:   [ SMError ]
    objc-ivars:      [ SMThing._count ]
reexports:
  - targets:         [ arm64-macos ]
    symbols:         [ _from_elsewhere ]
undefineds:
  - targets:         [ arm64-macos ]
    symbols:         [ _needed ]
--- !tapi-tbd
tbd-version:     4
targets:         [ arm64e-macos ]
install-name:    '{INNER}'
exports:
  - targets:         [ arm64e-macos ]
    symbols:         [ _inner ]
...
"""
OWN = {
    "_open$NOCANCEL",
    "_first",
    "_second",
    "__ZTISt9exception",
    "_OBJC_CLASS_$_SMThing",
    "_OBJC_METACLASS_$_SMThing",
    "_OBJC_EHTYPE_$_SMError",
    "_OBJC_IVAR_$_SMThing._count",
    "_from_elsewhere",
}


def stubs_of(folder: Path, text: str) -> Stubs:
    path = folder / "Small.framework" / "Small.tbd"
    path.parent.mkdir()
    path.write_text(text)
    return Stubs([folder])


def test_exports_has_the_symbols_for_arm64_and_those_of_re_exported_libraries(tmp_path) -> None:
    stubs = stubs_of(tmp_path, TEXT)
    assert stubs.exports(FRAMEWORK) == OWN | {"_inner"}
    assert stubs.exports(INNER) == {"_inner"}


def test_exports_ends_where_libraries_re_export_one_another(tmp_path) -> None:
    entry = f"  - targets: [ arm64e-macos ]\n    libraries: [ '{FRAMEWORK}' ]\n"
    text = TEXT.replace("...\n", f"reexported-libraries:\n{entry}...\n")
    assert stubs_of(tmp_path, text).exports(INNER) == OWN | {"_inner"}


def test_exports_refuses_a_library_without_a_stub(tmp_path) -> None:
    stubs = stubs_of(tmp_path, TEXT.replace(f"install-name:    '{INNER}'", "install-name: /other"))
    assert stubs.exports("/other") == {"_inner"}
    for name in ("/usr/lib/libmissing.dylib", FRAMEWORK):
        with pytest.raises(StubError, match=r"libmissing|libinner"):
            stubs.exports(name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("--- !tapi-tbd\ntbd-version:     4", "--- !tapi-tbd-v3", "expected `--- !tapi-tbd`"),
        ("tbd-version:     4", "tbd-version:     5", "expected version 4"),
    ],
)
def test_stubs_of_other_versions_are_errors(old, new, message, tmp_path) -> None:
    with pytest.raises(StubError, match=message):
        stubs_of(tmp_path, TEXT.replace(old, new, 1))


def test_exports_refuses_a_kind_of_symbol_that_it_does_not_know(tmp_path) -> None:
    stubs = stubs_of(tmp_path, TEXT.replace("weak-symbols:", "new-symbols:"))
    with pytest.raises(StubError, match="got `new-symbols`"):
        stubs.exports(FRAMEWORK)


def test_exports_reads_the_stub_of_ziglang() -> None:
    exports = Stubs([zig().parent / "lib" / "libc" / "darwin"]).exports(
        "/usr/lib/libSystem.B.dylib"
    )
    assert {"_malloc", "_pthread_create", "_sin", "dyld_stub_binder", "_dlopen"} <= exports
    assert "_NSLog" not in exports
