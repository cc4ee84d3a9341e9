"""Sets of problems from elsewhere, and their metrics."""
