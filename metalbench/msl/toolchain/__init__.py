"""Run external programs and cache their results: clang, its messages, linkers."""
