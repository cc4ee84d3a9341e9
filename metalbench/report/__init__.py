"""What a person or a program is shown: tables, the report on one kernel, JSON and CSV."""
