"""Fuzzing of the three doors that bytes from outside come in by: text, model files and CSR matrices."""
