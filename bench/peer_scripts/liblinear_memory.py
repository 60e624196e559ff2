"""LIBLINEAR's Python package: the seconds of one iteration over rows in memory."""

import sys
import time

from liblinear.liblinearutil import problem, svm_read_problem, train

y, X = svm_read_problem(sys.argv[1], return_scipy=True)
rows = problem(y, X)
start = time.perf_counter()
train(rows, "-q -s 1 -e 1e9")
print(time.perf_counter() - start)
