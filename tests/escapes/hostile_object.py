"""Compiled kernels that try the escapes, put where the cache keeps what was compiled.

As if a source had got past every check of the front end: what loads them takes them for a kernel.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from escapes import native_code

import metalbench
from metalbench import build_cache

FILES = ("secret", "emptied", "removed", "moved", "results.db")
# As csrc/msl/mb/abi.h has it, of a kernel whose threads are run in loops.
_KERNEL = """
typedef struct {{ unsigned grid[3], groups[3], group[3]; void* buffers[31]; }} Launch;
static int (*const ESCAPES[])(void) = {{ {escapes} }};
void mb_span(const Launch* launch, void* group, unsigned long long first, unsigned long long count) {{
  const float* x = launch->buffers[0];
  float* y = launch->buffers[1];
  {body}
}}
"""  # noqa: E501 - it is C
# `came` is 0 if something was possible; a process that it leaves behind would be the judge's.
_CONSTRUCTOR = """
static int came = 1;
__attribute__((constructor)) static void load(void) { AT_LOAD }
"""
# The escape whose number is in `x`; 0 in `y` if it was possible.
ONE = "y[0] = ESCAPES[(int)x[0]]();"


def several_and_twice(numbers: list[int]) -> str:
    """Tries these escapes once, and computes 2 x unless one was possible."""
    return f"""
  static int tried, possible;
  static const int numbers[] = {{ {", ".join(map(str, numbers))} }};
  if (first == 0 && !tried) {{
    tried = 1;
    for (int i = 0; i < {len(numbers)}; ++i) possible |= ESCAPES[numbers[i]]() == 0;
  }}
  for (word i = first * launch->group[0]; i < (first + count) * launch->group[0]; ++i)
    if (i < launch->grid[0]) y[i] = possible ? 0 : 2 * x[i];"""


class Ground:
    """A folder where everybody may read and write: a cache, and files that are none of theirs."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.cache = self.folder / "cache"
        # A kernel may read files of the cache; these are next to it.
        self.files = self.folder / "files"
        for folder in (self.folder, self.cache, self.files):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
        self.restore()

    def restore(self) -> None:
        """Put the files there, whatever has become of them."""
        for path in self.files.iterdir():
            path.unlink()
        for name in FILES:
            (self.files / name).write_text(name)
            (self.files / name).chmod(0o666)
        shutil.copy(__file__, self.files / "another.so")

    @property
    def is_untouched(self) -> bool:
        kept = {path.name: path.read_bytes() for path in self.files.iterdir()}
        ours = {name: name.encode() for name in FILES}
        return kept == {**ours, "another.so": Path(__file__).read_bytes()}

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def smuggle(self, name: str, body: str, at_load: str = "") -> int:
        """Let plain kernels in the cache that have this in their name be `body` instead.

        `at_load` runs as the object is loaded, before the seal. Return how many kernels there were.
        """
        count = 0
        for key, record in list(self._kernels(name)):
            target = Path(record["path"])
            honest = target.with_name(f"honest-{target.name}")
            if not honest.exists():
                target.replace(honest)
            escapes = ", ".join(f"escape{number}" for number in range(len(native_code.ESCAPES)))
            tried = native_code.source(self.files, Path(metalbench.__file__).parent)
            loading = _CONSTRUCTOR.replace("AT_LOAD", at_load) if at_load else ""
            code = tried + loading + _KERNEL.format(escapes=escapes, body=body)
            with build_cache.write_atomically(target) as made:
                native_code.build(code, made, honest)
            build_cache.store(key, {**record, "object": build_cache.digest_file(target)})
            count += 1
        self._open_to_all()
        return count

    def _kernels(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return the kernels in the cache that run as loops, which checked builds do not."""
        for path in self.cache.rglob("*.json"):
            key = path.parent.name + path.stem
            record = build_cache.load(key)
            if record is None or record.get("engine") != "loops":
                continue
            if name in record["name"]:
                yield key, record

    def _open_to_all(self) -> None:
        for path in self.cache.rglob("*"):
            path.chmod(0o777)


def environment(ground: Ground) -> dict[str, str]:
    """Return the environment of a process that takes compiled kernels from there."""
    return {
        **os.environ,
        "METALBENCH_CACHE": str(ground.cache),
        "METALBENCH_HOME": str(ground.folder / "home"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
