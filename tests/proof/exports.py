"""Exported scorers in C and JavaScript against Python: the same labels, and probabilities to 1e-6.

    python -m tests.proof.exports --documents 10000 --log docs/results/exports.md

Random documents of many scripts go through random models: analyzers, n-grams, accents, stop words, weights, norms, two
and more labels.  The C programs are compiled as C99 without warnings, with the sanitizers for addresses and undefined
behaviour.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cwlearn import AROWClassifier, PassiveAggressiveClassifier, PerceptronClassifier, SCWClassifier, TextClassifier
from cwlearn.core import model_file
from cwlearn.export.c_source import c_source
from cwlearn.export.js_source import js_source
from cwlearn.export.scorer import Scorer
from tests.hashing_cases import STOP_WORDS, random_documents

WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
NODE = """
const scorer = require(process.argv[1]);
const lines = require("fs").readFileSync(0, "utf8").split("\\n");
lines.pop();
for (const line of lines) {
  const { label, probabilities, prediction } = scorer.score(...JSON.parse(line));
  const numbers = prediction === undefined ? probabilities : [prediction];
  console.log([Math.max(0, scorer.labels.indexOf(label)), ...numbers].join(" "));
}
"""
CLASSIFIERS = [AROWClassifier, SCWClassifier, PerceptronClassifier, PassiveAggressiveClassifier]


def tools() -> dict[str, bool]:
    """Which languages can be tried here."""
    return {"c": shutil.which("gcc") is not None, "js": shutil.which("node") is not None}


def answers_of_c(source: str, lines: list[bytes], folder: Path, flags: list[str]) -> np.ndarray:
    """What a program in C answers to lines: the label, then its numbers."""
    (folder / "scorer.c").write_text(source)
    program = folder / "scorer"
    command = ["gcc", *WARNINGS, *flags, "-DCWLEARN_MAIN", folder / "scorer.c", "-o", program, "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([program], input=b"".join(line + b"\n" for line in lines), capture_output=True)
    assert done.returncode == 0, done.stderr
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


def check_bad_bytes(rng: random.Random, texts: list[str], folder: Path) -> None:
    """The program in C refuses exactly those bytes that Python does not decode; the sanitizers watch it."""
    lines = []
    for text in texts:
        line = bytearray(text.encode() or b"x")
        for _ in range(rng.randint(1, 3)):
            line[rng.randrange(len(line))] = rng.choice([0x80, 0xC3, 0xED, 0xF4, 0xFF, rng.randrange(256)])
        lines.append(bytes(line).replace(b"\n", b"\r"))
    done = subprocess.run([folder / "scorer"], input=b"".join(line + b"\n" for line in lines), capture_output=True)
    assert done.returncode == 0, done.stderr
    refused = [answer == b"-1" for answer in done.stdout.splitlines()]
    assert refused == [not is_utf8(line) for line in lines]


def is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def answers_of_js(source: str, calls: list[str], folder: Path) -> np.ndarray:
    """What a module of JavaScript answers to calls, each with its arguments as JSON."""
    (folder / "scorer.js").write_text(source)
    text = "".join(call + "\n" for call in calls).encode()
    done = subprocess.run(["node", "-e", NODE, folder / "scorer.js"], input=text, capture_output=True)
    assert done.returncode == 0, done.stderr
    return np.array([[float(word) for word in line.split()] for line in done.stdout.splitlines()])


def random_model(rng: random.Random, documents: list[str]) -> TextClassifier:
    """A model of random options, trained on some documents."""
    analyzer = rng.choice(["word", "word", "char", "char_wb"])
    options: dict[str, Any] = {
        "analyzer": analyzer,
        "ngram_range": rng.choice([(1, 1), (1, 2), (2, 2), (1, 3), (2, 4), (3, 5)]),
        "lowercase": rng.random() < 0.7,
        "strip_accents": rng.choice([None, None, "ascii", "unicode"]),
        "weighting": rng.choice(["count", "binary", "log"]),
        "idf": rng.random() < 0.6,
        "norm": rng.choice([None, "l1", "l2", "l2"]),
        "hash_bits": 10,
    }
    if analyzer == "word":
        options["token_pattern"] = rng.choice([r"(?u)\b\w\w+\b", r"\S+"])
        options["stop_words"] = rng.choice([None, STOP_WORDS])
    labels = ["no", "yes", 'per"haps\\?\n', "ελλ"][: rng.choice([2, 2, 3, 4])]
    classifier = rng.choice(CLASSIFIERS)(dtype=rng.choice(["float32", "float64"]), epochs=2, random_state=0)
    texts = [*documents, *(f"{label} {label}" for label in labels)]
    return TextClassifier(classifier, **options).fit(texts, [labels[len(text) % len(labels)] for text in texts])


def compare(documents: int, seed: int, models: int) -> dict[str, Any]:
    """Try so many models, on so many documents together; an assertion says what differs."""
    rng, found, worst, tried = random.Random(seed), 0, {"c": 0.0, "js": 0.0}, tools()
    each = max(1, documents // models)
    for _ in range(models):
        texts = [text.replace("\n", " ") for text in random_documents(rng, each, 60)]
        model = random_model(rng, texts[: min(300, each)])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model.save(folder / "m.npz")
            scorer = Scorer.of(model_file.load(folder / "m.npz"))
            expected = model.predict_proba(texts)
            labels = np.argmax(expected, axis=1)
            margins = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2]
            answers = {}
            if tried["c"]:
                lines = [text.encode() for text in texts]
                answers["c"] = answers_of_c(c_source(scorer), lines, folder, ["-O1", *SANITIZERS])
                check_bad_bytes(rng, texts, folder)
            if tried["js"]:
                calls = [as_json([text]) for text in texts]
                answers["js"] = answers_of_js(js_source(scorer), calls, folder)
        for language, numbers in answers.items():
            assert numbers.shape == (len(texts), 1 + expected.shape[1])
            worst[language] = max(worst[language], float(np.abs(numbers[:, 1:] - expected).max()))
            assert worst[language] < 1e-6, (language, worst)
            other = (numbers[:, 0] != labels) & (margins > 1e-9)  # of a tie, any label is right
            row = int(np.argmax(other))
            assert not other.any(), (language, numbers[row].tolist(), expected[row].tolist(), texts[row][:80])
        found += len(texts)
    return {"models": models, "documents": found, **{f"largest difference, {name}": worst[name] for name in worst}}


def as_json(value: Any) -> str:
    return json.dumps(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", help="write the result to this file")
    options = parser.parse_args()
    report = compare(options.documents, options.seed, options.models)
    text = "# Exported scorers against Python\n\n"
    words = f"--documents {options.documents} --models {options.models} --seed {options.seed}"
    text += f"`python -m tests.proof.exports {words}`\n\nAll labels are the same.\n\n| | |\n|---|---:|\n"
    text += "".join(
        f"| {name} | {number:,.3g} |\n" if isinstance(number, float) else f"| {name} | {number:,} |\n"
        for name, number in report.items()
    )
    print(text)
    if options.log:
        Path(options.log).write_text(text)


if __name__ == "__main__":
    main()
