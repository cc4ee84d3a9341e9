"""Reports for people and programs: tables, the report on one kernel, JSON, CSV, HTML."""
