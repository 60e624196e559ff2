"""river's FTRL-Proximal: reads rows, labels and parameters as JSON, and prints the weights after each epoch.

river's LogisticRegression scores a row with the weights of one update earlier: its optimiser makes weights of z and n
at the beginning of a step.  Here a step without a gradient comes first, so that a row is scored as in Algorithm 1 of
McMahan et al. (KDD 2013); everything else is river's.
"""

import json
import math
import sys

from river import optim

task = json.load(sys.stdin)
optimizer = optim.FTRLProximal(**task["parameters"])
columns = range(len(task["rows"][0]))


def weights_now():
    """The weights that river makes of z and n; those of which it makes none are 0."""
    made = {}
    optimizer.step(made, dict.fromkeys(columns, 0.0))
    return {column: made.get(column, 0.0) for column in columns}


weights = []
for _ in range(task["epochs"]):
    for row, label in zip(task["rows"], task["labels"], strict=True):
        w = weights_now()
        chance = 1 / (1 + math.exp(-sum(w[column] * row[column] for column in columns)))
        optimizer.step(w, {column: (chance - label) * row[column] for column in columns})
    weights.append([*weights_now().values()])
json.dump(weights, sys.stdout)
