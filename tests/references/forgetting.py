"""A slow reference of forgetting: after every row all variances grow, whether a row needs them or not.

    K93  Kulhavy, Zarrop, "On a general concept of forgetting", Int. J. Control 58, 1993: the stabilised form, whose
         precision is a mixture of the one so far and that of the prior, here with the mean left as it is

It shares no code with the package, which lets a variance grow only when a row reads it.
"""

import numpy as np


def forget(reference, half_life):
    """One row passes: the precision beyond that of the prior falls by the factor that halves it in a half-life."""
    binary = getattr(reference, "binary", reference)
    kept, prior = 0.5 ** (1 / half_life), 1 / binary.initial_variance
    binary.variance = 1 / (prior + kept * (1 / binary.variance - prior))
    if binary.covariance == "inclusive":  # SOP keeps the precision A, and z = A mean
        binary._A = 1 / binary.variance
        binary._z = binary._A * binary.mean


def learn(reference, X, y, half_life, weights=None):
    """Learn row by row; what follows the last row has been forgotten for one row more."""
    weights = np.ones(len(y)) if weights is None else weights
    for row, label, weight in zip(np.asarray(X), y, weights, strict=True):
        reference.learn([row], [label], [weight])
        if weight:
            forget(reference, half_life)
    return reference
