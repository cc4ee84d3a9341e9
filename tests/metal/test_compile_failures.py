"""Failures of Metal's compiler and of its archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

SOURCE = "kernel void k(device int* y) { y[0] = 7; }\n"


def run(device: _core.Device, filename: str = "k.metal") -> int:
    out = device.allocate(4)
    pipeline = device.compile(SOURCE, filename=filename).pipeline()
    device.run([_core.Dispatch(pipeline, {"y": out}, threads_in_grid=1, threads=1)])
    return int(out.numpy("int32")[0])


def test_the_compilers_text_names_the_users_file(metal_double, metal: _core.Device) -> None:
    metal_double.set("fail_compile")
    with pytest.raises(_core.CompileError, match=r"^dir/k\.metal:1:1: error: "):
        metal.compile(SOURCE, filename="dir/k.metal")
    assert run(metal) == 7


def test_a_failed_pipeline_names_the_kernel(metal_double, metal: _core.Device, cache: Path) -> None:
    library = metal.compile(SOURCE, filename="unmade.metal")
    metal_double.set("fail_pipeline")
    with pytest.raises(_core.CompileError, match=r"^\[k\] Compiler encountered an internal error"):
        library.pipeline()
    assert run(metal, "unmade.metal") == 7


def test_a_failed_archive_write_leaves_no_file(
    metal_double, metal: _core.Device, cache: Path
) -> None:
    metal_double.set("fail_archive_write")
    assert run(metal, "unwritten.metal") == 7
    assert not list(cache.rglob("*.binarchive*"))


def test_an_unreadable_archive_is_written_again(
    metal_double, metal: _core.Device, cache: Path
) -> None:
    assert run(metal) == 7
    metal_double.set("fail_archive_load")
    assert run(metal) == 7
    assert len(list(cache.rglob("*.binarchive"))) == 1


def test_a_stored_pipeline_is_found(metal_double, metal: _core.Device, cache: Path) -> None:
    assert run(metal) == 7
    before = metal_double.get("archive_hits")
    assert run(metal) == 7
    assert metal_double.get("archive_hits") == before + 1


def test_open_without_a_gpu_suggests_the_cpu_device(metal_double) -> None:
    metal_double.set("no_device")
    assert _core.devices() == ["cpu"]
    with pytest.raises(_core.Unsupported, match=r"no Metal GPU .* use the `cpu` device"):
        _core.open("metal")


def test_an_unwritable_cache_leaves_no_file(metal: _core.Device, cache: Path) -> None:
    assert run(metal) == 7
    (stored,) = cache.rglob("*.binarchive")
    stored.unlink()
    (stored / "in the way").mkdir(parents=True)
    assert run(metal) == 7
    assert list(cache.rglob("*.binarchive*")) == [stored]
