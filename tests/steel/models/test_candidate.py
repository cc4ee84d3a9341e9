"""Candidates that are refused before compilation, and file access in them."""

from __future__ import annotations

import pytest

from agent_steel.source import check_source
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import find_file_access, find_included_headers

SOURCE = """\
// dispatch: f  threads_in_grid=(n)  threads=(64)
// dtypes: float32, float16
#include <metal_stdlib>
#include "metalbench/quads.h"
[[kernel]] void f(device float* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }
"""


def test_every_kernel_of_the_library_may_be_tried():
    for entry in Library():
        kernel = entry.kernel()
        assert check_source(kernel.source, kernel) == "", entry.name


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        '#include "../../secret.h"',
        '#include "metalbench/../../secret.h"',
        '#include "metalbench/none.h"',
        "#  include  <cstdio>",
        '#import "x.h"',
        '#include_next "x.h"',
        '#in\\\nclude "/etc/passwd"',
        '#in\\  \nclude "/etc/passwd"',
        '/* */ #include "/etc/passwd"',
        '#/* */include "/etc/passwd"',
        '%:include "/etc/passwd"',
        '??=include "/etc/passwd"',
        "#define X </etc/passwd>\n#include X",
        # Comments and quotes that one may see where a compiler sees none.
        'constant char a[] = "/*";\n#include "/etc/passwd"\nconstant char b[] = "*/";',
        'constant char a[] = "/*";\n#/**/include "/etc/passwd"',
        "constant char a = '\"';\n#include \"/etc/passwd\"\nconstant char b = '\"';",
        'int a = 1\'2; constant char c[] = "\'/*";\n#include "/etc/passwd"\n/**/',
        '#error \' /*\n#include "/etc/passwd"\n/**/',
        'constant char a[] = R"x(" /* )x";\n#include "/etc/passwd"\n/**/',
        '// a comment ??/\n#include "/etc/passwd"',
        '// a comment\r#include "/etc/passwd"',
        '/* over\n lines */ #include "/etc/passwd"',
        '#/*\n*/ /**/include "/etc/passwd"',
        '#include/**/"/etc/passwd"',
        '\u00a0#include "/etc/passwd"',
        '#define JOIN(a, b) a##b\nJOIN(as, m)(".incbin");',
        'import "x.h";',
        "@import x;",
        '#embed "/etc/passwd"',
        'const char x[] = { __has_include("/etc/passwd") };',
        'asm(".incbin \\"/etc/passwd\\"");',
        '__asm__(".incbin \\"/etc/passwd\\"");',
    ],
)
def test_no_other_file_is_read(line):
    assert "allowed" in (fault := find_file_access(SOURCE + line)) or "expected" in fault


@pytest.mark.parametrize(
    "line", ["// includes <x>", "// # included", "#include <metal_simdgroup>", "#define asm_like 1"]
)
def test_find_file_access_accepts_source_without_file_access(line):
    assert find_file_access(SOURCE + line) == ""


def test_check_source_accepts_includes_of_the_parent():
    parent = parse(SOURCE.replace("metalbench/quads.h", "mine.h"), name="f")
    assert check_source(parent.source, parent) == ""
    assert '"yours.h"' in check_source(parent.source.replace("mine.h", "yours.h"), parent)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("// dispatch: f ", "// dispatch: g ", "no function of that name"),
        ("float32, float16", "float32", "must keep float16"),
        ("threads=(64)", "threads=(64", "f.metal:1"),
        ("[[kernel]] ", "", "no `[[kernel]]` function"),
        ("#include <metal_stdlib>", "```", "1 times ```"),
    ],
)
def test_check_source_refuses_other_kernels(old, new, fault):
    assert fault in check_source(SOURCE.replace(old, new), parse(SOURCE, name="f"))


def test_find_included_headers_follows_includes():
    names = [path.name for path in find_included_headers('#include "metalbench/softmax.h"')]
    assert names[0] == "softmax.h"
    assert "quads.h" in names
    assert len(names) == len(set(names))
