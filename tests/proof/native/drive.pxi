"""What every door needs: libFuzzer, and the end of the run where a door differs from its slow twin.

A door defines `run`, which raises an exception, or calls `differ`, for an input that must not be.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport fprintf, stderr
from libc.stdlib cimport abort
from libc.string cimport memchr, memcmp, memcpy, memset

import traceback

import numpy as np

cdef extern from *:
    """
    #ifdef WITHOUT_LIBFUZZER
    static int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const unsigned char *, size_t)) {
        (void) argc; (void) argv; (void) one; return -1;
    }
    #else
    int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const unsigned char *, size_t));
    #endif
    """
    int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*one)(const uint8_t*, size_t) noexcept)

cdef enum:
    LONGEST_INPUT = 256
    PADDING_BYTES = 64


cdef void differ(const char* what) noexcept nogil:
    fprintf(stderr, "differs from the slow twin: %s\n", what)
    abort()


cdef int try_input(const uint8_t* data, size_t size) noexcept:
    try:
        run(data, <int64_t> size)
    except BaseException:
        traceback.print_exc()
        abort()
    return 0


def fuzz(list words):
    """Run libFuzzer with its own flags; it ends the process."""
    cdef (char*)[64] argv
    cdef char** first = argv
    cdef int argc = <int> len(words)
    cdef int k
    kept = [word.encode() for word in words]
    if argc > 63:
        raise ValueError("too many flags")
    for k in range(argc):
        argv[k] = kept[k]
    argv[argc] = NULL
    return LLVMFuzzerRunDriver(&argc, &first, try_input)


def try_inputs(list inputs):
    """Try some inputs without libFuzzer."""
    cdef const uint8_t* data
    for text in inputs:
        data = text
        try_input(data, len(text))


cdef void* address(array) except NULL:
    return <void*> <size_t> array.ctypes.data


cdef object view64(array):
    """An array in the form that compiled functions take in no time."""
    cdef int64_t[::1] view = array
    return view


cdef object view32(array):
    cdef int32_t[::1] view = array
    return view


cdef object view8(array):
    cdef uint8_t[::1] view = array
    return view


cdef object view_double(array):
    cdef double[::1] view = array
    return view


cdef object view_float(array):
    cdef float[::1] view = array
    return view
