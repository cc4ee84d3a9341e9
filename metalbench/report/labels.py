"""Labels of kernels in reports with several sizes or element types of one task."""

from __future__ import annotations


def label(task: str, dtype: str, size: str = "") -> str:
    """Return ``softmax``, ``softmax (float16)`` or ``softmax (float16, large)``."""
    about = [each for each in (dtype if dtype != "float32" else "", size) if each]
    return f"{task} ({', '.join(about)})" if about else task
