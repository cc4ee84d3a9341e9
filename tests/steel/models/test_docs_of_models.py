"""The page about models agrees with providers, prompts and prices."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import pytest

from agent_steel.models.prompts import PACKAGED
from agent_steel.models.providers.presets import PRESETS

PAGE = (Path(__file__).parents[3] / "docs/how-to/agent_steel_models.md").read_text()


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_the_page_lists_every_provider(preset):
    (row,) = re.findall(rf"^\| `{preset.name}` \|.*$", PAGE, re.MULTILINE)
    assert f"`{preset.base_url}`" in row
    assert (f"`{preset.key_variable}`" if preset.needs_key else "none needed") in row
    assert (f"`{preset.default_model}`" if preset.default_model else "name one") in row
    assert ("messages" if preset.api == "anthropic" else "chat completions") in row


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*.md")), ids=lambda path: path.stem)
def test_the_page_lists_every_prompt_with_its_values(path):
    (row,) = [
        line
        for line in PAGE.splitlines()
        if f"| `{path.name}`" in line or f"`{path.name}` |" in line
    ]
    names = {
        found["named"] or found["braced"] for found in Template.pattern.finditer(path.read_text())
    }
    assert {name for name in names - {None} if f"`{name}`" not in row} == set()
