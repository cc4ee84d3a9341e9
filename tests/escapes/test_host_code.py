"""Source that is not Metal is refused with its name and line, by every command."""

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

# Metal has lambda expressions from 4.0.
METAL_4 = {"__METAL_VERSION__": "400"}


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open("cpu")


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", REFUSED)
def test_host_code_is_refused_with_its_line(device: _core.Device, name: str, checked: bool) -> None:
    source, line, what = REFUSED[name]
    with pytest.raises(_core.CompileError) as caught:
        device.compile(source, filename="k.metal", macros=METAL_4, checked=checked).pipeline("k")
    message = str(caught.value)
    assert re.match(rf"k\.metal:{line}(:\d+)?: error: ", message), message
    assert what in message


@pytest.mark.parametrize("name", TAKEN)
def test_valid_metal_is_accepted(device: _core.Device, name: str) -> None:
    values = np.zeros(1, np.float32)
    pipeline = device.compile(TAKEN[name], macros=METAL_4).pipeline("k")
    device.run([_core.Dispatch(pipeline, {"x": values}, threads_in_grid=1, threads=1)])
    assert values[0] == 2


def test_messages_quote_no_file_of_the_host(device: _core.Device, tmp_path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (tmp_path / "secret").write_text("#hidden words\n")
    (folder / "link.h").symlink_to(tmp_path / "secret")
    for named in (f"{tmp_path}/secret", "../secret", "link.h"):
        source = f'#include "{named}"\n{KERNEL} {{ x[i] = 1; }}'
        with pytest.raises(_core.CompileError, match="#include of") as caught:
            device.compile(source, filename=str(folder / "k.metal"))
        assert "hidden" not in str(caught.value)


# Each asks for a file in a way that a scan of the text does not see, or does not understand.
PASTED = "#define JOIN(a, b) a##b\n"
ASKING = {
    "include": '#include "{name}"',
    "include of a macro": '#define P "{name}"\n#include P',
    "include_next": '#include_next "{name}"',
    "import": '#import "{name}"',
    "dependency": '#pragma GCC dependency "{name}"',
    "dependency by an operator": '_Pragma("GCC dependency \\"{name}\\"")',
    "pasted __has_include": PASTED + '#if JOIN(__has_incl, ude)("{name}")\n#error there\n#endif',
    "pasted __has_embed": PASTED + '#if JOIN(__has_em, bed)("{name}")\n#error there\n#endif',
    "a comment in characters": (
        "#define A '/*'\n#if __has_include(\"{name}\")\n#error there\n#endif\n#define B '*/'"
    ),
    "a comment in a raw string": (
        'constant char a[] = R"(" /*)";\n#if __has_include("{name}")\n#error there\n#endif\n'
        'constant char b[] = R"(*/ ")";'
    ),
    "a comment in a warning": (
        '#warning /*\n#if __has_include("{name}")\n#error there\n#endif\n#warning */'
    ),
    "a comment in a lone quote": (
        '#if 0\ndon\'t /*\n#endif\n#if __has_include("{name}")\n#error there\n#endif\n// */'
    ),
    "embed in characters": (
        "#define A '/*'\nconstant uchar e[] = {{\n#embed \"{name}\"\n}};\n#define B '*/'"
    ),
    "embed in a mark": (
        '#pragma mark /*\nconstant uchar e[] = {{\n#embed "{name}"\n}};\n#pragma mark */'
    ),
}


@pytest.mark.parametrize("name", ASKING)
def test_whether_a_file_exists_makes_no_difference(device, tmp_path, name: str) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (tmp_path / "there").write_text("1\n")
    (folder / "link-there").symlink_to(tmp_path / "there")
    (folder / "link-gone!").symlink_to(tmp_path / "gone!")
    links = () if "pasted" in name else ("link-",)
    for before in (f"{tmp_path}/", "../", *links):
        said = []
        for file in ("there", "gone!"):
            # Names as long as each other, for the marks below a line.
            source = f"{ASKING[name].format(name=before + file)}\n{KERNEL} {{ x[i] = 1; }}"
            try:
                device.compile(source, filename=str(folder / "k.metal"))
            except _core.CompileError as error:
                said.append(str(error).replace(file, "FILE"))
            else:
                said.append("")
        assert said[0] == said[1]
        assert "error: there" not in said[0]


@pytest.mark.parametrize("name", [each for each in ASKING if "embed in" in each])
def test_a_hidden_embed_is_refused(device, name: str) -> None:
    source = f"{ASKING[name].format(name='/proc/self/environ')}\n{KERNEL} {{ x[i] = e[0]; }}"
    with pytest.raises(_core.CompileError, match="error: #embed"):
        device.compile(source, filename="k.metal")


def test_quotes_and_marks_hide_no_comment(device) -> None:
    """Words in a comment have no effect."""
    source = f"#if 0\ndon't\n#endif\n/* '\n#embed \"a\"\n*/ // 1'000 \"\n{KERNEL} {{ x[i] = 1'0; }}"
    device.compile(source, filename="k.metal").pipeline("k")


def test_a_folder_by_another_name_is_read(device, tmp_path, monkeypatch) -> None:
    """The shell's PWD names a link, as clang then does."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/one.h").write_text("constant float one = 1;\n")
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    source = f'#include "one.h"\n{KERNEL} {{ x[i] = one; }}'
    device.compile(source, filename="k.metal").pipeline("k")


def test_headers_next_to_a_source_and_in_given_folders_are_read(device, tmp_path) -> None:
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
def test_run_reports_host_code_and_exits_with_1(tmp_path, name: str) -> None:
    (tmp_path / "k.py").write_text(TASK)
    (tmp_path / "k.metal").write_text(
        "// dispatch: k threads_in_grid=(n) threads=(1)\n"
        + REFUSED[name][0].replace("device float* x", "device const float* z, device float* x")
    )
    options = ["--kernels", str(tmp_path), "--db", str(tmp_path / "r.db"), "--time", "0.05"]
    result = CliRunner().invoke(main, ["run", "k", *options])
    assert result.exit_code == 1
    assert REFUSED[name][2].split("`")[0] in result.output


def test_run_continues_after_too_many_includes(tmp_path) -> None:
    """Among skipped lines, which the compiler does not mind."""
    (tmp_path / "a.h").write_text("int a;\n")
    text = f"// dispatch: k threads_in_grid=(n) threads=(1)\n{{}}{KERNEL} {{{{ x[i] = z[i]; }}}}\n"
    text = text.replace("device float* x", "device const float* z, device float* x")
    for name, before in (("k", ""), ("bomb", "#if 0\n" + '#include "a.h"\n' * 5000 + "#endif\n")):
        (tmp_path / f"{name}.py").write_text(TASK.replace("def k", f"def {name}"))
        (tmp_path / f"{name}.metal").write_text(text.format(before))
    options = ["--kernels", str(tmp_path), "--db", str(tmp_path / "r.db"), "--time", "0.05"]
    result = CliRunner().invoke(main, ["run", "bomb", "k", *options])
    assert result.exit_code == 1
    assert "4096 inclusions" in result.output
    assert "1 of 2 correct" in result.output


@pytest.mark.parametrize("name", ["assembly", "a call of a number", "a variable"])
def test_host_code_in_a_custom_kernel_is_refused(name: str) -> None:
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
