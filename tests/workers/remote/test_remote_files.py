"""The files that a trial reads are sent, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.kernel.library import Entry, Library
from metalbench.kernel.source_files import library_folder
from metalbench.workers.remote_files import read_task_modules, read_trial_files


@pytest.fixture
def entry(kernels: Path) -> Entry:
    return Library([kernels]).entry("twice")


def test_headers_are_sent_with_their_includes(kernels: Path, entry: Entry) -> None:
    (kernels / "inner").mkdir()
    (kernels / "twice.h").write_text('#include "inner/a.h"\n# import "metalbench/tiles.h"\n')
    (kernels / "inner" / "a.h").write_text('#include "b.h"\n#include "twice.h"\n#include <c.h>\n')
    (kernels / "inner" / "b.h").write_text("// Next to the one that includes it.\n")
    (kernels / "other").mkdir()
    (kernels / "other" / "c.h").write_text("")
    (kernels / "unused.h").write_text("")
    kernel = entry.kernel()
    names = ("twice.py", "twice.h", "inner/a.h", "inner/b.h")
    library = library_folder() / "include" / "metalbench"
    found = set(read_trial_files(entry, kernel))
    of_library = {each for each in found if each.parent == library}
    assert found - of_library == {kernels / name for name in names}
    assert library / "tiles.h" in of_library
    assert read_trial_files(entry, kernel)[kernels / "inner" / "b.h"].startswith(b"// Next to")


def test_files_outside_of_the_kernel_folder_are_not_sent(
    kernels: Path, entry: Entry, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("")
    (kernels / "link.h").symlink_to(secret)
    text = f'#include "{secret}"\n#include "../secret.h"\n#include "link.h"\n'
    (kernels / "twice.h").write_text(text)
    found = read_trial_files(entry, entry.kernel())
    assert set(found) == {kernels / "twice.py", kernels / "twice.h"}


def test_user_modules_are_sent_and_installed_ones_are_not(
    kernels: Path, entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path / "modules"
    (modules / "shapes_of_mine").mkdir(parents=True)
    (modules / "shapes_of_mine" / "__init__.py").write_text("from .round import *\n")
    (modules / "shapes_of_mine" / "round.py").write_text("import factors_of_mine\n")
    (modules / "factors_of_mine.py").write_text("TWO = 2\n")
    (modules / "unused_of_mine.py").write_text("")
    monkeypatch.syspath_prepend(modules)
    path = kernels / "twice.py"
    path.write_text(f"from shapes_of_mine import TWO\nimport scipy.special\n{path.read_text()}")
    assert set(map(str, read_task_modules(entry))) == {
        "shapes_of_mine/__init__.py",
        "shapes_of_mine/round.py",
        "factors_of_mine.py",
    }
