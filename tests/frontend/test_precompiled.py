"""Test precompiled preambles: same code, lines and messages as without them."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from frontend.precompiling import TEXT

from metalbench import build_cache
from metalbench._core import CompileError, MachineError
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.toolchain import compile
from metalbench.msl.toolchain.clang import ELF, MACH_O, CompilationTarget, list_flags
from metalbench.msl.toolchain.compile import (
    MessageTranslator,
    compile_shared_object,
    find_precompiled_preamble,
)
from metalbench.msl.toolchain.symbolize import _read_line_table

SPACES = """float by(device float* x) { return *x; }
float by(threadgroup float* x) { return 2 * *x; }
kernel void f(device float* a) { threadgroup float t[1]; t[0] = VALUE; *a = by(a) + by(t); }
"""


def build_kernel(value: int, text: str = TEXT, **options: bool) -> engine.CompiledKernel:
    """The kernel with another constant in it, so that it is another one."""
    text = text.replace("3;", f"{value};").replace("VALUE", str(value))
    return engine.build(engine.parse(text, "k.metal"), "f", **options)


def list_cached_files(suffix: str) -> list[Path]:
    return sorted(build_cache.find_cache_folder().rglob(f"*{suffix}"))


@pytest.fixture
def in_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Change to a cache of another name."""

    def change(name: str) -> None:
        monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / name))

    return change


@pytest.mark.parametrize(
    ("text", "options"),
    [(TEXT, {}), (TEXT, {"checked": True}), (TEXT, {"fast_math": False}), (SPACES, {})],
)
def test_the_second_equal_preamble_is_precompiled(
    kinds: list[str], text: str, options: dict[str, bool]
) -> None:
    for value in range(4):
        build_kernel(value, text, **options)
    assert kinds == ["parse", "precompile", "try", "begin", "begin", "begin"]


def test_other_flags_have_separate_precompiled_headers() -> None:
    for value in range(2):
        for options in ({}, {"checked": True}, {"fast_math": False}):
            build_kernel(value, **options)
        build_kernel(value, SPACES)
        build_kernel(value, TEXT.replace("t[31 - i]", "float4(t[31 - i]).xy.x"))
    assert len(list_cached_files(".pch")) == 5


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("text", [TEXT, SPACES])
def test_functions_and_lines_agree_with_the_whole_text(
    in_cache: Callable[[str], None],
    kinds: list[str],
    text: str,
    checked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As vectors, functions are written in the order in which clang numbers them.
    monkeypatch.setenv("METALBENCH_ENGINE", "fibers")
    in_cache("whole")
    whole = build_kernel(2, text, checked=checked)
    in_cache("precompiled")
    find_precompiled_preamble = [build_kernel(value, text, checked=checked) for value in range(3)][
        -1
    ]
    assert (kinds[0], kinds[-1]) == ("parse", "begin")
    assert whole.lowered == find_precompiled_preamble.lowered
    assert functions(whole.path).keys() == functions(find_precompiled_preamble.path).keys()
    assert lines(whole.path) == lines(find_precompiled_preamble.path)
    # What is checked has functions that are never inlined, and these change places; how long a jump
    # to one is depends on how far it is.
    if not checked:
        assert functions(whole.path) == functions(find_precompiled_preamble.path)
        assert Path(whole.path).read_bytes() == Path(find_precompiled_preamble.path).read_bytes()


def functions(path: str) -> dict[str, int]:
    """The sizes of what a shared object defines."""
    with open(path, "rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        return {each.name: each["st_size"] for each in symbols.iter_symbols()}


def lines(path: str) -> Counter[tuple[str, int]]:
    table = _read_line_table(path, (0, 0, 0))
    return Counter([row[1:] for row in table.rows if row[2]] + [call[2:] for call in table.inlined])


WRONG = [
    "a[i] = missing;",
    "a[i] = min(a[i]);",
    "float4 v = 1; v.xq = 2;",
    "vec<float, 7> v; a[i] = v.x;",
    "a[i] = as_type<half>(a[i]);",
    "simdgroup_float8x8 m = a;",
    "array<int, 2> x; x[0] = a;",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_messages_agree_with_the_whole_text(
    in_cache: Callable[[str], None], kinds: list[str], wrong: str
) -> None:
    said = []
    for name, others in (("whole", 0), ("precompiled", 2)):
        in_cache(name)
        for value in range(others):
            build_kernel(value, TEXT + f"kernel void other(device float* a, uint i) {{ {wrong} }}")
        with pytest.raises(CompileError) as caught:
            build_kernel(9, TEXT.replace("a[i] = t", f"{wrong} a[i] = t"))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "k.metal:8:" in said[0]
    assert kinds[-1] == "begin"


def rubbish(path: Path) -> None:
    path.write_bytes(b"CPCH rubbish")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def truncate_file(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("suffix", [".h", ".pch", ".json"])
@pytest.mark.parametrize("damage", [rubbish, cut, truncate_file, Path.unlink])
def test_damaged_precompiled_headers_are_recreated(
    kinds: list[str], suffix: str, damage: Callable[[Path], object]
) -> None:
    for value in range(2):
        build_kernel(value)
    (made,) = list_cached_files(".pch")
    damage(made.with_suffix(suffix))
    for value in range(2, 5):
        build_kernel(value)
    assert kinds[-1] == "begin"
    assert "parse" not in kinds[-2:]


def test_an_unchanged_precompiled_header_is_not_read_again(
    kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(2):
        build_kernel(value)
    (made,) = list_cached_files(".pch")
    read: list[Path] = []
    digest_file = build_cache.digest_file

    def record_digest(path: str | Path) -> str | None:
        read.append(Path(path))
        return digest_file(path)

    monkeypatch.setattr(build_cache, "digest_file", record_digest)
    build_kernel(2)
    assert made not in read
    os.utime(made)
    build_kernel(3)
    build_kernel(4)
    assert read.count(made) == 1
    assert kinds[-3:] == ["begin"] * 3


def test_kernels_do_not_instantiate_the_templates_of_their_preamble(tmp_path: Path) -> None:
    head = "template <class T> T g(T x) { return x; }\ninline int f(int x) { return g(x); }\n"
    tools, options = engine.find_toolchain(), list_flags(checked=False, fast_math=True)
    find_precompiled_preamble(head, tools, options)
    found = find_precompiled_preamble(head, tools, options)
    assert found is not None
    command = [*tools.clang, "-x", "c++", *options, *found.flags, "-c", "-o", str(tmp_path / "o")]
    trace = tmp_path / "trace.json"
    command += [f"-ftime-trace={trace}", "-ftime-trace-granularity=0", "-"]
    subprocess.run(command, input="int h(int x) { return f(x); }", text=True, check=True)
    assert "InstantiateFunction" not in trace.read_text()


def test_a_precompiled_header_removed_at_start_is_ignored(
    kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(2):
        build_kernel(value)
    found = compile.find_precompiled_preamble

    def and_gone(*given: Any, **kind: Any) -> object:
        head = found(*given, **kind)
        head.path.unlink()
        return head

    monkeypatch.setattr(compile, "find_precompiled_preamble", and_gone)
    build_kernel(2)
    assert kinds[-2:] == ["begin", "parse"]


def test_the_precompiled_header_of_another_process_is_used(
    in_cache: Callable[[str], None], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both put their file into one folder, from where only one of them can move it."""
    write = build_cache.write_atomically

    @contextmanager
    def overtaken(target: Path) -> Iterator[Path]:
        with write(target) as path:
            yield path
        if target.parent.suffix == ".new":
            target.replace(target.parent.with_suffix(target.suffix))

    in_cache("overtaken")
    monkeypatch.setattr(build_cache, "write_atomically", overtaken)
    build_kernel(3)
    build_kernel(4)
    assert kinds == ["parse", "precompile", "try", "begin"]


@pytest.mark.parametrize("suffix", [".h", ".pch", ".json"])
def test_an_unwritable_cache_disables_precompiling(
    kinds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    replacing = build_cache.write_atomically

    @contextmanager
    def unless_full(target: Path) -> Iterator[Path]:
        if target.suffix == suffix:
            raise MachineError("No space left on device")
        with replacing(target) as path:
            yield path

    source = engine.parse(TEXT).source
    monkeypatch.setattr(build_cache, "write_atomically", unless_full)
    code = lower(source, "f", {}).code
    options = list_flags(checked=False, fast_math=True)
    for _ in range(3):
        target = tmp_path / "k.so"
        compile_shared_object(
            code, target, engine.find_toolchain(), MessageTranslator(), options, checked=False
        )
        assert target.exists()
    assert "begin" not in kinds


@pytest.mark.parametrize("goal", [ELF, MACH_O], ids=["elf", "mach_o"])
@pytest.mark.parametrize("checked", [False, True])
def test_every_target_has_precompiled_preambles(goal: CompilationTarget, checked: bool) -> None:
    tools = engine.find_toolchain()
    if goal is not tools.target and not tools.clang[0].endswith("zig"):
        pytest.skip("needs ziglang's clang, which knows every system")
    head = lower(engine.parse(TEXT).source, "f", {}).code.preamble
    options = [*list_flags(checked=checked, fast_math=True, goal=goal), *tools.include_flags]
    assert find_precompiled_preamble(head, tools, options) is None
    assert find_precompiled_preamble(head, tools, options) is not None
