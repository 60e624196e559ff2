"""A slow reference of the naive Bayes prior, written from the papers alone.

RSTK  Rennie, Shih, Teevan, Karger, ICML 2003, complement naive Bayes: the weight of word i for class c is
      -log((N_ci~ + 1) / (N_c~ + n)), where ~ means all classes but c and n is the number of words
WM    Wang, Manning, ACL 2012, whose features are 0 or 1
"""

from math import log

LEAD = 1.0  # how far a label is ahead of the others in its own rows, on average
SPREAD = 32  # a squared ratio of so many times the mean has the initial variance


def ratios(X, y, n_labels, counted):
    """By feature and label, the weight of RSTK less its mean over the labels; none for a feature without counts."""
    features = [j for j in range(len(X[0])) if any(row[j] for row, counts in zip(X, counted, strict=True) if counts)]
    result = {}
    for label in range(n_labels):
        others = [row for row, other, counts in zip(X, y, counted, strict=True) if counts and other != label]
        having = {j: sum(1 for row in others if row[j]) for j in features}
        whole = sum(having.values())
        for j in features:
            result[j, label] = -log((having[j] + 1) / (whole + len(features)))
    for j in features:
        mean = sum(result[j, label] for label in range(n_labels)) / n_labels
        for label in range(n_labels):
            result[j, label] -= mean
    return result


def prior(X, y, n_labels, counted, initial_variance, floor):
    """By label (of two, for the second one), means and variances that the weights of features begin with."""
    found = ratios(X, y, n_labels, counted)
    labels = range(n_labels) if n_labels > 2 else [1]
    rows = [(row, label) for row, label, counts in zip(X, y, counted, strict=True) if counts]
    squares, usual, leads = [], {}, []
    for row, _ in rows:
        squares += [found[j, label] ** 2 for j, value in enumerate(row) if value for label in labels]
    for j in range(len(X[0])):
        values = [row[j] for row, _ in rows if row[j]]
        usual[j] = sum(values) / len(values) if values else 0.0
    for row, own in rows:  # as if every value were the usual one of its feature
        scores = [sum(usual[j] * found[j, label] for j, value in enumerate(row) if value) for label in range(n_labels)]
        others = [score for label, score in enumerate(scores) if label != own]
        leads.append(scores[own] - sum(others) / len(others))
    square, lead = sum(squares) / len(squares), sum(leads) / len(leads)
    if n_labels == 2:
        lead /= 2  # the score of two labels is that of the second one alone
    means, variances = [], []
    for label in labels:
        means.append([LEAD / lead * found.get((j, label), 0.0) if lead > 0 else 0.0 for j in range(len(X[0]))])
        variances.append(
            [
                min(initial_variance, max(floor, initial_variance * found[j, label] ** 2 / (SPREAD * square)))
                if (j, label) in found
                else initial_variance / SPREAD
                for j in range(len(X[0]))
            ]
        )
    return means, variances
