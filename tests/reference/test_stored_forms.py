"""Libraries that MLX compiles on a CPU: stored for the next worker, and checked when loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from metalbench.reference import stored_forms
from metalbench.reference.stored_forms import (
    OPTIONS,
    PREAMBLE,
    find_include_folder,
    load_stored_forms,
    prepare_preamble,
    store_new_forms,
)

NAME = Path("0.32.4", "cpu", "libBExpA.so")


@pytest.fixture
def begin_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that begins a process with a new temporary folder and the same cache."""
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))

    def begin(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        return folder / "mlx"

    return begin


def compile_library(folder: Path, text: bytes = b"ELF", name: Path = NAME) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text)


def test_the_next_process_has_the_libraries_of_the_first(begin_process) -> None:
    first = begin_process("first")
    load_stored_forms()
    assert not first.exists()
    compile_library(first)
    compile_library(first, b"half a library", NAME.with_name("tmp_12.so"))
    compile_library(first, b"int main() {}", NAME.with_suffix(".cpp"))
    store_new_forms()
    second = begin_process("second")
    load_stored_forms()
    found = [each.relative_to(second) for each in second.rglob("*") if each.is_file()]
    assert found == [NAME]
    assert (second / NAME).read_bytes() == b"ELF"
    store_new_forms()
    third = begin_process("third")
    compile_library(third, b"newer")
    load_stored_forms()
    assert (third / NAME).read_bytes() == b"newer"


def test_damaged_and_foreign_files_are_not_loaded(begin_process, tmp_path: Path) -> None:
    compile_library(begin_process("first"))
    store_new_forms()
    (record,) = (tmp_path / "cache").rglob("*.json")
    (library,) = (tmp_path / "cache").rglob("*.so")
    right = record.read_text()
    for place, text in enumerate(
        (
            right.replace(NAME.as_posix(), "../outside.so"),
            right.replace(NAME.as_posix(), "/tmp/outside.so"),
            right.replace(".so", ".cpp"),
            "{}",
            "no JSON",
            json.dumps([right]),
        )
    ):
        record.write_text(text)
        folder = begin_process(f"other {place}")
        load_stored_forms()
        assert not folder.exists()
        assert not (folder.parent / "outside.so").exists()
    record.write_text(right)
    library.write_bytes(b"EL")
    folder = begin_process("damaged")
    load_stored_forms()
    assert not folder.exists()


def test_another_compiler_has_other_libraries(
    begin_process, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_library(begin_process("first"))
    store_new_forms()
    monkeypatch.setattr(stored_forms, "identify_compiler", lambda: "another")
    second = begin_process("second")
    load_stored_forms()
    assert not second.exists()


def test_a_cache_that_cannot_be_written_is_no_error(
    begin_process, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compile_library(begin_process("first"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "file" / "cache"))
    store_new_forms()
    load_stored_forms()


@pytest.mark.skipif(
    find_include_folder() is None or shutil.which("g++") is None, reason="MLX does not use g++ here"
)
def test_the_precompiled_header_is_made_once_and_found_by_the_compiler(begin_process) -> None:
    first = begin_process("first")
    load_stored_forms()
    assert not first.exists()
    prepare_preamble()
    made = [(each, each.stat().st_mtime_ns) for each in first.rglob("*.gch")]
    assert len(made) == 1
    second = begin_process("second")
    load_stored_forms()
    prepare_preamble()
    (link,) = second.rglob("*.gch")
    assert (link.resolve(), link.stat().st_mtime_ns) == (made[0][0].resolve(), made[0][1])
    source = second / stored_forms.find_version() / "cpu" / "name.cpp"
    source.write_text(f'#include "{PREAMBLE}"\nint f() {{ return 1; }}\n')
    command = ["g++", *OPTIONS, "-H", "-I", str(find_include_folder()), str(source)]
    done = subprocess.run(
        [*command, "-o", str(source.with_suffix(".so"))], capture_output=True, text=True, check=True
    )
    assert f"! {link}" in done.stderr, done.stderr


@pytest.mark.skipif(find_include_folder() is None, reason="MLX does not use g++ here")
def test_the_options_are_those_with_which_mlx_calls_the_compiler() -> None:
    include = find_include_folder()
    assert include is not None
    library = (include.parent / "lib" / "libmlx.so").read_bytes()
    assert " ".join(("g++", *OPTIONS)).encode() in library
