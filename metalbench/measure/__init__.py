"""Timing of a kernel against its reference: what to sample, when to stop, what it amounts to."""
