"""Benchmarks: see `python -m bench`."""
