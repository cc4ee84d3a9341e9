"""How often real measurements are wrong: a kernel against itself, and against one that is slower.

    python benchmarks/false_verdicts.py --runs 200 --seconds 2
    python benchmarks/false_verdicts.py --slower 3 --runs 40 --seconds 10
    python benchmarks/false_verdicts.py --table

A kernel against itself, in the same buffers, must never be FASTER or SLOWER. Against itself with
`--slower` per cent more rows it must be SLOWER or undecided. For comparison: the usual rule on the
same samples, where the interval of the mean ratio of independent samples must exclude 1. Each run
is stored in --file when it ends. An interrupted series continues, and --table shows stored runs.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.measure.device_limits import create_probe
from metalbench.measure.measurement import Measurement, Plan, SampleSet
from metalbench.measure.sampling import Sides, measure
from metalbench.stats import Interval, judge
from metalbench.task.declaration import spell_size
from metalbench.task.workload import workload

NORMAL = 2.33  # 98 % within, on both sides: the confidence of the other intervals
RULES = {"verdict": "metalbench", "usual": "mean +- 2.33 sem"}
Case = tuple[str, str, str, float, float]


def main() -> None:
    options = _options()
    with suppress(KeyboardInterrupt):
        if not options.table:
            for line in _runs(options):
                with options.file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(_summary(line), flush=True)
    _table(_read_runs(options.file))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernel", default="softmax", help="of the library")
    parser.add_argument("--size", default="rows=200,cols=1024")
    parser.add_argument("--grow", default="rows", help="what --slower makes more of")
    parser.add_argument("--slower", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--runs", type=int, default=200, help="in all, with those kept already")
    parser.add_argument("--seconds", type=float, default=2.0, help="longest time of one run")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda", "metal"])
    parser.add_argument("--file", type=Path, default=Path("false_verdicts.jsonl"))
    parser.add_argument("--table", action="store_true", help="only show what is kept")
    return parser.parse_args()


def _runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    device = _core.open(options.device)
    entry = Library().entry(options.kernel)
    task = entry.task
    compiled = compile_kernel(device, entry.kernel(device), task)
    extents = task.extents(options.size)
    grown = round(extents[options.grow] * (1 + options.slower / 100))
    larger = spell_size({**extents, options.grow: grown}) if options.slower else options.size
    more = task.flops(larger) / task.flops(options.size) - 1

    def bind_size(size: str) -> Bound:
        return compiled.bind(workload(task, size))

    reference = bind_size(options.size)
    candidate = bind_size(larger) if options.slower else reference
    sides = Sides(candidate.dispatches, reference.dispatches, probe=create_probe(device))
    case = (device.kind, options.kernel, options.size, round(more, 6), options.seconds)
    done = sum(_case(line) == case for line in _read_runs(options.file))
    for seed in range(done, options.runs):
        start = perf_counter()
        plan = Plan(seconds=options.seconds, seed=1_000_003 * seed)
        measured = measure(device, sides, plan)
        yield {**_line(case, measured), "run": seed, "took_s": perf_counter() - start}


def _line(case: Case, measured: Measurement) -> dict[str, Any]:
    assert measured.ratio is not None
    assert measured.verdict is not None
    assert measured.judgement is not None
    names = ("device", "kernel", "size", "more", "seconds")
    ratio = measured.ratio
    return {
        **dict(zip(names, case, strict=True)),
        "verdict": measured.verdict.value,
        "usual": _usual(measured.samples),
        "ratio": [ratio.value, ratio.low, ratio.high] if ratio.is_bounded else [ratio.value],
        "reasons": [reason.cause.value for reason in measured.judgement.reasons],
        "pairs": measured.pairs,
        "effective": measured.judgement.effective_pairs,
        "stopped": measured.stopped.value,
        "probe_spread": measured.steadiness.spread,
    }


def _usual(samples: SampleSet) -> str:
    """Return the verdict of the interval of a mean of independent samples."""
    logarithms = np.log(samples.reference_ns / samples.candidate_ns)
    middle = float(logarithms.mean())
    reach = NORMAL * float(logarithms.std(ddof=1)) / math.sqrt(logarithms.size)
    interval = Interval(*(math.exp(middle + step) for step in (0.0, -reach, reach)))
    return judge(interval, margin=0.0).value


def _read_runs(file: Path) -> list[dict[str, Any]]:
    """Return stored runs without an incomplete last line."""
    kept = []
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        with suppress(json.JSONDecodeError):
            kept.append(json.loads(text))
    return kept


def _case(line: Mapping[str, Any]) -> Case:
    return line["device"], line["kernel"], line["size"], line["more"], line["seconds"]


def _summary(line: Mapping[str, Any]) -> str:
    ratio = " ".join(f"{value:.4f}" for value in line["ratio"])
    reasons = f" ({', '.join(line['reasons'])})" if line["reasons"] else ""
    return (
        f"{line['run']:4}  {line['verdict']:12} {ratio:22} {line['pairs']:5} pairs, "
        f"{line['took_s']:5.1f} s, {line['stopped']}{reasons}; usual rule: {line['usual']}"
    )


def _table(lines: list[dict[str, Any]]) -> None:
    heads = ("runs", "FASTER", "SLOWER", "SAME", "INCONCLUSIVE", "THROTTLED", "wrong")
    print("\n" + f"{'':36}{'rule':18}" + "".join(f"{head:>13}" for head in heads))
    for case in dict.fromkeys(map(_case, lines)):
        device, kernel, size, more, seconds = case
        of_case = [line for line in lines if _case(line) == case]
        what = f"{100 * more:.1f} % more work" if more else "against itself"
        print(f"{kernel} {size}, {what}, {device}, {seconds:g} s")
        for key, rule in RULES.items():
            found = Counter(line[key] for line in of_case)
            wrong = [line for line in of_case if _is_wrong(line[key], more)]
            counts = "".join(f"{found[head]:13}" for head in heads[1:-1])
            share = f"{len(wrong) / len(of_case):13.1%}"
            print(f"{'':36}{rule:18}{len(of_case):13}{counts}{share}")


def _is_wrong(verdict: str, more: float) -> bool:
    """Return whether something false was said."""
    return verdict in (("FASTER", "SAME") if more else ("FASTER", "SLOWER"))


if __name__ == "__main__":
    main()
