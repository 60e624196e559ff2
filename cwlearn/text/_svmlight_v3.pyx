# The same loops once more, for processors with AVX2 (x86-64-v3); `native.py` chooses, `setup.py` has the flags.
include "_svmlight.pyx"
