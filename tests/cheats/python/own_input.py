# Its output is its input.
# outcome: wrong result
def square_product(a, b):
    return a
