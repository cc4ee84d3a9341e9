"""From a trial of one kernel to a run over many: what happens when, and who is told of it."""
