"""What reports call a kernel where several of one task stand side by side."""

from __future__ import annotations


def label(task: str, dtype: str, size: str = "") -> str:
    """``softmax``, ``softmax (float16)`` or ``softmax (float16, large)``."""
    about = [each for each in (dtype if dtype != "float32" else "", size) if each]
    return f"{task} ({', '.join(about)})" if about else task
