#!/usr/bin/env python3
"""Coroutines that fork, beside stop requests in another pool. bench/README.md

Read from the environment: ROUNDS (7)."""
import own_rows

rows = [("fib(34) by coroutines, on all CPUs but one: ms; stop requests a second; ratio", "34 100000")]

if __name__ == "__main__":
    own_rows.measure("bench-stops", rows)
