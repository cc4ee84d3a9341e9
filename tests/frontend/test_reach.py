"""Test list_tool_files: a shell in place of a compiler tries to open files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from metalbench.msl import engine
from metalbench.msl.toolchain.file_access import list_tool_files
from metalbench.msl.toolchain.run_tool import run_tool
from metalbench.sandbox import landlock

pytestmark = pytest.mark.skipif(
    not landlock.version(), reason="this kernel has no Landlock, or the system is not Linux"
)
TRIES_A_SOCKET = """
import _socket, os, sys
try:
    _socket.socket(_socket.AF_UNIX)
except OSError as error:
    sys.exit(error.errno)
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """One with a secret, one that may be read, and one that may be written to."""
    made = tuple(tmp_path / name for name in ("secret", "source", "output"))
    for folder in made:
        folder.mkdir()
        (folder / "file").write_text("words\n")
    return made  # type: ignore[return-value]


def shell(script: str, folders: tuple[Path, Path, Path]) -> int:
    """Return the result of a script that a shell runs, with a separate installation."""
    _, source, output = folders
    own = source.parent / "installation" / "sh"
    own.parent.mkdir()
    shutil.copy("/bin/sh", own)
    return run_tool([str(own), "-c", script], "", reads=[source], writes=[output]).returncode


def test_list_tool_files_includes_files_that_a_compiler_needs(
    folders: tuple[Path, Path, Path],
) -> None:
    _, source, output = folders
    assert shell(f"read x < {source}/file && echo $x > {output}/new", folders) == 0
    assert (output / "new").read_text() == "words\n"


@pytest.mark.parametrize(
    "script",
    [
        "read x < {0}/file",
        "read x < {0}/../secret/file",
        "echo lost > {0}/file",
        "echo lost > {1}/file",
        "echo new > {1}/new",
        ": > {0}/file",
        "exec /bin/cat /dev/null",
        "kill -0 {3}",
    ],
)
def test_list_tool_files_excludes_other_files(
    folders: tuple[Path, Path, Path], script: str
) -> None:
    assert shell(script.format(*folders, os.getpid()), folders) != 0
    assert all((folder / "file").read_text() == "words\n" for folder in folders)
    assert not (folders[1] / "new").exists()


def test_a_sandboxed_compiler_has_no_sockets(folders: tuple[Path, Path, Path]) -> None:
    answer = run_tool([sys.executable, "-c", TRIES_A_SOCKET], "", reads=["/"])
    assert answer.returncode == 13, answer.stderr


def test_an_unconfined_process_can_open_all_of_them(folders: tuple[Path, Path, Path]) -> None:
    """The scripts succeed without confinement."""
    secret, source, _ = folders
    script = f"read x < {secret}/file && echo new > {source}/new && exec /bin/cat /dev/null"
    command = ["/bin/sh", "-c", script]
    assert os.spawnv(os.P_WAIT, command[0], command) == 0
    assert (source / "new").exists()


def test_list_tool_files_of_a_system_compiler() -> None:
    found = list_tool_files("/bin/sh")
    assert found is not None
    assert Path("/") not in found.executable


def test_list_tool_files_of_a_script_is_undefined(tmp_path: Path) -> None:
    script = tmp_path / "clang"
    script.write_text("#!/bin/sh\n")
    assert list_tool_files(str(script)) is None


def test_targets_of_links_are_not_readable(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (tmp_path / "secret.h").write_text("hidden words\n")
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    text = '#include "link.h"\nkernel void f(device int* a) { *a = 1; }'
    with pytest.raises(engine.Error, match=r"f\.metal:1: error: #include of .*link\.h") as caught:
        engine.parse(text, str(folder / "f.metal"))
    assert "hidden" not in str(caught.value)
