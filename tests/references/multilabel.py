"""A slow reference of rows with any number of labels: a binary reference for each label, one after the other."""


class MultiLabelReference:
    """One binary learner for each label: the rows that have the label are +1, all others -1."""

    def __init__(self, binaries):
        self.binaries = binaries

    def learn(self, X, sets, weights=None):
        for label, binary in enumerate(self.binaries):
            binary.learn(X, [1.0 if label in labels else -1.0 for labels in sets], weights)
        return self

    @property
    def updates(self):
        return sum(binary.updates for binary in self.binaries)

    @property
    def mistakes(self):
        return sum(binary.mistakes for binary in self.binaries)
