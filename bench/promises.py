"""Promises of speed: what was aimed at, and whether it was reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.report import Report, Row
from bench.timing import Times


def promise(what: str, target: str, measured: str, kept: bool) -> Row:
    return what, target, measured, "pass" if kept else "**fail**"


def speed_ups(where: str, times: Mapping[str, Times], ours: str, targets: Mapping[str, float]) -> Iterable[Row]:
    for rival, target in targets.items():
        if ours in times and rival in times:
            ratio = times[rival].best / times[ours].best
            yield promise(f"{where}: {ours} against {rival}", f"≥ {target} x", f"{ratio:.1f} x", ratio >= target)


def report_promises(report: Report, rows: list[Row]) -> None:
    if rows:
        report.table(("promise", "target", "measured", ""), rows)
