"""Twenty problems with four answers each: the reports agree with the script."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep

import pytest
import samples
from steel.generating.scripted_run import CLASSES, Script, Session
from steel.model_server import KEY, ModelServer

# By problem the kinds of its four answers. Of correct ones there are 4, 2, 1 and 0.
TABLE = [
    *([["right", "right", "slow", "right"]] * 3),
    *([["right", "wrong", "prose", "slow"]] * 5),
    *([["wrong", "right", "several", "cheats"]] * 6),
    ["hangs", "wrong", "python", "nothing"],
    ["broken", "refuses", "cut", "hangs"],
    *([["wrong", "broken", "prose", "cheats"]] * 4),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def kept(db: Path) -> int:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as found:
        return int(found.execute("SELECT count(*) FROM evaluations").fetchone()[0])
    return 0


def killed_after(command: list[str], db: Path, count: int) -> None:
    """Run a command until `count` evaluations are stored, and kill it."""
    program = [sys.executable, "-m", "metalbench", *command]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL, env=os.environ) as process:
        end = monotonic() + 600
        while kept(db) < count and monotonic() < end:
            assert process.poll() is None
            sleep(0.2)
        process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_table_and_pass_at_k_agree_with_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, script = Session(tmp_path, len(TABLE)), Script(TABLE)
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    with ModelServer(script) as server:
        command = session.generating(server.url("openai"), 4, "--parallel", 1)
        assert session.run(command).exit_code == 0
        assert len(server.asked) == 80
    evaluating = session.evaluating("--workers", 2, "--kernel-timeout", 60)
    killed_after(evaluating, session.db, 10)
    assert session.run(evaluating).exit_code == 0
    shown = session.analyse("-k", 1, "-k", 2, "-k", 4, "--json", tmp_path / "a.json")
    assert shown.exit_code == 0, shown.output
    (run,) = json.loads((tmp_path / "a.json").read_text())["runs"]
    found = run["levels"][samples.SET]
    expected = Counter(CLASSES[kind] for row in TABLE for kind in row)
    assert found["classes"] == expected
    # Sample 0: 8 of 20 are correct, and one more does not compile.
    assert found["correctness_rate"]["value"] == pytest.approx(8 / 20)
    assert found["compilation_rate"]["value"] == pytest.approx(19 / 20)
    at = {each["k"]: each["value"] for each in found["at_k"] if each["p"] is None}
    # Of 4, 2 and 1 correct ones of four: 1, 1/2, 1/4; of two drawn 1, 5/6, 1/2; of all four 1.
    assert at[1] == pytest.approx((3 * 1 + 5 / 2 + 6 / 4) / 20)
    assert at[2] == pytest.approx((3 * 1 + 5 * 5 / 6 + 6 / 2) / 20)
    assert at[4] == pytest.approx(14 / 20)
    with closing(sqlite3.connect(session.db)) as store:
        rows = store.execute("SELECT level, problem, sample FROM evaluations").fetchall()
        spans = store.execute(
            "SELECT measured_from, measured_to FROM evaluations WHERE measured_from NOT NULL "
            "ORDER BY measured_from"
        ).fetchall()
    assert len(rows) == len(set(rows)) == 80
    # Who cheats at the sizes that are declared is timed before it is found out.
    kinds = Counter(kind for row in TABLE for kind in row)
    assert len(spans) == expected["correct"] + kinds["cheats"]
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
