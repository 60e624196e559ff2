"""The compiled modules with sanitizers, in a copy of the project, and the tests or the fuzzer with them.

    python -m tests.proof.sanitized pytest [ARGUMENTS]          the tests, built by gcc with ASan and UBSan
    python -m tests.proof.sanitized fuzz TARGET [ARGUMENTS]     the fuzzer, built by clang, guided by coverage

`--build FOLDER` before these words keeps the copy there, and takes it as it is the next time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.proof.special_builds import build

# -fno-wrapv undoes a flag of Python's own that would hide signed overflow.
CHECKED = "-fno-wrapv -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
ASAN = "detect_leaks=0:exitcode=99:allocator_may_return_null=1"
QUICK = "malloc_context_size=1:quarantine_size_mb=1:max_malloc_fill_size=64"  # for the fuzzer, which allocates a lot
UBSAN = "print_stacktrace=1:halt_on_error=1"


def gcc(*sanitizers: str) -> tuple[dict[str, str], str]:
    """Variables for the build, and what must be loaded before anything else."""
    flags = f"-fsanitize={','.join(sanitizers)}"
    names = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}
    libraries = [
        subprocess.check_output(["gcc", f"-print-file-name=lib{names[name]}.so"], text=True).strip()
        for name in sanitizers
    ]
    return {"CFLAGS": f"{flags} {CHECKED}", "LDFLAGS": flags}, " ".join(libraries)


def _clang() -> tuple[dict[str, str], str]:
    names = [f"clang-{version}" for version in range(21, 13, -1)] + ["clang"]
    compiler = next((path for name in names if (path := shutil.which(name))), None)
    if compiler is None:
        sys.exit("clang is needed, since gcc cannot guide the fuzzer: install Debian's clang-16 or a later one")
    import atheris

    flags = f"-fsanitize=address,undefined,fuzzer-no-link {CHECKED}"
    variables = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "CFLAGS": flags}
    return variables, f"{atheris.path()}/asan_with_fuzzer.so"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    parser.add_argument("what", choices=["pytest", "fuzz"])
    parser.add_argument("words", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    variables, preloaded = gcc("address", "undefined") if arguments.what == "pytest" else _clang()
    modules = {"pytest": ["pytest", "-p", "no:cacheprovider"], "fuzz": ["tests.proof.fuzz"]}[arguments.what]
    with build(arguments.build, variables) as folder:
        environment = {
            **os.environ,
            "ASAN_OPTIONS": ASAN if arguments.what == "pytest" else f"{ASAN}:{QUICK}",
            "UBSAN_OPTIONS": UBSAN,
            "PYTHONPATH": str(folder),
            "LD_PRELOAD": preloaded,
        }
        if (
            arguments.what == "pytest"
        ):  # the fuzzer has only arrays to monitor, and no time to monitor all other objects
            environment["PYTHONMALLOC"] = "malloc"
        return subprocess.run(
            [sys.executable, "-m", *modules, *arguments.words], cwd=folder, env=environment
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
