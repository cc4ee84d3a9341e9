"""How much longer a counted run takes than a plain one with fibers, and how much memory.

    python benchmarks/counted.py [SIZE [NAMES...]]

What is measured is said in checked.py.
"""

from __future__ import annotations

from checked import main

if __name__ == "__main__":
    main("counted")
