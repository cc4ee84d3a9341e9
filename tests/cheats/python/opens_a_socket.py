# Talks to others.
# outcome: crash
# says: it tried socket
import dataclasses


def square_product(a, b):
    dataclasses.sys.modules["_socket"].socket()
    return a @ b
