"""Sources that must not compile, by whatever command they come in."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench import _core
from metalbench.cli import main

SOURCES = sorted((Path(__file__).parent / "security").glob("*.metal"))
SAID = {
    "asm_two_literals": "inline assembly",
    "builtins": "__atomic_fetch_or",
    "line_directive": "a call through a pointer to a function",
    "static_by_name": "program scope variable must reside in constant|__start_mb_q, a name of the",
}

HEADER = (
    "// buffer: x float32 (64) normal\n"
    "// buffer: y float32 (64) output\n"
    "// dispatch: k threads_in_grid=(64) threads=(64)\n"
)


def test_every_source_has_an_expectation() -> None:
    assert {path.stem for path in SOURCES} == set(SAID)


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_compile_refuses_hostile_sources(path: Path, checked: bool) -> None:
    device = _core.open("cpu")
    with pytest.raises(_core.CompileError, match=SAID[path.stem]):
        device.compile(path.read_text(), filename=str(path), checked=checked).pipeline("k")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_build_for_gpu_refuses_hostile_sources(path: Path) -> None:
    from metalbench.msl import engine

    with pytest.raises(_core.CompileError, match=SAID[path.stem]):
        engine.build_for_gpu(engine.parse(path.read_text(), str(path)), "k")


@pytest.mark.parametrize("command", ["compile", "check"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_commands_refuse_hostile_sources(path: Path, command: str, tmp_path: Path) -> None:
    file = tmp_path / path.name
    source = path.read_text()
    file.write_text(source if "// dispatch:" in source else f"{HEADER}{source}")
    result = CliRunner().invoke(main, [command, str(file)])
    assert result.exit_code != 0
    assert "a kernel may have what Metal has, and no more" in " ".join(result.output.split())
