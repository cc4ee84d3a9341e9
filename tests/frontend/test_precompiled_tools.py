"""Test precompiled preambles after the headers or clang have changed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from frontend.precompiling import TEXT

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.toolchain.clang import Toolchain, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, compile_shared_object


@pytest.fixture
def own_headers(tmp_path: Path) -> Toolchain:
    folder = tmp_path / "msl"
    shutil.copytree(engine.find_toolchain().headers, folder)
    return replace(engine.find_toolchain(), headers=folder)


def compile_text(tools: Toolchain, folder: Path, text: str = TEXT) -> bytes:
    lowered = lower(engine.parse(text, "k.metal").source, "f", {})
    options = list_flags(checked=False, fast_math=True)
    target = folder / "k.so"
    compile_shared_object(lowered.code, target, tools, MessageTranslator(), options, checked=False)
    return target.read_bytes()


def test_touched_headers_are_equal(
    kinds: list[str], own_headers: Toolchain, tmp_path: Path
) -> None:
    before = [compile_text(own_headers, tmp_path) for _ in range(3)]
    for path in own_headers.headers.rglob("*.h"):
        os.utime(path, (1, 1))
    assert compile_text(own_headers, tmp_path) == before[0]
    assert kinds[-2:] == ["begin", "begin"]


def test_headers_changed_during_a_process_are_read(
    kinds: list[str], own_headers: Toolchain, tmp_path: Path
) -> None:
    known = own_headers.key
    before = [compile_text(own_headers, tmp_path) for _ in range(3)]
    header = own_headers.headers / "mb" / "exponential.h"
    text = header.read_text()
    header.write_text(text + "\n#error changed\n")
    with pytest.raises(CompileError, match="changed"):
        compile_text(own_headers, tmp_path)
    header.write_text(text)
    assert own_headers.key == known
    assert compile_text(own_headers, tmp_path) == before[0]
    assert kinds[-3:] == ["begin", "parse", "begin"]


def test_a_rejected_precompiled_header_is_not_retried(
    kinds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang = " ".join(engine.find_toolchain().clang)
    script = tmp_path / "clang"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *-include-pch*) kill -SEGV $$;; esac\nexec {clang} "$@"\n'
    )
    script.chmod(0o755)
    tools = replace(engine.find_toolchain(), clang=(str(script),))
    for _ in range(4):
        compile_text(tools, tmp_path)
    assert kinds == ["parse", "precompile", "try", "parse", "parse", "parse"]
