"""Quantised weights: encodings, packing, and inputs of tasks in these encodings."""
