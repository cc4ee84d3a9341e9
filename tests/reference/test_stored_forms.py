"""Libraries that MLX compiles on a CPU: stored for the next worker, and checked when loaded."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from metalbench.reference import stored_forms
from metalbench.reference.stored_forms import load_stored_forms, store_new_forms

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
