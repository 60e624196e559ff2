"""The options of training on shards, apart from it: `cwlearn train` needs them for its flags, and seldom the rest."""

from __future__ import annotations

from dataclasses import dataclass

from cwlearn.core.parameters import BOOLEAN, COUNT, HOW, NOTHING, Check, Options, option

ADDRESS = Check("an address such as tcp://host:8786", lambda value: isinstance(value, str) and value, str, "ADDRESS")


@dataclass(frozen=True)
class Sharing(Options):
    """How many shards are learned from at once, and how their models are merged."""

    workers: int | None = option(
        None,
        NOTHING | COUNT,
        "Train so many models at once, each on a shard (a file, or a part of one if there are fewer files), and merge "
        "them. By default one model learns all rows in turn.",
    )
    scheduler: str | None = option(
        None,
        NOTHING | ADDRESS,
        "Train on the workers of a Dask cluster. They must find the files under the same names.",
    )
    rounds: int = option(1, COUNT, "How often to train on all shards, each time from the last merged model.")
    how: str = option("posterior", HOW, "How to merge the models of shards: see `cwlearn merge`.")
    skip_bad_shards: bool = option(
        False, BOOLEAN, "Leave out shards that cannot be read or learned from, and report them, instead of failing."
    )

    @property
    def wanted(self) -> bool:
        return self.workers is not None or self.scheduler is not None
