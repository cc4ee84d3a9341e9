"""Compiling on the Metal device: messages, includes, macros, names of kernels, stored pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
FILL = (
    HEAD + "kernel void fill(device int* y, uint i [[thread_position_in_grid]]) { y[i] = VALUE; }\n"
)


def filled(device: _core.Device, library: _core.Library) -> int:
    out = device.allocate(4)
    dispatch = _core.Dispatch(library.pipeline(), {"y": out}, threads_in_grid=1, threads=1)
    device.run([dispatch])
    return int(out.numpy("int32")[0])


def test_messages_have_the_users_file_and_line(metal: _core.Device) -> None:
    with pytest.raises(_core.CompileError, match=r"dir/fill\.metal:3:\d+: error: .*VALUE"):
        metal.compile(FILL, filename="dir/fill.metal").pipeline()


def test_macros_are_defined(metal: _core.Device) -> None:
    assert filled(metal, metal.compile(FILL, macros={"VALUE": "7"})) == 7


def test_includes_are_found_next_to_the_file_and_in_folders(
    metal: _core.Device, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "value.h").write_text('#pragma once\n#include "deep.h"\n')
    (tmp_path / "lib" / "deep.h").write_text("#pragma once\nconstant int VALUE = 9;\n")
    source = '#include "value.h"\n#include "value.h"\n' + FILL
    library = metal.compile(
        source, filename=str(tmp_path / "fill.metal"), include_dirs=[str(tmp_path / "lib")]
    )
    assert filled(metal, library) == 9


def test_messages_name_the_included_file(metal: _core.Device, tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("\nconstant int VALUE = nonsense;\n")
    source = HEAD + '#include "value.h"\nkernel void k() {}\n'
    with pytest.raises(_core.CompileError, match=r"value\.h:2:\d+: error: .*nonsense"):
        metal.compile(source, filename=str(tmp_path / "fill.metal")).pipeline()


def test_a_missing_kernel_is_reported_with_the_existing_ones(metal: _core.Device) -> None:
    library = metal.compile(FILL, filename="fill.metal", macros={"VALUE": "1"})
    assert library.functions == ["fill"]
    with pytest.raises(_core.Error, match="no kernel is named nothing; expected one of: fill"):
        library.pipeline("nothing")


def test_checked_builds_are_for_the_cpu_device(metal: _core.Device) -> None:
    assert not metal.checked_builds
    with pytest.raises(_core.Unsupported, match="checked builds run on the `cpu` device"):
        metal.compile(FILL, checked=True)


def archives(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.binarchive"))


def compile_to_seven(device: _core.Device) -> None:
    library = device.compile(FILL, macros={"VALUE": "7"})
    assert filled(device, library) == 7


def test_a_pipeline_is_stored_once(metal: _core.Device, cache: Path) -> None:
    compile_to_seven(metal)
    (stored,) = archives(cache)
    before = stored.stat().st_mtime_ns
    compile_to_seven(metal)
    assert archives(cache) == [stored]
    assert stored.stat().st_mtime_ns == before
    assert not list(cache.rglob("*.tmp"))


def test_an_archive_is_named_by_the_inputs_of_its_pipeline(
    metal: _core.Device, cache: Path
) -> None:
    compile_to_seven(metal)
    filled(metal, metal.compile(FILL, macros={"VALUE": "8"}))
    filled(metal, metal.compile(FILL, macros={"VALUE": "7"}, fast_math=False))
    filled(metal, metal.compile(FILL, macros={"VALUE": "7"}, filename="elsewhere.metal"))
    assert len(archives(cache)) == 3


def test_a_damaged_file_is_made_again(metal: _core.Device, cache: Path) -> None:
    compile_to_seven(metal)
    (stored,) = archives(cache)
    whole = stored.read_bytes()
    stored.write_bytes(b"damaged")
    compile_to_seven(metal)
    assert len(stored.read_bytes()) >= len(whole)


def test_pipelines_in_use_are_shared(metal: _core.Device) -> None:
    library = metal.compile(FILL, macros={"VALUE": "7"})
    first = library.pipeline()
    second = metal.compile(FILL, macros={"VALUE": "7"}).pipeline()
    out = np.zeros(4, np.int32)
    for pipeline in (first, second):
        metal.run([_core.Dispatch(pipeline, {"y": out}, threads_in_grid=4, threads=4)])
    assert first.name == second.name == "fill"


@pytest.mark.parametrize(
    ("os_major", "version"), [(14, 3.1), (15, 3.2), (16, 3.2), (26, 4.0), (27, 4.1)]
)
def test_kernels_are_compiled_as_the_newest_language_of_the_system(
    metal_double, os_major: int, version: float
) -> None:
    metal_double.set("os_major", os_major)
    _core.open("metal").compile("kernel void nothing() {}").pipeline()
    assert metal_double.get("language_version") == version


@pytest.mark.parametrize(
    ("os_major", "fast_math", "mode"),
    [(14, False, 0), (14, True, 2), (15, False, 0), (15, True, 1), (26, True, 1)],
)
def test_fast_math_is_relaxed_where_the_system_has_it(
    metal_double, os_major: int, fast_math: bool, mode: int
) -> None:
    metal_double.set("os_major", os_major)
    source = "kernel void nothing() {}"
    _core.open("metal").compile(source, fast_math=fast_math).pipeline()
    assert metal_double.get("math_mode") == mode


@pytest.mark.parametrize(("number", "version"), [("310", 3.1), ("320", 3.2), ("400", 4.0)])
def test_the_macro_selects_the_version_of_the_language(
    metal_double, number: str, version: float
) -> None:
    metal_double.set("os_major", 27)
    source = f"kernel void nothing() {{ static_assert(__METAL_VERSION__ == {number}); }}"
    _core.open("metal").compile(source, macros={"__METAL_VERSION__": number}).pipeline()
    assert metal_double.get("language_version") == version


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("400", r"__METAL_VERSION__: 400 needs a newer macOS; this one has Metal 3\.2"),
        ("3.1", r"__METAL_VERSION__: expected a version such as 320, got 3\.1"),
        ("315", r"__METAL_VERSION__: expected a version such as 320, got 315"),
    ],
)
def test_versions_that_the_system_does_not_have_are_refused(
    metal_double, number: str, message: str
) -> None:
    metal_double.set("os_major", 15)
    with pytest.raises(_core.CompileError, match=message):
        _core.open("metal").compile(
            "kernel void nothing() {}", macros={"__METAL_VERSION__": number}
        )
