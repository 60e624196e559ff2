"""Declares the compiled modules; everything else about the package is in pyproject.toml."""

import os
import platform
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, PlatformError

DEBUG = os.environ.get("CWLEARN_DEBUG") == "1"
# For tests/proof/covered.py: every line tells that it was run, very slowly.
TRACED = os.environ.get("CWLEARN_TRACED") == "1"

# One set of directives for all modules: a misspelt name here raises, in a .pyx header it is silently ignored.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": True,
    "autotestdict": False,
    "linetrace": TRACED,
}
# Without these, lines that run without the GIL stay silent, and Python 3.12 and later tell of lines in another way.
MACROS = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")] if TRACED else []
# The same bits on every machine: no fused multiply-add where the compiler likes it, no reordering of sums.
FLAGS = ["-O3", "-funroll-loops", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# Python's own flags ask for debug information, which takes a quarter of the time to compile.
if not DEBUG and "-g" not in os.environ.get("CFLAGS", "").split():
    FLAGS.append("-g0")
# The parser is faster if its short lists are not made vectors of, and if its loop has the registers for itself.
PARSER_FLAGS = ["-fno-tree-slp-vectorize", "-fno-inline-functions-called-once"]
KERNEL_FLAGS = ["-fno-inline-functions", "-fno-inline-functions-called-once"]
KERNEL_PARTS = [
    "_answers.pxi",
    "_averages.pxd",
    "_binary_row.h",
    "_binary_row.pxd",
    "_calibration.pxd",
    "_cells.pxd",
    "_checks.h",
    "_exact_labels.pxi",
    "_exponential.pxd",
    "_forgetting.pxd",
    "_found_cells.h",
    "_gradient_scores.h",
    "_parallel_labels.pxi",
    "_label_blocks.h",
    "_label_row.pxi",
    "_label_sets.pxi",
    "_label_scores.pxi",
    "_loops.h",
    "_margins.pxi",
    "_moves.h",
    "_one_row.pxi",
    "_prefetch.h",
    "_ranking.h",
    "_row.h",
    "_rules.pxd",
    "_scores.h",
    "_squares.pxd",
    "_subnormals.h",
    "_weighing.h",
]
PARSER_PARTS = ["_squares.pxd", "_subnormals.h", "text/_decimals.pxi", "text/_svmlight.h", "text/_utf8.pxd"]
HASHER_PARTS = [
    "_logarithm.pxd",
    "_squares.pxd",
    *(
        f"text/_{part}"
        for part in ("documents.pxi", "tables.pxi", "tokens.pxi", "ngrams.pxi", "columns.pxi", "names.pxi")
    ),
    *(f"text/_{part}" for part in ("growing.pxd", "murmur.pxd", "utf8.pxd")),
    *(f"text/_{part}.h" for part in ("edges", "publishing", "sorting", "tokens", "vectors", "word_hashes")),
]
ROW_PARTS = ["text/_label_texts.pxi", "text/_parsed_rows.pxi", "text/_sorting.h"]
RECORD_PARTS = [
    *(f"text/_{part}.pxi" for part in ("csv_records", "json_lists", "json_records", "spans")),
    "text/_scan.h",
    "text/_utf8.pxd",
]
VW_PARTS = [*PARSER_PARTS, "text/_murmur.pxd", "text/_scan.h", "text/_vw_rows.pxi"]
FIELD_PARTS = [*PARSER_PARTS, "text/_growing.pxd", "text/_murmur.pxd"]
# What Cython adds to modules that take arrays, compiled once for all of them. Runs once for each call, not in loops.
SHARED = "cwlearn._cython_shared"
SHARED_FLAGS = [*FLAGS, "-O1"]
VARIANTS: dict[str, list[str]] = {"": []}
if sys.platform == "win32":  # MSVC, whose /fp:precise keeps the order of sums
    FLAGS, PARSER_FLAGS, KERNEL_FLAGS, SHARED_FLAGS = ["/O2", "/fp:precise"], [], [], ["/O1", "/fp:precise"]
elif platform.machine() in ("x86_64", "AMD64"):
    VARIANTS["_v3"] = ["-march=x86-64-v3"]


def extensions(name: str, flags: list[str], parts: list[str], variants: dict[str, list[str]]) -> list[Extension]:
    """A compiled module in each of its variants."""
    return [
        Extension(
            f"cwlearn.{name.replace('/', '.')}{variant}",
            [f"cwlearn/{name}{variant}.pyx"],
            depends=[f"cwlearn/{part}" for part in parts],
            include_dirs=["cwlearn"],
            define_macros=MACROS,
            extra_compile_args=[*FLAGS, *flags, *more],
            optional=bool(variant),  # for compilers that do not know it
        )
        for variant, more in variants.items()
    ]


MODULES = [  # those that take longest to compile first, so that no core is idle while the last one is compiled
    *extensions("_kernels", KERNEL_FLAGS, KERNEL_PARTS, VARIANTS),
    *extensions("text/_hashing", [], HASHER_PARTS, {"": []}),
    *extensions("text/_records", [], RECORD_PARTS, {"": []}),
    *extensions("text/_svmlight", PARSER_FLAGS, [*PARSER_PARTS, *ROW_PARTS], VARIANTS),
    *extensions("text/_fields", [], FIELD_PARTS, {"": []}),
    *extensions("text/_vw", [], VW_PARTS, {"": []}),
    *extensions("core/_frequencies", [], ["_logarithm.pxd", "_squares.pxd"], {"": []}),
    *extensions("core/_label_counts", [], ["_subnormals.h"], {"": []}),
    Extension(SHARED, [], define_macros=MACROS, extra_compile_args=SHARED_FLAGS),
    *extensions("core/_probabilities", [], [], {"": []}),
]
CORES = os.cpu_count() or 1
NO_COMPILER = """
cwlearn has to be compiled here, and the C compiler does not work: {}.
Install one (Debian and Ubuntu: apt install gcc python3-dev; Fedora: dnf install gcc python3-devel;
macOS: xcode-select --install; Windows: Build Tools for Visual Studio),
or take a wheel, which needs none: pip install --only-binary cwlearn cwlearn"""


class Build(build_ext):
    """Makes C of the modules only when they are compiled, so that a source archive has no generated C."""

    def build_extensions(self) -> None:
        self.try_compiler()
        from Cython.Build import cythonize

        made = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            force=DEBUG or TRACED,
            nthreads=CORES,
            shared_utility_qualified_name=SHARED,
        )
        for module, with_c in zip(self.extensions, made, strict=True):
            assert module.name == with_c.name
            module.sources, module.depends = with_c.sources, with_c.depends
        super().build_extensions()

    def try_compiler(self) -> None:
        """Fail with a sentence before Cython has worked for a while, if there is no compiler or no header of Python."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "try.c")
            source.write_text("#include <Python.h>\n")
            try:
                self.compiler.compile([str(source)], output_dir=folder)
            except (CompileError, PlatformError) as error:
                sys.exit(NO_COMPILER.format(error))


setup(ext_modules=MODULES, cmdclass={"build_ext": Build}, options={"build_ext": {"parallel": CORES}})
