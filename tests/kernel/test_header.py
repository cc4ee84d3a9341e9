from __future__ import annotations

import os

import pytest

from metalbench.errors import CompileError, DeclarationError
from metalbench.kernel.header import parse, read

MSE = """\
// Mean squared error in two passes.
// dispatch: partial_sums  threadgroups=(rows)  threads=(TG)
// dispatch: total  threads_in_grid=(32)  threads=(32)  threadgroup_bytes=(shared: 4 * TG)
// scratch: partial float32 (rows, 32)
// tune: TG = 128, 256, 512
// dtypes: float32, float16

#include <metal_stdlib>
kernel void partial_sums() {}
"""


def test_a_header_is_read():
    kernel = parse(MSE, name="mse_loss")
    first, second = kernel.dispatches
    assert (first.function, second.function) == ("partial_sums", "total")
    assert [str(each) for each in first.threadgroups] == ["rows"]
    assert first.threads_in_grid is None
    assert [str(each) for each in second.threads_in_grid] == ["32"]
    assert second.threadgroup_bytes["shared"].evaluate({"TG": 128}) == 512
    assert (kernel.scratches[0].name, kernel.scratches[0].dtype) == ("partial", "float32")
    assert kernel.tunables == {"TG": (128, 256, 512)}
    assert kernel.dtypes == ("float32", "float16")
    assert kernel.description == "Mean squared error in two passes."


def test_the_first_value_of_a_tunable_is_its_default():
    kernel = parse(MSE, name="mse_loss")
    assert kernel.resolve_tunables() == {"TG": 128}
    assert kernel.resolve_tunables({"TG": 64}) == {"TG": 64}
    with pytest.raises(DeclarationError, match=r"unknown tunable 'TGS'; did you mean 'TG'?"):
        kernel.resolve_tunables({"TGS": 1})
    with pytest.raises(DeclarationError, match=r"unknown tunable 'tg'; did you mean 'TG'?"):
        kernel.resolve_tunables({"tg": 1})


def test_a_kernel_without_a_dtypes_line_is_for_float32():
    assert parse("// dispatch: f threadgroups=(1) threads=(1)", name="f").dtypes == ("float32",)


@pytest.mark.parametrize(("line", "mode"), [("", "safe"), ("fast", "fast"), ("safe", "safe")])
def test_math_is_safe_unless_a_kernel_says_otherwise(line, mode):
    header = f"// dispatch: f {GRID}\n" + (f"// math: {line}\n" if line else "")
    assert parse(header, name="f").math == mode


def test_the_hash_follows_the_source():
    other = parse(MSE + "\n", name="mse_loss")
    assert len(other.hash) == 64
    assert other.hash != parse(MSE, name="mse_loss").hash


HEAD_OF_TEXT = "// dispatch: twice threads_in_grid=(n) threads=(32)\n"


def text_of(path, include):
    path.write_text(f"{HEAD_OF_TEXT}#if 0\n{include}\n#endif\nkernel void twice() {{}}\n")
    return read(path).text


@pytest.mark.parametrize("name", ["{outside}", "../secret.h", "sub/../../secret.h", "link.h"])
def test_text_has_no_file_outside_of_the_folders(tmp_path, name):
    """Also where the compiler skips the #include."""
    folder = tmp_path / "kernels"
    (folder / "sub").mkdir(parents=True)
    secret = tmp_path / "secret.h"
    secret.write_text("hidden words\n")
    (folder / "link.h").symlink_to(secret)
    include = f'#include "{name.format(outside=secret)}"'
    text = text_of(folder / "twice.metal", include)
    assert include in text
    assert "hidden" not in text


def test_text_has_files_of_the_folders_by_way_of_links_and_parents(tmp_path):
    folder = tmp_path / "kernels"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.h").write_text("int a;\n")
    (folder / "link.h").symlink_to("a.h")
    (folder / "sub/up.h").write_text('#include "../link.h"\n')
    assert "int a;" in text_of(folder / "twice.metal", '#include "sub/up.h"')


@pytest.mark.parametrize("name", ["/proc/self/pagemap", "/proc/self/mem", "/dev/zero", "pipe"])
def test_text_has_plain_files_only(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    assert f'#include "{name}"' in text_of(tmp_path / "twice.metal", f'#include "{name}"')


def test_text_of_a_header_that_is_not_utf8_has_replacement_characters(tmp_path):
    (tmp_path / "latin.h").write_bytes(b"// caf\xe9\n")
    assert "caf\ufffd" in text_of(tmp_path / "twice.metal", '#include "latin.h"')


def test_text_of_nested_headers_with_pragma_once_is_linear(tmp_path):
    """Each includes the next twice: 2^30 copies without a limit."""
    for i in range(30):
        include = f'#include "h{i + 1}.h"\n'
        (tmp_path / f"h{i}.h").write_text("#pragma once\n" + 2 * include + f"int n{i};\n")
    (tmp_path / "h30.h").write_text("#pragma once\nint n30;\n")
    text = text_of(tmp_path / "twice.metal", '#include "h0.h"')
    assert [text.count(f"int n{i};") for i in (0, 15, 30)] == [1, 1, 1]


def test_text_has_a_header_again_where_the_first_copy_may_be_skipped(tmp_path):
    (tmp_path / "a.h").write_text("#pragma once\nint a;\n")
    text = text_of(tmp_path / "twice.metal", '#include "a.h"\n#else\n#include "a.h"')
    assert text.count("int a;") == 2


def bomb_of_inclusions(folder):
    (folder / "a.h").write_text("int a;\n")
    return '#include "a.h"\n' * 20_000, "4096 inclusions"


def bomb_of_text(folder):
    (folder / "a.h").write_text("// words\n" * 100_000)
    return '#include "a.h"\n' * 100, "16 MiB of source"


def bomb_of_doubles(folder):
    for i in range(40):
        (folder / f"h{i}.h").write_text(f'#include "h{i + 1}.h"\n' * 2)
    (folder / "h40.h").write_text("int a;\n")
    return '#include "h0.h"', "4096 inclusions"


def bomb_of_depth(folder):
    for i in range(1000):
        (folder / f"h{i}.h").write_text(f'#include "h{i + 1}.h"\n')
    return '#include "h0.h"', "200 inclusions within each other"


def large_file(folder):
    with (folder / "a.h").open("wb") as file:
        file.truncate(9 << 20)
    return '#include "a.h"', "at most 8 MiB in an included file"


BOMBS = [bomb_of_inclusions, bomb_of_text, bomb_of_doubles, bomb_of_depth, large_file]


@pytest.mark.parametrize("bomb", BOMBS)
def test_text_has_limits(tmp_path, bomb):
    include, said = bomb(tmp_path)
    path = tmp_path / "twice.metal"
    with pytest.raises(CompileError, match=said) as caught:
        text_of(path, include)
    assert str(caught.value).startswith("[twice] ")
    # What is stored of such a kernel, which fails, is its source.
    kernel = read(path)
    assert kernel.stored_text == kernel.source
    assert len(kernel.hash) == 64


def test_text_and_hash_depend_on_included_headers(tmp_path):
    path = tmp_path / "twice.metal"
    path.write_text(f'// dispatch: twice {GRID}\n#include "twice.h"\nkernel void twice() {{}}\n')
    hashes = set()
    for factor in (2, 3):
        (tmp_path / "twice.h").write_text(f"constant int factor = {factor};\n")
        kernel = read(path)
        assert f"\nconstant int factor = {factor};\nkernel void twice" in kernel.text
        hashes.add(kernel.hash)
    assert len(hashes) == 2


def test_unknown_includes_stay_in_the_text():
    assert parse(MSE, name="mse_loss").text == MSE


GRID = "threadgroups=(1) threads=(1)"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("// Nothing.", r"f.metal:1: no dispatch line; add `// dispatch: kernel"),
        ("kernel void f(int x) {}", "add `// dispatch: f threads_in_grid=.* or `// dispatch: f th"),
        ("// dispatch: f", r"f.metal:1:15: expected exactly one of threadgroups= and"),
        ("// dispatch: f threads=(1)", "expected exactly one of threadgroups="),
        ("// dispatch: f threadgroups=(1)", r"f.metal:1:32: expected threads=, got the end"),
        (f"// dispatch: f threads_in_grid=(1) {GRID}", "expected exactly one"),
        (f"// dispatch: f {GRID} threads=(2)", "expected threads_in_grid= or"),
        (f"// dispatch: f thread=(1) {GRID}", r"1:16: expected threadgroups= or .*got 'thread'"),
        ("// dispatch: f threadgroups=(1,2,3,4) threads=(1)", "1:29: expected one to three"),
        ("// dispatch: f threadgroups=(rows threads=(1)", "1:35: expected an operator, ',' or"),
        ("// dispatch: 2 threads=(1)", "1:14: expected the name of a kernel, got '2'"),
        (f"// dispatch: f {GRID}\n// tune: TG = a", r"f.metal:2:15: expected a whole number"),
        (f"// dispatch: f {GRID}\n// tune: TG = 1\n// tune: TG = 2", "3: TG is defined already"),
        (
            f"// dispatch: f {GRID}\n// scratch: p float (4)",
            "2:15: expected one of float32, .*'float'",
        ),
        (f"// dispatch: f {GRID}\n// scratch: p float32", "2:22: expected '\\('"),
        (f"// dispatch: f {GRID}\n// dtypes: half", "2:12: expected one of float32, float16"),
        (f"// dispatch: f {GRID}\n// math: precise", "2:10: expected safe or fast, got 'precise'"),
        (f"// dispatch: f {GRID}\n// dtypes: flaot32", "got 'flaot32'; did you mean 'float32'. wr"),
        ("// dispatch: f threadgroup=(1) threads=(1)", "1:16: .*; did you mean 'threadgroups' or"),
        ("// dispatch: f threadgroups=(1) thread=(1)", "1:33: .*; did you mean 'threads'"),
        ("// dispatch: f threadgroups=(ceildiv(9, 2)) threads=(1)", "did you mean 'ceil_div'"),
        (f"// dispatch: f {GRID}\n// scratch: p flaot16 (4)", "did you mean 'float16' or"),
        (f"// dispatch: f {GRID}\n// math: fst", "got 'fst'; did you mean 'fast'"),
        (f"// dispatch: f {GRID}\n// math: fast\n// math: safe", "3: math is declared twice"),
        (f"// dispatch: f {GRID}\n// maths: fast", "2: unknown header line .*mean 'math'"),
        (f"// dispach: f {GRID}", "1: unknown header line `// dispach:`; did you mean 'dispatch'"),
        (f"// dispatch: f {GRID}\nint a;\n// tune: TG = 1", "3: `// tune:` must stand above"),
    ],
)
def test_errors_name_file_line_and_column(header, message):
    with pytest.raises(DeclarationError, match=message) as caught:
        parse(header, name="f")
    assert str(caught.value).startswith("[f] f.metal:")


def test_a_file_is_read_with_its_chip(tmp_path):
    path = tmp_path / "relu.m4_max.metal"
    path.write_text("// dispatch: relu threadgroups=(1) threads=(1)\n")
    kernel = read(path)
    assert (kernel.name, kernel.chip, kernel.path) == ("relu", "m4_max", path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DeclarationError, match=r"\[relu\] .*relu.metal cannot be read"):
        read(tmp_path / "relu.metal")


INSTANCES = """\
// dispatch: unpack  threads_in_grid=(n)  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q3_g32 BITS = 3, GROUP = 32
// tune: TG = 64, 128
kernel void unpack() {}
"""


def test_a_kernel_is_its_first_instance_unless_another_is_named():
    assert parse(INSTANCES, name="unpack").resolve_tunables() == {"BITS": 4, "GROUP": 64, "TG": 64}
    other = parse(INSTANCES, name="unpack", instance="q3_g32")
    assert other.resolve_tunables() == {"BITS": 3, "GROUP": 32, "TG": 64}
    assert other.tunables["BITS"] == (3,)
    with pytest.raises(
        DeclarationError, match=r"no instance 'q3_g64'; did you mean 'q4_g64' or 'q3_g32'"
    ):
        parse(INSTANCES, name="unpack", instance="q3_g64")


def test_a_file_may_name_an_instance_of_another(tmp_path):
    (tmp_path / "unpack.metal").write_text(INSTANCES)
    (tmp_path / "unpack3.metal").write_text("// kernel: unpack.metal q3_g32\n")
    assert read(tmp_path / "unpack3.metal").resolve_tunables()["GROUP"] == 32


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q4_g64 BITS = 8, GROUP = 64", r"unpack.metal:4: instance 'q4_g64' is declared twice"),
        ("q8 BITS = 8", r":4: instance q8: expected the macros BITS, GROUP, as the first"),
        ("q8 BITS = 8, BITS = 8", r":4: BITS is defined already"),
    ],
)
def test_instances_define_the_same_macros(line, message):
    lines = INSTANCES.splitlines()
    lines.insert(3, f"// instance: {line}")
    with pytest.raises(DeclarationError, match=message):
        parse("\n".join(lines), name="unpack")


def test_a_macro_is_of_instances_or_tuned():
    with pytest.raises(DeclarationError, match=r"unpack.metal:4: BITS is defined already"):
        parse(INSTANCES.replace("TG = 64, 128", "BITS = 4, 8"), name="unpack")
