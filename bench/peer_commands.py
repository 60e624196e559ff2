"""The commands of cwlearn and its peers: the only place that says how each is trained and tested.

Words in capitals are placeholders: PYTHON and LIBLINEAR_PYTHON for interpreters, LIBLINEAR_TRAIN and LIBLINEAR_PREDICT
for commands, SCRIPTS for `bench/peer_scripts`; TRAIN and TEST for data files without their suffix; MODEL and OUT for
files to write; PASSES and BITS for numbers; STOP for the flags that end training after so many passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).with_name("peer_scripts")


@dataclass(frozen=True)
class Peer:
    """The commands of one candidate."""

    environment: str  # of `peer_environments`; "" for cwlearn itself
    train: str
    predict: str
    memory: str  # trains on rows in memory and prints the seconds; "" if they follow from those of five passes and one
    slow: bool = False  # so that one round is enough
    stop: Mapping[int, str] = field(default_factory=dict)  # STOP by the number of passes

    @property
    def suffix(self) -> str:
        """The suffix of the files that it reads."""
        return "vw" if "TRAIN.vw" in self.train else "svm"

    def command(self, template: str, passes: int, values: Mapping[str, Callable[[], object]]) -> list[str]:
        """The words of a command; only the values of placeholders that occur in it are computed."""
        placeholders = {"SCRIPTS": lambda: SCRIPTS, "PASSES": lambda: passes, **values}
        pattern = re.compile("|".join(rf"\b{name}\b" for name in placeholders))
        return [
            pattern.sub(lambda match: str(placeholders[match[0]]()), word)
            for word in template.replace("STOP", self.stop.get(passes, "")).split()
        ]


def _cwlearn(algorithm: str) -> Peer:
    return Peer(
        "",
        f"PYTHON -m cwlearn train TRAIN.svm -m MODEL -a {algorithm} --epochs PASSES --seed 0 --quiet",
        "PYTHON -m cwlearn predict TEST.svm -m MODEL -o OUT --quiet",
        f"PYTHON SCRIPTS/cwlearn_memory.py {algorithm} TRAIN.svm",
    )


def _vowpal_wabbit(flags: str) -> Peer:
    return Peer(
        "vowpalwabbit",
        f"PYTHON -m vowpalwabbit -d TRAIN.vw -f MODEL {flags} -b BITS --quiet STOP",
        "PYTHON -m vowpalwabbit -t -i MODEL -d TEST.vw -p OUT --quiet",
        "",
        stop={1: "", 5: "--passes 5 --holdout_off -k --cache_file MODEL.cache"},
    )


def _script(name: str, environment: str, algorithm: str, slow: bool = False) -> Peer:
    script = f"PYTHON SCRIPTS/{name}_peer.py"
    return Peer(
        environment,
        f"{script} train {algorithm} TRAIN.svm MODEL PASSES",
        f"{script} predict MODEL TEST.svm OUT",
        f"{script} memory {algorithm} TRAIN.svm",
        slow,
    )


PEERS = {
    "cwlearn AROW": _cwlearn("arow"),
    "cwlearn CW": _cwlearn("cw"),
    "cwlearn FTRL": _cwlearn("ftrl"),
    "cwlearn AdaGrad": _cwlearn("adagrad"),
    "Vowpal Wabbit": _vowpal_wabbit("--loss_function hinge"),
    "Vowpal Wabbit FTRL": _vowpal_wabbit("--ftrl --loss_function logistic"),
    "LIBLINEAR": Peer(
        "liblinear-tools",
        "LIBLINEAR_TRAIN -q -s 1 STOP TRAIN.svm MODEL",
        "LIBLINEAR_PREDICT -q TEST.svm MODEL OUT",
        "LIBLINEAR_PYTHON SCRIPTS/liblinear_memory.py TRAIN.svm",
        stop={1: "-e 1e9", 5: ""},  # so tolerant that it stops after one iteration; for five, its own criterion
    ),
    "scikit-learn SGD": _script("sklearn", "scikit-learn", "sgd"),
    "scikit-learn PA": _script("sklearn", "scikit-learn", "pa"),
    "river logistic": _script("river", "river", "logistic", slow=True),
    "river PA": _script("river", "river", "pa", slow=True),
}
