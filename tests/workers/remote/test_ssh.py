"""The system's ssh, as it is started: one that a test has put in its place says how."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from metalbench.workers.ssh import Address, RemoteError, Ssh, command_line

MAC = Address("mac")


def said(script: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the output of a script in place of ssh on both streams."""
    (place / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (place / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    ssh = Ssh(MAC, "true")
    out = b""
    while byte := ssh.read_byte():
        out += byte
    ssh.end()
    return out.decode(), ssh.read_output_tail()


def test_ctrl_c_of_the_terminal_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said("kill -INT $$; echo alive", tmp_path, monkeypatch) == ("alive\n", "")


def test_error_output_of_an_ended_ssh_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "echo out; exec >&-; echo no route >&2; exit 255"
    assert said(script, tmp_path, monkeypatch) == ("out\n", "no route")


@pytest.mark.parametrize("terminal", [True, False])
def test_ssh_without_a_terminal_runs_in_batch_mode(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    quiet = [] if terminal else ["-o", "BatchMode=yes"]
    assert command_line(MAC, "true") == ["/usr/bin/ssh", "-T", *quiet, "--", "mac", "true"]


def test_a_missing_ssh_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(RemoteError, match="there is no `ssh` on the path; install OpenSSH"):
        command_line(MAC, "true")
