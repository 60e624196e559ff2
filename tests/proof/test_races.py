"""The sanitizer's reports as pairs of what two threads did; the sanitizer itself runs by `tests.proof.races`."""

from __future__ import annotations

from tests.proof.races import KNOWN, pairs

REPORT = """\
==================
WARNING: ThreadSanitizer: data race (pid=3571)
  Read of size 8 at 0x7b7400244b70 by thread T4:
    #0 cwlearn_tile_double_2 cwlearn/_scores.h:97 (_kernels_v3.so+0x169eb)
    #1 __pyx_pf_7cwlearn_11_kernels_v3_32margin_rows cwlearn/_kernels_v3.c:46373 (_kernels_v3.so+0x8c6f3)

  Previous write of size 8 at 0x7b7400244b70 by thread T6:
    #0 __pyx_fuse_1__pyx_f_7cwlearn_11_kernels_v3_store_block cwlearn/_kernels_v3.c:19522 (_kernels_v3.so+0x13b19)
    #1 __pyx_pf_7cwlearn_11_kernels_v3_22learn_rows cwlearn/_kernels_v3.c:42747 (_kernels_v3.so+0xc0354)

  Location is heap block of size 2080 at 0x7b7400244a00 allocated by main thread:
    #0 malloc tsan_interceptors_posix.cpp:647 (libtsan.so+0x3ebb8)

SUMMARY: ThreadSanitizer: data race cwlearn/_scores.h:97 in cwlearn_tile_double_2
==================
"""


def test_reports_become_pairs_of_which_one_is_known():
    assert {*pairs(REPORT)} == KNOWN
    both_write = REPORT.replace("Read of", "Atomic write of").replace("margin_rows", "hash_documents")
    freed = REPORT.replace("data race", "heap-use-after-free")
    alone = REPORT.replace("__pyx_pf_7cwlearn_11_kernels_v3_22learn_rows", "memcpy")
    found = pairs(REPORT + both_write + REPORT + freed + alone)
    assert found == {
        ("read by margin_rows", "write by learn_rows"): 2,
        ("write by hash_documents", "write by learn_rows"): 1,
        ("heap-use-after-free", "read by margin_rows", "write by learn_rows"): 1,
        ("read by margin_rows", "write by other code"): 1,
    }
    assert not pairs("")
