"""Plots, which are drawn without a screen."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Matplotlib's pyplot; only suites that draw need it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
