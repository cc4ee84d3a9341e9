"""Prompts are files, filled in strictly; users replace them one by one."""

from __future__ import annotations

import pytest

from agent_steel.models.prompts import PACKAGED, Prompts
from agent_steel.proposal import ProposerError


def test_fill_inserts_values_unchanged():
    filled = Prompts().fill("correction", reason="$reason ${x}")
    assert "cannot be used: $reason ${x}." in filled


def test_a_user_file_replaces_the_packaged_prompt(tmp_path):
    (tmp_path / "correction.md").write_text("Once more: $reason. It costs $$1.")
    assert Prompts(tmp_path).fill("correction", reason="no") == "Once more: no. It costs $1."
    assert Prompts(tmp_path).fill("optimizer_system", headers="HEADERS").count("HEADERS") == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("one\ntwo $raeson", r"correction\.md:2: no value `\$raeson`; did you mean 'reason'"),
        ("one ${no}", r"correction\.md:1: no value `\$no`"),
        ("costs $1", r"correction\.md: Invalid placeholder.*line 1"),
    ],
)
def test_an_unknown_name_is_an_error_with_its_line(tmp_path, text, fault):
    (tmp_path / "correction.md").write_text(text)
    with pytest.raises(ProposerError, match=fault):
        Prompts(tmp_path).fill("correction", reason="no")


def test_a_file_without_a_matching_prompt_is_reported(tmp_path):
    (tmp_path / "optimiser.md").write_text("")
    with pytest.raises(ProposerError, match="replaces no prompt; did you mean 'optimizer'"):
        Prompts(tmp_path)
    with pytest.raises(ProposerError, match="expected a folder"):
        Prompts(tmp_path / "none")


def test_prompts_are_packaged():
    assert {"correction", "optimizer", "optimizer_system"} <= {
        p.stem for p in PACKAGED.glob("*.md")
    }
