"""A variable sets the optimisation level of JAX's programs."""

from __future__ import annotations

import pytest

from metalbench.errors import DeclarationError
from metalbench.hlo.plugin.runtime import (
    DEFAULT_LEVEL,
    LEVEL_OPTION,
    LEVEL_VARIABLE,
    Client,
    read_level,
    read_options,
)
from metalbench.hlo.runtime.plan import LEVELS

SUM = b"""func.func @main(%x: tensor<64x64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}"""


def test_the_default_is_the_highest_level(monkeypatch):
    monkeypatch.delenv(LEVEL_VARIABLE, raising=False)
    assert read_level() == DEFAULT_LEVEL == max(LEVELS)


def test_programs_have_the_level_of_the_variable(monkeypatch):
    sources = []
    for level in LEVELS:
        monkeypatch.setenv(LEVEL_VARIABLE, str(level))
        assert read_level() == level
        sources.append(Client("cpu").compile(SUM, b"").executable.source)
    # Only at level 3 do lanes share the sum of a row.
    assert ["simd_sum" in each for each in sources] == [False, False, True]


@pytest.mark.parametrize("text", ["1", "4", "high"])
def test_another_level_is_refused(monkeypatch, text):
    monkeypatch.setenv(LEVEL_VARIABLE, text)
    with pytest.raises(DeclarationError, match=f"{LEVEL_VARIABLE}: expected 0, 2, 3, got {text}"):
        read_level()


def test_the_level_of_compile_options_replaces_the_default():
    jax = pytest.importorskip("jaxlib._jax")
    options = jax.CompileOptions()
    assert read_options(b"", 2) == read_options(options.SerializeAsString(), 2) == 2
    options.env_option_overrides = [("other", "1"), (LEVEL_OPTION, "0")]
    assert read_options(options.SerializeAsString(), 2) == 0
    options.env_option_overrides = [(LEVEL_OPTION, "9")]
    with pytest.raises(DeclarationError, match=f"{LEVEL_OPTION}: expected 0, 2, 3, got 9"):
        read_options(options.SerializeAsString(), 2)
