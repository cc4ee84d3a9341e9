"""The C++ sources keep to what the Apple clang 15 of macOS 14 knows, which no other build tells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for path in sorted((CHECKOUT / "csrc").rglob("*"))
    if path.suffix in {".h", ".cpp", ".mm"} and "msl" not in path.relative_to(CHECKOUT).parts
]
# What its libc++ lacks, or has only as an experiment, of C++20 and later.
LIBRARY = (
    r"std::(jthread|stop_token|stop_source|stop_callback|atomic_ref|expected|move_only_function|"
    r"print|println|generator|mdspan|flat_map|flat_set|stacktrace|execution|"
    r"atomic<std::shared_ptr|osyncstream)\b"
    r"|\bstd::(views|ranges)::(zip|enumerate|chunk|slide|stride|adjacent|cartesian_product|to|"
    r"fold_left|contains|starts_with|ends_with|join_with|as_rvalue|as_const|repeat|find_last)\b"
    r"|#include <(format|print|stop_token|syncstream|expected|generator|mdspan|stacktrace)>"
)
# It has no floating-point from_chars.
FROM_CHARS = r"from_chars\([^;]*\b(float|double)\b"
# Aggregates are built in place only since clang 16 (P0960); push_back({...}) always works.
IN_PLACE = r"\.emplace_back\((?!\))"


def found(pattern: str, path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    code = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", text)
    return re.findall(pattern, code)


@pytest.mark.parametrize(
    "pattern", [LIBRARY, FROM_CHARS, IN_PLACE], ids=["library", "from_chars", "in_place"]
)
def test_sources_use_no_features_beyond_clang_15(pattern: str) -> None:
    used = {str(path.relative_to(CHECKOUT)): found(pattern, path) for path in SOURCES}
    assert not {path: each for path, each in used.items() if each}


def test_the_patterns_find_the_features(tmp_path: Path) -> None:
    path = tmp_path / "sample.cpp"
    path.write_text("uses.emplace_back(texture, where); std::jthread thread; x.emplace_back();\n")
    assert len(found(IN_PLACE, path)) == 1
    assert len(found(LIBRARY, path)) == 1
