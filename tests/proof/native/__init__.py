"""The compiled parsers under libFuzzer, without a line of Python for an input; see docs/proof.md."""
