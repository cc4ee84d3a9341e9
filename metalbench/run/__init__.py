"""Try one kernel (attempt.py) or many (runner.py): compile, verify, measure, recheck, record."""
