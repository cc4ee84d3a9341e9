"""metalbench.devices: code asks for capabilities of a kind of device, not for its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.devices import KINDS, find_kind

ROOT = Path(__file__).parents[1]
# Choices of a user (`--device cuda`, `device="mlx"`), not capabilities.
CHOICES = {
    "metalbench/checking/sanitizer.py",
    "metalbench/mlx/kernel.py",
    "metalbench/reference/torch_form.py",
}


def test_every_device_of_the_core_is_a_listed_kind() -> None:
    assert set(_core.devices()) <= set(KINDS)


@pytest.mark.parametrize(("name", "simulated"), [("cpu", True), ("metal", False), ("cuda", False)])
def test_find_kind_returns_capabilities(name: str, simulated: bool) -> None:
    assert find_kind(name).name == name
    assert find_kind(name).is_simulated is simulated


def test_find_kind_of_an_unlisted_name_has_no_capabilities() -> None:
    assert not find_kind("other").is_simulated


def test_no_code_compares_a_device_with_a_name() -> None:
    compared = re.compile(r"(?:kind|device)(?:\([^)]*\))? (?:==|!=) \"(?:cpu|metal|cuda|mlx)\"")
    found = {
        str(path.relative_to(ROOT))
        for folder in ("metalbench", "agent_steel")
        for path in (ROOT / folder).rglob("*.py")
        if compared.search(path.read_text(encoding="utf-8"))
    }
    assert found <= CHOICES
