"""The Objective-C runtime that the double of Metal stands on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from metal_double.compiler import compiler

DOUBLE = Path(__file__).parents[1] / "metal_double"
COMMON = ["-std=c++20", "-O1", "-fvisibility=hidden"]
OBJECTIVE_C = ["-fobjc-runtime=macosx-14.0", "-fblocks", "-fno-sanitize=undefined"]
INCLUDES = [f"-I{DOUBLE / 'include'}", f"-I{DOUBLE}"]
# Asks the double's Metal for the state of the machine.
NEEDS_METAL = "process_info.mm"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="macOS has its own runtime")


def compile_with(*arguments: str) -> None:
    command = [*compiler(), *COMMON, *OBJECTIVE_C, *INCLUDES, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runtime")
    root = folder / "root.o"
    compile_with("-fno-objc-arc", "-c", str(DOUBLE / "runtime/root_mrc.mm"), "-o", str(root))
    foundation = [path for path in DOUBLE.glob("foundation/*.mm") if path.name != NEEDS_METAL]
    parts = {
        "runtime.cpp": DOUBLE.glob("runtime/*.cpp"),
        "foundation.mm": foundation,
        "tests.mm": DOUBLE.glob("runtime_test/*.mm"),
    }
    together = [str(in_one(folder / name, sources)) for name, sources in parts.items()]
    built = folder / "runtime_test"
    compile_with("-fobjc-arc", *together, str(root), "-Wl,--no-gc-sections", "-o", str(built))
    return built


def in_one(path: Path, sources: Iterable[Path]) -> Path:
    """A file that includes all of `sources`, whose headers are read once then."""
    path.write_text("".join(f'#include "{each}"\n' for each in sorted(sources)))
    return path


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_objects_messages_blocks_collections_and_methods(program: Path) -> None:
    done = run(str(program))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_an_unknown_message_is_named(program: Path) -> None:
    done = run(str(program), "unrecognized")
    assert done.returncode != 0
    assert "-[Square never]: unrecognized selector" in done.stderr
