"""Rewrite the MSL of one kernel to C++, by edits of the user's text that keep its lines."""
