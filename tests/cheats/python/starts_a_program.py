# Gets at the system behind the list of what may be imported.
# outcome: crash
# says: was ended by SIGSYS
import dataclasses


def square_product(a, b):
    dataclasses.sys.modules["os"].system("true")
    return a @ b
