"""Contiguous accesses, with and without masks."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import AVX2, AVX512, Form, emit_text

BODY = "%v = load TYPE, ptr %a.lane\nstore TYPE %v, ptr %out.lane"
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}


@pytest.mark.parametrize(
    ("features", "least"), [("", 16), (AVX2, 4), (AVX512, 1)], ids=["none", "avx2", "avx512"]
)
@pytest.mark.parametrize("type_", SIZES)
def test_masks_are_used_where_the_processor_has_them(type_, features, least):
    arrays = {name: np.zeros(32, f"u{SIZES[type_]}") for name in ("a", "out")}
    text = emit_text(BODY.replace("TYPE", type_), Form(rows=False, features=features), **arrays)
    assert (f"@llvm.masked.load.v32{type_}.p0" in text) is (SIZES[type_] >= least)
    assert (f"@llvm.masked.store.v32{type_}.p0" in text) is (SIZES[type_] >= least)
