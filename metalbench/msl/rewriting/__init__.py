"""What turns the MSL of one kernel into C++: edits of the user's own text, line by line."""
