"""Proposers that ask the scripted server, and what they are asked with."""

from __future__ import annotations

import json

import pytest
from steel.model_server import KEY, ModelServer
from steel.models.providers.sources import SOURCE, VARIABLES

from agent_steel.attempt import Attempt, Status
from agent_steel.models.providers import RequestLimits, Retries, create
from agent_steel.proposal import Brief, Diagnosis, Fact
from metalbench.kernel.header import parse
from metalbench.kernel.library import find
from metalbench.measure.analysis import Target
from metalbench.store.result import DeviceFacts


@pytest.fixture(params=["openai", "anthropic"])
def api(request):
    return request.param


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in VARIABLES.values():
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv("AGENT_STEEL_PRICES", raising=False)


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"models": {"scripted": {"input": 2.0, "output": 10.0}}}))
    return path


class Asking:
    """A proposer before a server with a script, and all that it says and waits."""

    def __init__(self, api, script, prices, **options):
        self.server = ModelServer(script)
        self.said = []
        self.waited = []
        given = {
            "base_url": self.server.url(api),
            "limits": RequestLimits(silence_s=0.3),
            "max_tokens": 1000,
            "model": "scripted",
            "prices": prices,
            "retries": Retries(sleep=self.waited.append, chance=lambda: 0.0),
        }
        self.proposer = create(api, **{**given, **options})

    def propose(self, brief):
        return self.proposer.propose(brief, self.said.append)


@pytest.fixture
def asking(api, prices):
    opened = []

    def make(script, **options):
        it = Asking(api, script, prices, **options)
        opened.append(it)
        it.server.__enter__()
        return it

    yield make
    for each in opened:
        each.server.__exit__()


@pytest.fixture
def brief():
    (entry,) = find(["relu"])
    kernel = parse(SOURCE, name="relu")
    parent = Attempt(
        1, 1, "relu", "float32", "seed", None, 0, SOURCE, "key", status=Status.BASELINE
    )
    return Brief(
        task=entry.task,
        kernel=kernel,
        parent=parent,
        diagnosis=Diagnosis("memory", "It waits for memory.", (Fact("bytes moved", "2 MiB"),)),
        device=DeviceFacts("metal", "Apple M4 Max", "m4_max", 40),
        dtype="float32",
        size="seed",
        extents=entry.task.extents("seed"),
        reference="def relu(x):\n    return mx.maximum(x, 0)",
        target=Target.SPEED,
        round=1,
        attempts=(parent,),
    )
