"""Protections of a machine are proved by attempts to break them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from metalbench.cli.doctor import Health, describe_proof, examinations
from metalbench.errors import Unsupported
from metalbench.sandbox import landlock, proof

# Newer Pythons, and JAX if another test has imported it, warn of a fork among threads. The forked
# process ends without another step.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*fork:RuntimeWarning"),
]


def test_every_mechanism_is_tried() -> None:
    found = {each.name: each for each in proof.run_proofs()}
    if sys.platform == "linux":
        assert set(found) == {"files", "system calls", "network", "sockets", "children"}
        assert found["files"].holds or not landlock.version()
    for each in found.values():
        assert each.holds or each.reason, each


def test_proof_reports_attempts_that_succeed(tmp_path: Path) -> None:
    attempts = {"read a file": (tmp_path / "file").read_bytes, "list a folder": tmp_path.iterdir}
    (tmp_path / "file").write_text("open to all")
    found = proof._make_proof("files", "Landlock, version 7", lambda: None, attempts)
    assert not found.holds
    assert found.done == ("read a file", "list a folder")
    assert "not held by Landlock, version 7 (read a file, list a folder went" in describe_proof(
        found
    )


def test_one_successful_attempt_disproves_a_protection() -> None:
    attempts = {"leave the group": os.setsid, "nothing": lambda: None}
    found = proof._make_proof(
        "children", "seccomp", lambda: proof._install_worker_filter(os.getpid()), attempts
    )
    if found.reason:
        pytest.skip(found.reason)
    assert (found.refused, found.done, found.holds) == (("leave the group",), ("nothing",), False)


def test_proof_reports_a_missing_protection_with_its_reason() -> None:
    def missing() -> None:
        raise Unsupported("seccomp: Function not implemented")

    found = proof._make_proof("system calls", "seccomp", missing, {"start a process": os.fork})
    assert (found.holds, found.reason) == (False, "seccomp: Function not implemented")
    assert "start programs, open files" in describe_proof(found)


def test_doctor_accepts_missing_protections(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = proof.Proof("files", "Landlock, version 0", (), ("read a file",), "no Landlock")
    monkeypatch.setattr(proof, "run_proofs", lambda: [lacking])
    finding = dict(examinations())["confinement"]()
    assert finding.health is Health.ABSENT
    assert "no Landlock" in finding.detail
    assert "container" in finding.remedy
