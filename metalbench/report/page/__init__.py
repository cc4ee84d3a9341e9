"""A stand-alone HTML page of records or of a run, with plots, sources and history."""
