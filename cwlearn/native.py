"""The compiled loops in the variant for this processor; all variants give the same results to the last bit."""

from contextlib import suppress

from cwlearn._kernels import (
    RoomForOne,
    answer_rows,
    check_rows,
    learn_alone,
    learn_rows,
    margin_rows,
    measure_row,
    runs_v3,
)
from cwlearn.text._svmlight import parse_rows

if runs_v3():
    with suppress(ImportError):  # built only where the compiler supports it
        from cwlearn._kernels_v3 import (
            RoomForOne,
            answer_rows,
            check_rows,
            learn_alone,
            learn_rows,
            margin_rows,
            measure_row,
        )
        from cwlearn.text._svmlight_v3 import parse_rows

__all__ = [
    "RoomForOne",
    "answer_rows",
    "check_rows",
    "learn_alone",
    "learn_rows",
    "margin_rows",
    "measure_row",
    "parse_rows",
]
