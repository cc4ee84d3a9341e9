"""Benchmark suites of other projects, and their metrics."""
