"""`metalbench sweep`: the sizes, and what the command prints and writes."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from example_results import correct
from rich.console import Console

from metalbench.cli import main
from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.report.sweep import SweepReport
from metalbench.run.sweep import MOST_POINTS, list_sizes, parse_axis
from metalbench.store.store import Store


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("cols=256:2048:*2", (256, 512, 1024, 2048)),
        ("cols=100:1000:*3", (100, 300, 900)),
        ("n=128:512:+128", (128, 256, 384, 512)),
        ("k=8,1,2,2", (1, 2, 8)),
        ("k=7", (7,)),
        ("n=5:5:*2", (5,)),
    ],
)
def test_parse_axis_lists_the_values(text: str, values: tuple[int, ...]) -> None:
    axis = parse_axis(text)
    assert (axis.name, axis.values) == (text.partition("=")[0], values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cols", "expected NAME=FIRST:LAST"),
        ("cols=1:2", "expected NAME=FIRST:LAST"),
        ("cols=a,b", "expected NAME=FIRST:LAST"),
        ("1x=1,2", "expected NAME=FIRST:LAST"),
        ("cols=8:4:*2", "expected 1 <= FIRST <= LAST"),
        ("cols=1:8:*1", "FACTOR of 2 or more"),
        ("cols=1:8:+0", "STEP of 1 or"),
        ("cols=0:8:*2", "expected 1 <= FIRST"),
        ("cols=0,1", "values of 1 or more"),
        ("cols=1:1000000000:+1", f"expected 1 to {MOST_POINTS} values"),
    ],
)
def test_parse_axis_refuses_other_text(text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        parse_axis(text)


def test_list_sizes_has_every_combination_and_keeps_the_other_extents() -> None:
    task = Library().entry("softmax").task
    axes = [parse_axis("cols=64,128"), parse_axis("rows=1,2")]
    assert list_sizes(task, "small", axes) == [
        f"rows={rows},cols={cols}" for cols in (64, 128) for rows in (1, 2)
    ]
    (only,) = list_sizes(task, "small", [parse_axis("cols=64")])
    assert only == f"rows={task.extents('small')['rows']},cols=64"
    with pytest.raises(DeclarationError, match="no extent 'columns'; did you mean"):
        list_sizes(task, "small", [parse_axis("columns=64")])
    with pytest.raises(DeclarationError, match="each extent once"):
        list_sizes(task, "small", [axes[0], axes[0]])
    many = [parse_axis("cols=1:100:+1"), parse_axis("rows=1:100:+1")]
    with pytest.raises(DeclarationError, match=f"at most {MOST_POINTS} sizes, got 10000"):
        list_sizes(task, "small", many)


def sweep(folder: Path, kernels: Path, *arguments: str) -> Result:
    options = ("--kernels", str(kernels), "--db", str(folder / "sweep.db"), "--device", "cpu")
    return CliRunner().invoke(main, ["sweep", *arguments, *options, "--time", "0.01"])


def test_sweep_times_every_size_and_writes_csv_and_a_picture(tmp_path: Path, kernels: Path) -> None:
    table, picture = tmp_path / "twice.csv", tmp_path / "twice.svg"
    files = ("--csv", str(table), "--svg", str(picture))
    told = sweep(tmp_path, kernels, "twice", "--param", "n=64:4096:*8", *files)
    assert told.exit_code == 0, told.output
    lines = [line.split() for line in told.stdout.splitlines()]
    assert lines[0][:3] == ["n", "kernel", "MLX"]
    assert [line[0] for line in lines[1:4]] == ["64", "512", "4096"]
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert [(row["task"], row["n"], row["status"]) for row in rows] == [
        ("twice", str(n), "correct") for n in (64, 512, 4096)
    ]
    assert all(float(row["kernel_ns"]) > 0 and float(row["ratio"]) > 0 for row in rows)
    drawn = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    svg = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f".//{svg}polyline")) == 3  # kernel, MLX, and their ratio
    with Store(tmp_path / "sweep.db") as store:
        assert [each.sizes["n"] for each in store.results(1)] == [64, 512, 4096]


def test_sweep_fails_for_a_wrong_kernel_and_an_unknown_extent(
    tmp_path: Path, kernels: Path
) -> None:
    told = sweep(tmp_path, kernels, "thrice", "--param", "n=64,128")
    assert told.exit_code == 1
    assert "every element is 1.5 times" in " ".join(told.output.split())
    told = sweep(tmp_path, kernels, "twice", "--param", "m=64,128")
    assert told.exit_code == 2
    assert "[twice] no extent 'm'" in told.output


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_of_a_sweep_fits_the_terminal_without_losing_text(width: int) -> None:
    results = [
        replace(each, case=replace(each.case, sizes={"rows": 16, "cols": cols}))
        for each, cols in ((correct(), 256), (correct(seed=1), 512))
    ]
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    console.print(
        SweepReport("softmax", "float32", [parse_axis("cols=256,512")], results).table(console)
    )
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for part in ("cols", "256", "512", "12.35 us", "[12.26, 12.44]", "2.01x", "FASTER", "GB/s"):
        assert part in text
