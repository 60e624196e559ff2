"""cwlearn: the seconds of one epoch over a matrix."""

import sys
import time

from cwlearn import read_svmlight
from cwlearn.estimators.loading import CLASSIFIERS

algorithm, text = sys.argv[1:]
X, y = read_svmlight(text, dtype="float32")
model = CLASSIFIERS[algorithm](epochs=1, random_state=0)
model.fit(X[:100], y[:100])  # everything that happens only once happens now
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
