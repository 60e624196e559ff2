"""`python -m cwlearn` is `cwlearn`."""

from cwlearn.cli import console

console()
