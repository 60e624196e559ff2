"""The two things that can be wrong with what a user hands in, apart from a parameter: the data, or a model file."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be learned from or scored; the message says what was found, what was expected and where."""


class ModelError(ValueError):
    """A file that is not a whole, sound cwlearn model of a version this release reads."""
