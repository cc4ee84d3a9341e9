"""Programs of the benchmark, one module for each family.

Each module has a dictionary with the family's name in capitals: functions of JAX by name, with the
types of their arguments.
"""
