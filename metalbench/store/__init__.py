"""The store of results in SQLite: every raw sample, and the conditions for judging it later."""
