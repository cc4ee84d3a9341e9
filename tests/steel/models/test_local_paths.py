"""Prompts have no paths of this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from steel.model_server import KEY, ModelServer, kernel, says
from steel.models.providers.sources import BETTER, SOURCE

from agent_steel.attempt import Attempt, Status
from agent_steel.models.local_paths import remove_local_paths
from agent_steel.models.providers import create
from agent_steel.proposal import Brief, Diagnosis, Fact
from metalbench.kernel.header import parse
from metalbench.kernel.library import find
from metalbench.measure.analysis import Target
from metalbench.store.result import DeviceFacts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{here}/mine.metal:12:3: error: no x", "mine.metal:12:3: error: no x"),
        ("in '{here}/kernels/include/metalbench/quads.h'", "in 'metalbench/quads.h'"),
        ('File "{here}/a b.py", line 3', 'File "a b.py", line 3'),
        ("file://{here}/x.py.", "x.py."),
        ("see {here}/", "see {name}"),
        ("bytes / second, a/b/c, // and /* */", "bytes / second, a/b/c, // and /* */"),
        ("https://example.org/tmp/page", "https://example.org/tmp/page"),
        ("/no-such-folder/of/this machine", "/no-such-folder/of/this machine"),
        ("fast /tmp", "fast /tmp"),
    ],
)
def test_remove_local_paths(text: str, expected: str, tmp_path: Path) -> None:
    given = text.replace("{here}", str(tmp_path))
    assert remove_local_paths(given) == expected.replace("{name}", tmp_path.name)


def test_prompts_and_corrections_have_no_local_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (entry,) = find(["relu"])
    first = Attempt(1, 1, "relu", "float32", "seed", None, 0, SOURCE, "k", status=Status.BASELINE)
    failed = replace(
        first, number=2, parent=1, status=Status.BROKEN, error=f"{tmp_path}/relu.metal:3: no x"
    )
    brief = Brief(
        task=entry.task,
        kernel=parse(SOURCE, name="relu", path=tmp_path / "relu.metal"),
        parent=first,
        diagnosis=Diagnosis("memory", f"As in {tmp_path}/a.txt.", (Fact("note", f"{tmp_path}/b"),)),
        device=DeviceFacts("cpu", "Example CPU", None, 2),
        dtype="float32",
        size="seed",
        extents=entry.task.extents("seed"),
        reference="mx.maximum(x, 0)",
        target=Target.SPEED,
        round=1,
        attempts=(first, failed),
    )
    wrong = json.dumps({**json.loads(kernel(BETTER).text), f"{tmp_path}/c": ""})
    header = kernel(BETTER.replace("threads=", "thread="))
    with ModelServer([says(wrong), header, kernel(BETTER)]) as server:
        proposer = create("openai", model="m", base_url=server.url("openai"))
        proposer.propose(brief, lambda _: None)
        texts = [text for each in server.asked for role, text in each.turns if role == "user"]
        systems = [each.system for each in server.asked]
    assert len(texts) == 1 + 2 + 3
    for text in (*texts, *systems):
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text
    assert "relu.metal:3: no x" in texts[0]
