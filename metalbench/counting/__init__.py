"""Count the accesses and operations of a kernel, by dispatch and by line."""
