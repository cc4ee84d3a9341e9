"""JSON and CSV keep to the schema of `metalbench.report.export`."""

from __future__ import annotations

import csv
import io
import json
import math
import re

from example_results import CPU, GPU, STATE, correct, failed, incorrect, on_gpu, without_interval

from metalbench.report import export, numbers
from metalbench.store.environment import environment

RESULTS = [correct(), incorrect(), failed(), without_interval(correct("gelu"))]


def document() -> dict[str, object]:
    return json.loads(export.to_json(RESULTS, CPU, environment(), {"seed": 0}))


def test_json_has_exactly_the_documented_keys() -> None:
    assert export.__doc__ is not None
    top = set(re.findall(r"^    (\w+)  ", export.__doc__, re.MULTILINE)) | {"geometric_mean"}
    assert set(document()) == top
    listed = export.__doc__.partition("results         list of\n")[2].partition("\n\n")[0]
    names = {
        name for line in listed.splitlines() for name in line.strip().split("  ")[0].split(", ")
    }
    entry = document()["results"][0]  # type: ignore[index]
    assert set(entry) == names


def test_json_has_full_precision_and_null_for_missing_values() -> None:
    first, wrong, broken, few = document()["results"]  # type: ignore[misc]
    measured = RESULTS[0].measurement
    assert measured is not None
    assert first["kernel_ns"]["value"] == measured.candidate_ns.value
    assert first["ratio"]["high"] == measured.ratio.high  # type: ignore[union-attr]
    assert (wrong["status"], wrong["kernel_ns"], wrong["scores"]) == ("incorrect", None, None)
    assert broken["failures"][0]["stage"] == "compile"
    assert few["kernel_ns"]["low"] is None


def test_json_of_the_cpu_carries_the_notice() -> None:
    assert "simulation" in document()["note"]  # type: ignore[operator]


def test_json_of_a_gpu_has_both_times_and_the_state() -> None:
    text = export.to_json([on_gpu(correct())], GPU, environment(), {})
    device, (entry,) = json.loads(text)["device"], json.loads(text)["results"]
    assert device["capabilities"] == {"family": "apple9", "unified_memory": True}
    assert (entry["clock"], entry["state"]) == ("wall time", STATE)
    assert entry["gpu_ns"]["value"] < 0.95 * entry["kernel_ns"]["value"]
    rate = 5 * 2.0**20 / entry["gpu_ns"]["value"]
    assert math.isclose(entry["gflops"]["value"], rate)


def test_json_of_a_timed_gpu_has_both_ratios() -> None:
    result = on_gpu(correct(), reference_timed=True)
    (entry,) = json.loads(export.to_json([result], GPU, environment(), {}))["results"]
    measured = result.measurement
    assert measured is not None
    assert measured.by_wall is not None
    assert entry["clock"] == "GPU time"
    assert entry["ratio"] == entry["gpu_ratio"]
    assert entry["wall_ratio"] == export.interval_json(measured.by_wall.ratio)
    assert entry["wall_ns"] == export.interval_json(measured.by_wall.candidate_ns)
    assert entry["gpu_floor_ns"] == 500
    (row,) = csv.DictReader(io.StringIO(export.to_csv([result])))
    assert float(row["wall_ratio_low"]) == measured.by_wall.ratio.low


def test_markdown_of_a_gpu_has_both_ratios_and_the_clock() -> None:
    from metalbench.report.ci import to_markdown

    result = on_gpu(correct(), reference_timed=True)
    text = to_markdown([result, incorrect()], 1.0)
    assert "| verdict | by wall time |" in text
    assert result.measurement is not None
    assert numbers.ratio(result.measurement.wall_ratio) in text
    assert "verdicts are of GPU time" in text
    rows = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert len(set(rows)) == 1
    assert "by wall time" not in to_markdown([correct(), incorrect()], 1.0)


def test_csv_of_a_gpu_says_which_clock_is_which() -> None:
    (row,) = csv.DictReader(io.StringIO(export.to_csv([on_gpu(correct())])))
    assert (row["device"], row["clock"]) == ("metal", "wall time")
    assert float(row["gpu_ns_low"]) < float(row["gpu_ns"]) < float(row["kernel_ns"])


def test_csv_has_one_line_for_each_result_and_no_gaps() -> None:
    rows = list(csv.DictReader(io.StringIO(export.to_csv(RESULTS))))
    assert [row["task"] for row in rows] == ["softmax", "relu", "gelu", "gelu"]
    assert tuple(rows[0]) == export.CSV_COLUMNS
    assert [row["device"] for row in rows] == ["cpu"] * 4
    measured = RESULTS[0].measurement
    assert measured is not None
    assert float(rows[0]["kernel_ns_low"]) == measured.candidate_ns.low
    assert rows[1]["kernel_ns"] == ""
    assert "undeclared identifier" in rows[2]["failure"]
    assert rows[3]["ratio_low"] == ""
