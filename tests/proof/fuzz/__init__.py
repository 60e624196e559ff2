"""Fuzzing of the doors that bytes from outside come in by: text and records, model files and CSR matrices."""
