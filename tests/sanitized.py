"""The compiled modules with sanitizers, in a copy of the project, and the tests or the fuzzer with them.

    python -m tests.sanitized pytest [ARGUMENTS]          the test suite, built by gcc with ASan and UBSan
    python -m tests.sanitized fuzz TARGET [ARGUMENTS]     the fuzzer, built by clang, which also guides it by coverage

-fno-wrapv undoes a flag of Python's own that would hide signed overflow.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOTH = "-fsanitize=address,undefined -fno-wrapv -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
ASAN = "detect_leaks=0:exitcode=99:allocator_may_return_null=1"
UBSAN = "print_stacktrace=1:halt_on_error=1"


def clang() -> str:
    names = [f"clang-{version}" for version in range(21, 13, -1)] + ["clang"]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("clang is needed, since gcc cannot guide the fuzzer: install Debian's clang-16 or a later one")
    return found


def build(folder: Path, environment: dict[str, str]) -> None:
    """Copy the files of the project, and compile them there."""
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in files:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    subprocess.run(words, cwd=folder, env={**os.environ, **environment}, check=True)


def _library(name: str) -> str:
    return subprocess.check_output(["gcc", f"-print-file-name=lib{name}.so"], text=True).strip()


def main(words: list[str]) -> int:
    if not words or words[0] not in ("pytest", "fuzz"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": UBSAN, "PYTHONMALLOC": "malloc", "PYTHONPATH": name}
        if words[0] == "fuzz":
            import atheris

            compiler = clang()
            flags = f"{BOTH},fuzzer-no-link".replace("undefined -f", "undefined,fuzzer-no-link -f", 1).removesuffix(
                ",fuzzer-no-link"
            )
            build(folder, {"CC": compiler, "LDSHARED": f"{compiler} -shared", "CFLAGS": flags})
            environment["LD_PRELOAD"] = f"{atheris.path()}/asan_with_fuzzer.so"
            command = [sys.executable, "-m", "tests.fuzz", *words[1:]]
        else:
            build(folder, {"CFLAGS": BOTH, "LDFLAGS": "-fsanitize=address,undefined"})
            libraries = [
                subprocess.check_output(["gcc", f"-print-file-name=lib{one}.so"], text=True).strip()
                for one in ("asan", "ubsan")
            ]
            environment["LD_PRELOAD"] = " ".join(libraries)
            command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words[1:]]
        return subprocess.run(command, cwd=folder, env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
