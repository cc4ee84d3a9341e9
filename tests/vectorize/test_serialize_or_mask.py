"""The choice between serialization and masks."""

from __future__ import annotations

import numpy as np
import pytest
from vectorize.launches import emit_text

OUT = np.zeros(32, "u4")


@pytest.mark.parametrize(
    ("line", "serialized"),
    [
        ("", True),
        ("%p = call i32 @mb_vector_y()", True),
        ("%p = atomicrmw add ptr %out, i32 1 monotonic, align 4", True),
        ("%p = call i32 @mb_vector_sum_u32(i32 %v)", False),
        ("%p = call i32 @mb_vector_ballot(i1 true)", False),
        ('fence syncscope("singlethread") seq_cst', False),
    ],
)
def test_cross_lane_operations_need_masks(line, serialized):
    text = emit_text(
        f"""
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        {line}
        store i32 %v, ptr %out.lane
        br label %end
      end:
        ret void""",
        a=OUT,
        out=OUT,
    )
    assert ("mb_scalar_region" in text) is serialized
    assert ("m1:" in text) is not serialized


def test_a_region_inside_of_a_masked_one_is_masked():
    text = emit_text(
        """
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 8
        br i1 %c, label %then, label %end
      then:
        %p = call i32 @mb_vector_sum_u32(i32 %v)
        %d = icmp ult i32 %v, 4
        br i1 %d, label %inner, label %after
      inner:
        store i32 %v, ptr %out.lane
        br label %after
      after:
        br label %end
      end:
        ret void""",
        a=OUT,
        out=OUT,
    )
    assert "m2:" in text
