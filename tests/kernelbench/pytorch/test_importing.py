"""`metalbench import-torch`: modules of several kinds become tasks, others get a clear error."""

from __future__ import annotations

import ast
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from click.testing import CliRunner
from pytorch.modules import MODULES, WRONG

from metalbench.cli.group import main
from metalbench.errors import TaskError
from metalbench.kernel.library import load_task
from metalbench.task.workload import workload
from metalbench.verify.admission import admit

torch = pytest.importorskip("torch", reason="extra kernelbench")


def written(folder: Path, name: str) -> Path:
    from metalbench.kernelbench.pytorch.importing import import_module

    source = folder / f"{name}.py"
    source.write_text(MODULES[name])
    return import_module(source, folder / "tasks", f"the_{name}").path


@pytest.fixture(scope="module", params=[each for each in MODULES if each != "lstm"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("module"), request.param)


def test_an_imported_task_has_the_module_in_float64_as_oracle(path: Path) -> None:
    task = load_task(path)
    assert list(task.sizes) == ["small", "odd", "cpu", "paper"]
    assert task.bytes("small", "float32") < task.bytes("paper", "float32")
    work = workload(task, "small")
    assert {each.dtype.name for each in work.expected.values()} <= {"float64", "int32"}
    assert [each for each in admit(task, sizes=["small", "odd"]) if not each.rejected] == []


def test_the_baselines_are_mlx_and_pytorch(path: Path) -> None:
    from metalbench.reference import Reference

    task = load_task(path)
    known = "unknown" not in path.name
    assert task.against == (("eager", "compiled", "apart") if known else ("eager", "apart"))
    reference = Reference(workload(task, "small"))
    form = reference.forms[-1]
    assert form.name.startswith("pytorch ")
    for got, mlx in zip(
        reference.outputs_of(form), reference.outputs_of(reference.forms[0]), strict=True
    ):
        np.testing.assert_allclose(got, mlx, rtol=2e-4, atol=2e-5)
    reference.form = form
    reference(2)


def test_the_imported_file_is_reproducible_and_readable(path: Path, tmp_path: Path) -> None:
    name = path.stem.removeprefix("the_")
    text = path.read_text()
    assert written(tmp_path, name).read_text() == text
    assert ast.get_docstring(ast.parse(text)) == f"The module of {name}.py, imported from PyTorch."
    assert max(map(len, text.splitlines())) <= 160


@pytest.mark.slow
def test_a_recurrent_module_is_imported(tmp_path: Path) -> None:
    task = load_task(written(tmp_path, "lstm"))
    assert len(task.outputs) == 2
    assert task.baseline == "mlx"
    assert "lstm_weight_ih_l1_reverse" in task.inputs
    assert [each for each in admit(task, sizes=["small", "odd"]) if not each.rejected] == []


def test_parameters_have_names_and_initial_values_of_the_module(tmp_path: Path) -> None:
    task = load_task(written(tmp_path, "conv"))
    work = workload(task, "small")
    names = ["conv_weight", "conv_bias", "norm_weight", "norm_bias", "up_weight", "up_bias"]
    assert list(work.inputs) == ["x", *names]
    _, inner, *taps = work.inputs["conv_weight"].shape
    assert taps == [3, 3]
    bound = 1 / np.sqrt(9 * inner)
    assert 0.8 * bound < np.abs(work.inputs["conv_weight"]).max() <= bound
    assert (work.inputs["norm_weight"] == 1).all()
    wide = workload(task, "small", seed=1).inputs
    assert np.abs(wide["conv_weight"]).max() > bound
    assert (wide["norm_weight"] != 1).any()


def test_numbers_computed_in_forward_are_constants(tmp_path: Path) -> None:
    path = written(tmp_path, "numbers")
    text = path.read_text()
    assert "nn.number(2.0)" in text
    assert "magnitude=" in text
    task = load_task(path)
    assert task.baseline == "mlx"
    assert list(task.inputs)[:2] == ["x", "b"]
    assert "b_size" in task.sizes["small"]


@pytest.mark.parametrize("name", WRONG)
def test_import_module_reports_other_files_with_their_place(name: str, tmp_path: Path) -> None:
    text, expected = WRONG[name]
    file = tmp_path / f"{name}.py"
    file.write_text(text)
    from metalbench.kernelbench.pytorch.importing import import_module

    with pytest.raises(TaskError, match=expected) as error:
        import_module(file, tmp_path / "tasks")
    assert str(file) in str(error.value)
    assert not list((tmp_path / "tasks").glob(f"{name}.py"))


def test_import_torch_lists_the_written_files(tmp_path: Path) -> None:
    file = tmp_path / "norms.py"
    file.write_text(MODULES["norms"])
    folder = tmp_path / "tasks"
    result = CliRunner().invoke(main, ["import-torch", str(file), "--into", str(folder)])
    assert result.exit_code == 0, result.output
    assert "norms.py: the module's sizes" in result.output
    assert sorted(each.name for each in folder.iterdir()) == ["_norms_module.py", "norms.py"]
    result = CliRunner().invoke(main, ["import-torch", str(tmp_path / "none.py")])
    assert result.exit_code == 2
    assert "none.py: cannot be read" in result.output


def test_one_body_runs_with_mlx_and_numpy(tmp_path: Path) -> None:
    from metalbench.kernelbench.problems import on_mlx, on_numpy
    from metalbench.kernelbench.pytorch.operations import Operations

    x = np.random.default_rng(0).standard_normal((2, 4, 6, 6))
    w = np.random.default_rng(1).standard_normal((4, 3, 2, 2))
    found = []
    for on, array in ((on_mlx, mx.array), (on_numpy, np.asarray)):
        nn = Operations(on, {})
        y = nn.conv_transpose2d(array(x), array(w), None, (2, 2), (0, 0), (0, 0), 1)
        y = nn.group_norm(nn.max_pool2d(y, 2), 3)
        found.append(np.asarray(nn.softmax(nn.flatten(y, 2), -1)))
    np.testing.assert_allclose(*found, rtol=1e-4)
