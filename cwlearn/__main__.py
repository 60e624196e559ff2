"""`python -m cwlearn` is `cwlearn`."""

from cwlearn.cli.main import console

console()
