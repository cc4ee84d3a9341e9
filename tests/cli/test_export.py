"""`metalbench export`."""

from __future__ import annotations

import shutil

from click.testing import CliRunner

from metalbench.cli.export import export
from metalbench.kernel.source_files import library_folder


def run(*arguments: str):
    return CliRunner().invoke(export, list(arguments))


def test_export_writes_the_kernel_and_code_of_all_hosts(tmp_path):
    result = run("relu", "--standalone", "--host", "all", "-o", str(tmp_path / "new"))
    assert result.exit_code == 0, result.output
    names = {each.name for each in (tmp_path / "new").iterdir()}
    assert names == {"relu.metal", "relu.py", "relu.mm", "relu.swift"}
    assert str(tmp_path / "new" / "relu.metal") in result.output


def test_export_for_mlx_takes_kernels_with_the_keyword(tmp_path):
    shutil.copy(library_folder() / "common/relu.py", tmp_path)
    (tmp_path / "relu.metal").write_text(
        "// dispatch: largest threads_in_grid=(rows * cols) threads=(256)\n"
        "#include <metal_stdlib>\n"
        "kernel void largest(device const float* x, device float* y,\n"
        "                    uint i [[thread_position_in_grid]]) {\n"
        "  y[i] = metal::max(x[i], 0.0f);\n"
        "}\n"
    )
    out = tmp_path / "out"
    result = run("relu", "--kernels", str(tmp_path), "--host", "mlx", "-o", str(out))
    assert result.exit_code == 0, result.output
    text = (out / "relu.py").read_text()
    assert "y[i] = metal::max(x[i], 0.0f);" in text
    assert "kernel void" not in text


def test_export_leaves_out_what_a_host_cannot_and_says_so(tmp_path):
    result = run("kv_append", "--standalone", "--host", "all", "-o", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "Left out: [kv_append] a kernel of MLX cannot update cache in place" in result.output
    assert not (tmp_path / "kv_append.py").exists()


def test_export_writes_nothing_if_the_asked_host_cannot(tmp_path):
    result = run("kv_append", "--standalone", "--host", "mlx", "-o", str(tmp_path / "new"))
    assert "cannot update cache in place" in str(result.exception)
    assert not (tmp_path / "new").exists()


def test_export_is_standalone_by_default(tmp_path):
    for folder, options in (("one", []), ("other", ["--standalone"])):
        assert run("relu", *options, "-o", str(tmp_path / folder)).exit_code == 0
    texts = [(tmp_path / folder / "relu.metal").read_text() for folder in ("one", "other")]
    assert texts[0] == texts[1]


def test_export_replaces_a_file_only_if_told(tmp_path):
    own = tmp_path / "relu.metal"
    own.write_text("mine")
    result = run("relu", "--standalone", "--host", "mlx", "-o", str(tmp_path))
    assert result.exit_code == 2
    assert f"{own} is there already; --force replaces it" in result.output
    assert own.read_text() == "mine"
    assert not (tmp_path / "relu.py").exists()
    assert run("relu", "--standalone", "-o", str(tmp_path), "--force").exit_code == 0
    assert "void relu(" in own.read_text()
