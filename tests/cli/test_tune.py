"""`cwlearn tune`: its table, and what it refuses."""

from __future__ import annotations

import re

import pytest

from tests.text_cases import fail, succeed


def test_tune_on_the_command_line(text):
    output = succeed("tune", text, "-a", "cw-variance", "--grid", "confidence=0.6,0.9", "--epochs", 3).out
    assert output.count(" %") == 2
    assert output.count("<- best") == 1
    numbers = r"calibration error (0\.\d{3}), log loss (\d+\.\d{3})"
    after, loss, before, loss_before = map(
        float, re.search(rf"\n  its probabilities: {numbers}; uncalibrated: {numbers}\n", output).groups()
    )
    assert (after, loss) != (before, loss_before)
    assert re.search(
        r"cwlearn train .*data\.svm -m MODEL -a cw --form variance --confidence 0\.[69] --epochs [123]", output
    )
    report = succeed("tune", text, "-a", "svm", "--grid", "C=0.1,1", "--json").json
    assert report["setting"]["C"] in (0.1, 1)
    assert len(report["tried"]) == 2
    assert report["log_loss"] is report["calibration_error_before"] is None  # it has no probabilities


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-a", "cw", "--grid", "confidence"], "--grid must be NAME=V1,V2,..., got 'confidence'"),
        (["-a", "cw", "--grid", "r=1"], "cw has no parameter r to tune; it has"),
        (["-a", "cw", "--grid", "confidence=2"], "--grid confidence must be a number"),
        (["-a", "cw-variance", "--grid", "form=stdev"], "no parameter form to tune"),
        (["--held-out", "0.9"], "must be a number with 0 < held_out"),
    ],
)
def test_tune_refuses_bad_flags(text, flags, message):
    assert message in fail("tune", text, *flags, status=2)
