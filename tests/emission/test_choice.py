"""Whether lanes that part go their ways alone, or together with masks."""

from __future__ import annotations

import numpy as np
import pytest
from emission.launches import emitted

OUT = np.zeros(32, "u4")


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ("", True),
        ("%p = call i32 @mb_vector_y()", True),
        ("%p = atomicrmw add ptr %out, i32 1 monotonic, align 4", True),
        ("%p = call i32 @mb_vector_sum_u32(i32 %v)", False),
        ("%p = call i32 @mb_vector_ballot(i1 true)", False),
        ('fence syncscope("singlethread") seq_cst', False),
    ],
)
def test_what_takes_other_lanes_keeps_them_together(line, alone):
    text = emitted(
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
    assert ("alone" in text) is alone
    assert ("m1:" in text) is not alone


def test_a_region_within_one_that_stays_together_stays_with_it():
    text = emitted(
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
