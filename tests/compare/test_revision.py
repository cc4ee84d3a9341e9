"""A kernel and its headers at a revision of their repository."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metalbench import _core
from metalbench.compare.revision import read_kernel_at
from metalbench.errors import CompileError, DeclarationError
from metalbench.kernel import header
from metalbench.kernel.header import Kernel
from metalbench.kernel.prepare import source_options
from metalbench.kernel.source_files import library_folder
from metalbench.task.dtypes import dtype

SOURCE = """\
// Twice x.
// dispatch: twice  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
#include "factors.h"
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = factor() * x[i];
}
"""
FACTORS = '#pragma once\n#include "deeper/two.h"\ninline float factor() { return TWO; }\n'


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", "-C", str(folder), *identity, *arguments), check=True)


def write(folder: Path, **texts: str) -> None:
    """Write files; `__` in a name stands for `/`, and the last `_` for the dot."""
    for name, text in texts.items():
        path = folder / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, **texts: str) -> None:
    write(folder, **texts)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A repository with two commits, which differ only in a header that a header includes."""
    folder = tmp_path / "repository" / "kernels"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    two = "#define TWO {}\n"
    commit(folder, twice_metal=SOURCE, factors_h=FACTORS, deeper__two_h=two.format("3.0f"))
    commit(folder, deeper__two_h=two.format("2.0f"))
    return folder


def present(folder: Path, **changes: object) -> Kernel:
    return replace(header.read(folder / "twice.metal"), **changes)


def at(folder: Path, revision: str, **changes: object) -> Kernel:
    return read_kernel_at(present(folder, **changes), folder / "twice.metal", revision)


def run(kernel: Kernel) -> float:
    """Return what the kernel makes of 1."""
    device = _core.open("cpu")
    options = source_options(kernel, dtype("float32"), {})
    pipeline = device.compile(kernel.source, **options).pipeline("twice")
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    device.run([_core.Dispatch(pipeline, {"x": x, "y": y}, threads_in_grid=1, threads=64)])
    return float(y[0])


def test_headers_are_those_of_the_revision(kernels: Path) -> None:
    before, after = at(kernels, "HEAD~1"), at(kernels, "HEAD")
    assert (run(before), run(after)) == (3, 2)
    assert before.hash != after.hash
    write(kernels, deeper__two_h="#define TWO 5.0f\n")
    assert run(present(kernels)) == 5
    assert run(at(kernels, "HEAD")) == 2


def test_unchanged_headers_give_the_same_text(kernels: Path) -> None:
    then, now = at(kernels, "HEAD"), present(kernels)
    assert "#define TWO 2.0f" in now.text
    assert then.text == now.text
    assert then.hash == now.hash


@pytest.mark.parametrize("name", ["common/softmax", "families/attention/sdpa_decode"])
def test_unchanged_headers_of_the_library_give_the_same_text(tmp_path: Path, name: str) -> None:
    """Many headers that include each other, from an include folder."""
    include = tmp_path / "include"
    shutil.copytree(library_folder() / "include", include)
    path = tmp_path / "kernel.metal"
    shutil.copy(library_folder() / f"{name}.metal", path)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    kernel = replace(header.read(path), include_dirs=(include,))
    before = read_kernel_at(kernel, path, "HEAD")
    assert '#include "metalbench/' not in before.text
    assert before.text == kernel.text
    quads = include / "metalbench" / "quads.h"
    quads.write_text(f"{quads.read_text()}// Changed.\n")
    now = header.read(path)
    assert before.text != replace(now, include_dirs=(include,)).text
    assert before.text == read_kernel_at(kernel, path, "HEAD").text


def test_messages_name_the_header_and_its_line(kernels: Path) -> None:
    commit(kernels, factors_h=FACTORS.replace("TWO;", "\n  THREE;"))
    commit(kernels, factors_h=FACTORS)
    with pytest.raises(CompileError, match=rf"^{kernels}/factors.h:4:3: .*\n?.*THREE"):
        run(at(kernels, "HEAD~1"))
    commit(kernels, twice_metal=SOURCE.replace("x[i]", "z[i]"))
    with pytest.raises(CompileError, match=rf"^{kernels}/twice.metal:7:\d+: .*'z'"):
        run(at(kernels, "HEAD"))


def test_the_folder_of_the_kernel_comes_before_include_folders(
    kernels: Path, tmp_path: Path
) -> None:
    include = tmp_path / "repository" / "include"
    commit(include, deeper__two_h="#define TWO 7.0f\n")
    (kernels / "deeper" / "two.h").unlink()
    commit(kernels)
    assert run(at(kernels, "HEAD", include_dirs=(include,))) == 7
    assert run(at(kernels, "HEAD~1", include_dirs=(include,))) == 2
    write(include, deeper__two_h="#define TWO 8.0f\n")
    assert run(at(kernels, "HEAD", include_dirs=(include,))) == 7


def test_headers_outside_of_the_repository_are_those_of_now(kernels: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (kernels / "deeper" / "two.h").unlink()
    commit(kernels)
    write(outside, deeper__two_h="#define TWO 9.0f\n")
    assert run(at(kernels, "HEAD", include_dirs=(outside,))) == 9


def test_a_header_that_the_revision_lacks_is_not_replaced_by_that_of_now(kernels: Path) -> None:
    (kernels / "deeper" / "two.h").unlink()
    commit(kernels)
    with pytest.raises(CompileError, match=r"deeper/two\.h' file not found"):
        run(at(kernels, "HEAD"))
    write(kernels, deeper__two_h="#define TWO 2.0f\n")
    with pytest.raises(DeclarationError, match=r"deeper/two\.h, which the revision lacks"):
        at(kernels, "HEAD")


def test_a_header_named_by_a_macro_is_refused(kernels: Path) -> None:
    named = '#define HEADER "factors.h"\n#include HEADER'
    commit(kernels, twice_metal=SOURCE.replace('#include "factors.h"', named))
    with pytest.raises(DeclarationError, match="#include HEADER: expected the name of a header"):
        at(kernels, "HEAD")


def test_files_outside_of_the_folders_are_not_read(kernels: Path) -> None:
    commit(kernels.parent, secret_h="#define TWO 2.0f\n")
    commit(kernels, factors_h=FACTORS.replace("deeper/two.h", "../secret.h"))
    with pytest.raises(CompileError, match=r"#include of .*secret\.h: a kernel may include"):
        run(at(kernels, "HEAD"))


def test_links_within_the_repository_are_followed(kernels: Path) -> None:
    (kernels / "factors.h").rename(kernels / "real.h")
    (kernels / "factors.h").symlink_to("real.h")
    commit(kernels)
    assert run(at(kernels, "HEAD")) == 2
    assert at(kernels, "HEAD").text == present(kernels).text


def test_an_instance_is_that_of_the_revision(kernels: Path) -> None:
    source = SOURCE.replace(
        "// dispatch", "// instance: a N = 1\n// instance: b N = 4\n// dispatch"
    )
    commit(kernels, twice_metal=source, four_metal="// kernel: twice.metal b\n")
    path = kernels / "four.metal"
    assert read_kernel_at(header.read(path), path, "HEAD").tunables["N"] == (4,)


def test_line_ends_of_windows_are_those_of_a_file(kernels: Path) -> None:
    (kernels / "twice.metal").write_bytes(SOURCE.replace("\n", "\r\n").encode())
    commit(kernels)
    assert at(kernels, "HEAD").text == present(kernels).text
