"""Declares the compiled modules; everything else about the package is in pyproject.toml."""

import os
import platform
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("CWLEARN_DEBUG") == "1"

# One set of directives for all modules: a misspelt name here raises, in a .pyx header it is silently ignored.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": True,
    "autotestdict": False,
}
# The same bits on every machine: no fused multiply-add where the compiler likes it, no reordering of sums.
FLAGS = ["-O3", "-funroll-loops", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]

if sys.platform == "win32":
    FLAGS = []

NAMES = ("_kernels", "_svmlight")
extensions = [Extension(f"cwlearn.{name}", [f"cwlearn/{name}.pyx"], extra_compile_args=FLAGS) for name in NAMES]
if platform.machine() in ("x86_64", "AMD64") and sys.platform != "win32":
    v3 = [*FLAGS, "-march=x86-64-v3"]
    extensions += [
        Extension(f"cwlearn.{name}_v3", [f"cwlearn/{name}_v3.pyx"], extra_compile_args=v3, optional=True)
        for name in NAMES
    ]

setup(ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, force=DEBUG))
