"""Machines of a cluster, on which samples are evaluated as they are on this one."""
