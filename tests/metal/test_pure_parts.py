"""Parts of the Metal device that need no Metal: names of chips, includes put into the source."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from metal_double.compiler import compiler, zig

CHECKOUT = Path(__file__).resolve().parents[2]

Expand = Callable[..., str]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pure_parts") / "pure_parts"
    csrc = CHECKOUT / "csrc"
    sources = [Path(__file__).with_name("pure_parts.cpp")]
    sources += [csrc / "metal/chip.cpp", csrc / "core/includes.cpp"]
    command = [*compiler(), "-std=c++20", f"-I{csrc}", "-o", str(target), *map(str, sources)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture
def expand(program: Path, tmp_path: Path) -> Expand:
    """The source's text with includes in place; files are given by name."""

    def expand(source: str, dirs: tuple[str, ...] = (), **files: str) -> str:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_h", ".h")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        folders = [str(tmp_path / folder) for folder in dirs]
        command = [str(program), "includes", str(tmp_path / "main.metal"), *folders]
        answer = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
        return answer.stdout

    return expand


def preprocessed(text: str) -> list[tuple[str, int, str]]:
    """Return file, line and text of every line that the compiler sees, without empty ones."""
    command = [zig(), "clang", "-E", "-x", "c++", "-"]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    seen, file, number = [], "", 0
    for line in answer.stdout.splitlines():
        if line.startswith("# "):
            _, at, name = line.split(" ", 2)
            file, number = Path(name.split('"')[1]).name, int(at)
            continue
        if line.strip():
            seen.append((file, number, line.strip()))
        number += 1
    return seen


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("Apple M1", "m1"),
        ("Apple M2 Pro", "m2_pro"),
        ("Apple M4 Max", "m4_max"),
        ("Apple M3 Ultra", "m3_ultra"),
        ("Apple M10", "m10"),
        ("Apple A17 Pro GPU", ""),
        ("Apple Paravirtual device", ""),
        ("Apple M", ""),
        ("AMD Radeon Pro 5500M", ""),
    ],
)
def test_chips_are_named_by_family_and_tier(program: Path, name: str, chip: str) -> None:
    answer = subprocess.run([program, "chip", name], capture_output=True, text=True, check=True)
    assert answer.stdout == chip + "\n"


def test_expand_keeps_line_numbers(expand: Expand) -> None:
    text = expand('int a;\n#include "x.h"\nint b;\n', x_h="int x;\n\nint y;\n")
    assert preprocessed(text) == [
        ("main.metal", 1, "int a;"),
        ("x.h", 1, "int x;"),
        ("x.h", 3, "int y;"),
        ("main.metal", 3, "int b;"),
    ]


def test_expand_searches_next_to_the_file_then_in_the_folders(expand: Expand) -> None:
    source = '#include "x.h"\n#include <y.h>\n#include <metal_stdlib>\n'
    text = expand(
        source,
        dirs=("lib",),
        x_h='#include "z.h"\n',
        lib__x_h="wrong\n",
        lib__y_h="int y;\n",
        lib__z_h="int z;\n",
    )
    text = text.replace("#include <metal_stdlib>", "int stdlib;")
    assert [line for _, _, line in preprocessed(text)] == ["int z;", "int y;", "int stdlib;"]


def test_expand_follows_pragma_once_after_a_condition(expand: Expand) -> None:
    source = '#if 0\n#include "x.h"\n#else\n#include "x.h"\n#endif\n#include "x.h"\nint b;\n'
    text = expand(source, x_h="#pragma once\nint x;\n")
    assert preprocessed(text) == [
        ("x.h", 2, "int x;"),
        ("main.metal", 7, "int b;"),
    ]


def test_expand_ends_for_mutual_includes(expand: Expand) -> None:
    text = expand(
        '#include "x.h"\n',
        x_h='#ifndef X\n#define X\n#include "y.h"\nint x;\n#endif\n',
        y_h='#ifndef Y\n#define Y\n#include "x.h"\nint y;\n#endif\n',
    )
    assert preprocessed(text) == [("y.h", 4, "int y;"), ("x.h", 4, "int x;")]


def test_expand_includes_a_file_twice(expand: Expand) -> None:
    text = expand(
        '#define T int\n#include "x.h"\n#undef T\n#define T float\n#include "x.h"\n', x_h="T x;\n"
    )
    assert [line for _, _, line in preprocessed(text)] == ["int x;", "float x;"]


def test_expand_ignores_includes_in_comments_and_strings(expand: Expand) -> None:
    source = (
        '// #include "x.h"\n/*\n#include "x.h"\n*/ int a; // \\\n#include "x.h"\n'
        'int n = 1\'000; /* open\n#include "x.h"\n*/\n'
        'const char* s = "/*";\n/* c */ #include "x.h" /* goes\non */ int b;\n'
    )
    lines = preprocessed(expand(source, x_h="int x;\n"))
    assert [line for _, _, line in lines] == [
        "int a;",
        "int n = 1'000;",
        'const char* s = "/*";',
        "int x;",
        "int b;",
    ]
    assert lines[-1][:2] == ("main.metal", 11)


def test_expand_keeps_unknown_includes(expand: Expand) -> None:
    assert '#include "nowhere.h"\n' in expand('#include "nowhere.h"\n')
