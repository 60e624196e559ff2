"""The order of the examples: from what most people want to what few do."""

SUBJECTS = [
    "spam",
    "confidence",
    "race",
    "probabilities",
    "stream",
    "wrong_labels",
    "digits",
    "merging",
    "covariance",
    "kernel",
    "regression",
    "sparsity",
    "hashing_speed",
    "bounds",
]


class BySubject:
    """A key for the names of files, as sphinx-gallery takes it; a new example comes last."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> int:
        subject = name.removeprefix("plot_").removesuffix(".py")
        return SUBJECTS.index(subject) if subject in SUBJECTS else len(SUBJECTS)
