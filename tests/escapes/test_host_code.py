"""What is no Metal is refused by its name and line, by whichever door it comes in."""

from __future__ import annotations

import re

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner
from escapes.host_code import KERNEL, REFUSED
from escapes.near_to_host_code import TAKEN

import metalbench
from metalbench import _core
from metalbench.cli import main

TASK = """import mlx.core as mx
from metalbench.task import normal, output, task

@task(
    sizes=dict(small=dict(n=5), seed=dict(n=32)),
    inputs=dict(z=normal("n")),
    outputs=dict(x=output("n")),
    oracle=lambda z: z,
    flops="n",
)
def k(z):
    return z + 0
"""


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open("cpu")


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_line(device: _core.Device, name: str, checked: bool) -> None:
    source, line, what = REFUSED[name]
    with pytest.raises(_core.CompileError) as caught:
        device.compile(source, filename="k.metal", checked=checked).pipeline("k")
    message = str(caught.value)
    assert re.match(rf"k\.metal:{line}(:\d+)?: error: ", message), message
    assert what in message


@pytest.mark.parametrize("name", TAKEN)
def test_what_metal_has_is_taken(device: _core.Device, name: str) -> None:
    values = np.zeros(1, np.float32)
    pipeline = device.compile(TAKEN[name]).pipeline("k")
    device.run([_core.Dispatch(pipeline, {"x": values}, threads_in_grid=1, threads=1)])
    assert values[0] == 2


def test_no_file_comes_back_in_a_message(device: _core.Device, tmp_path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (tmp_path / "secret").write_text("#hidden words\n")
    (folder / "link.h").symlink_to(tmp_path / "secret")
    for named in (f"{tmp_path}/secret", "../secret", "link.h"):
        source = f'#include "{named}"\n{KERNEL} {{ x[i] = 1; }}'
        with pytest.raises(_core.CompileError, match="#include of") as caught:
            device.compile(source, filename=str(folder / "k.metal"))
        assert "hidden" not in str(caught.value)


def test_files_beside_a_source_and_in_given_folders_are_read(device, tmp_path) -> None:
    """Also with names that make would not take as they are."""
    folder = tmp_path / "a b$c#d"
    (folder / "sub").mkdir(parents=True)
    (folder / "one.h").write_text("constant float one = 1;\n")
    (folder / "sub" / "up.h").write_text('#include "../one.h"\n')
    other = tmp_path / "given"
    other.mkdir()
    (other / "two.h").write_text("constant float two = 1;\n")
    source = f'#include "sub/up.h"\n#include "two.h"\n{KERNEL} {{ x[i] = one + two; }}'
    library = device.compile(source, filename=str(folder / "k.metal"), include_dirs=[str(other)])
    values = np.zeros(1, np.float32)
    dispatch = _core.Dispatch(library.pipeline("k"), {"x": values}, threads_in_grid=1, threads=1)
    device.run([dispatch])
    assert values[0] == 2


@pytest.mark.parametrize("name", ["constructor", "a call of a number", "a file of the system"])
def test_a_run_reports_it_and_goes_on(tmp_path, name: str) -> None:
    (tmp_path / "k.py").write_text(TASK)
    (tmp_path / "k.metal").write_text(
        "// dispatch: k threads_in_grid=(n) threads=(1)\n"
        + REFUSED[name][0].replace("device float* x", "device const float* z, device float* x")
    )
    options = ["--kernels", str(tmp_path), "--db", str(tmp_path / "r.db"), "--time", "0.05"]
    result = CliRunner().invoke(main, ["run", "k", *options])
    assert result.exit_code == 1
    assert REFUSED[name][2].split("`")[0] in result.output


@pytest.mark.parametrize("name", ["assembly", "a call of a number", "a variable"])
def test_a_custom_kernel_is_refused_too(name: str) -> None:
    source, _, what = REFUSED[name]
    before, _, rest = source.partition(KERNEL)
    body = rest.strip()[1:-1].replace("x[i]", "out[thread_position_in_grid.x]")
    body = body.replace("(ulong)x", "1")
    kernel = metalbench.metal_kernel(
        name="k", input_names=["a"], output_names=["out"], source=body, header=before
    )
    with pytest.raises(_core.CompileError, match=re.escape(what)):
        mx.eval(
            kernel(
                inputs=[mx.zeros(4)],
                grid=(4, 1, 1),
                threadgroup=(4, 1, 1),
                output_shapes=[(4,)],
                output_dtypes=[mx.float32],
            )
        )
