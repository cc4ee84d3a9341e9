"""What a kernel does, counted: its accesses and operations, by dispatch and by line."""
