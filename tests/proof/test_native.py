"""Doors and their slow twins on inputs that failed once, and on changes of them: a moment of `tests.proof.native`."""

from __future__ import annotations

import pickle
import random
import shutil
import subprocess
import sys

import pytest

from tests.proof.native.__main__ import CORPUS
from tests.proof.native.build import DOORS, compile_door

CHANGED = 2000  # inputs made of each that is kept
RUN = "import sys, pickle, {}_door as door; door.try_inputs(pickle.load(sys.stdin.buffer))"


def changed(text: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """One of the changes that libFuzzer makes, or several."""
    made = bytearray(text[:200])
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(made) + 1)
        match chance.randrange(5):
            case 0:
                made[place:place] = chance.randbytes(1)
            case 1:
                del made[place : place + chance.randint(1, 8)]
            case 2:
                made[place : place + 1] = chance.choice(b' \t\n\r\0:|,;"\\{}[]_.-+e019aA\x80\xc3\xff').to_bytes()
            case 3:
                made[place:place] = made[: chance.randint(1, 16)]
            case 4:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                made[place:place] = other[start : start + chance.randint(1, 32)]
    return bytes(made[:200])


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("cc"), reason="needs a C compiler of Unix")
@pytest.mark.parametrize("door", DOORS)
def test_a_door_agrees_with_its_slow_twin(door, tmp_path):
    compile_door(door, tmp_path, flags=["-O0"])  # to compile takes longer than to run
    kept = [path.read_bytes() for path in sorted((CORPUS / DOORS[door]).iterdir())]
    chance = random.Random(0)
    inputs = [text[:200] for text in kept] + [changed(text, kept, chance) for text in kept for _ in range(CHANGED)]
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {RUN.format(door)}"]
    done = subprocess.run(words, input=pickle.dumps(inputs), capture_output=True)  # a difference ends the process
    assert (done.returncode, done.stderr.decode()) == (0, "")
