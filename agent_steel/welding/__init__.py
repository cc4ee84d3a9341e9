"""A new task and its kernel: what is asked for, how it is checked, and where it is written."""
