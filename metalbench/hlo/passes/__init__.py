"""Transform a graph before code generation; each module is one pass."""
