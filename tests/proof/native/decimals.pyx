"""Decimals: every float32 there and back, random doubles, cases half way between two, and lists of others."""

include "../../../cwlearn/text/_svmlight.pyx"
include "drive.pxi"
include "decimal_twin.pxi"

from libc.math cimport isfinite, nextafter
from libc.stdio cimport snprintf

from cwlearn.text.svmlight_errors import DECIMAL

cdef extern from *:
    """
    int shortest_float(char *out, float value);
    int shortest_double(char *out, double value);
    """
    int shortest_float(char* out, float value) nogil
    int shortest_double(char* out, double value) nogil

cdef enum:
    BLOCK = 4096              # numbers in a text
    WIDEST = 64               # bytes of a line


cdef void run(const uint8_t* data, int64_t size) except *:
    pass                      # no door of libFuzzer


TEXT = np.full(BLOCK * WIDEST + 2 * PADDING_BYTES, c"\n", np.uint8)
ROOM = BLOCK * WIDEST // 2 + 2
INDPTR, SQUARES, PLACES = np.zeros(ROOM + 1, np.int64), np.zeros(ROOM), np.zeros(ROOM, np.int64)
SINGLES, VALUES = np.zeros(ROOM, np.float32), np.zeros(ROOM)
NARROW = np.zeros(ROOM, np.int32)
ROWS = view_double(SQUARES), view64(PLACES), view_double(SQUARES.copy()), *(view64(PLACES.copy()) for _ in range(2))
NONE_WANTED = view64(np.zeros(0, np.int64))
SINGLE = parse_rows.__signatures__["int32_t|float"], (view64(INDPTR), view32(NARROW), view_float(SINGLES))
DOUBLE = parse_rows.__signatures__["int32_t|double"], (view64(INDPTR), view32(NARROW), view_double(VALUES))
cdef uint8_t* text = <uint8_t*> address(TEXT) + PADDING_BYTES
cdef float* singles = <float*> address(SINGLES)
cdef double* values = <double*> address(VALUES)


cdef object parse(kind, int64_t size, int64_t rows):
    """Read the text as rows of one value each."""
    function, arrays = kind
    status, n, *_ = function(*arrays, *ROWS, NONE_WANTED, view8(TEXT), PADDING_BYTES, PADDING_BYTES + size, 0, 0, 0, 0, 0)
    if status != FINE or n != rows:
        raise AssertionError(f"status {status} after {n} rows of {rows}: {bytes(TEXT[PADDING_BYTES:][:size]).splitlines()[n]}")


cdef inline uint64_t next_random(uint64_t* state) noexcept nogil:
    """splitmix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    state[0] += 0x9E3779B97F4A7C15u
    cdef uint64_t z = state[0]
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u
    z = (z ^ z >> 27) * 0x94D049BB133111EBu
    return z ^ z >> 31


def every_float(uint64_t first, uint64_t last, uint64_t step=1):
    """All finite float32 whose bits are from first to last, as their shortest decimals.

    Returns how many there are, and the bits of those that do not come back: a decimal is rounded to a double first, as
    by `float()`, and then to float32.  That each gets what this says by `strtod` is asserted.
    """
    cdef uint32_t[BLOCK] expected
    cdef uint64_t bits = first
    cdef double twice
    cdef float rounded
    others = []
    cdef uint32_t word
    cdef float value
    cdef int64_t size, n, k
    cdef int64_t total = 0
    while bits < last:
        size = n = 0
        while n < BLOCK and bits < last:
            word = <uint32_t> bits
            bits += step
            memcpy(&value, &word, 4)
            if not isfinite(value):
                continue
            memcpy(text + size, b"1:", 2)
            size += 2 + shortest_float(<char*> text + size + 2, value)
            text[size] = c"\n"
            size += 1
            expected[n] = word
            n += 1
        parse(SINGLE, size, n)
        for k in range(n):
            if memcmp(&singles[k], &expected[k], 4):
                memcpy(&value, &expected[k], 4)
                size = shortest_float(<char*> text, value)
                text[size] = c"\n"
                if not slow_decimal(text, text + size, &twice):
                    raise AssertionError(f"float32 of bits {expected[k]:#x} is no decimal")
                rounded = <float> twice
                if memcmp(&singles[k], &rounded, 4):
                    raise AssertionError(f"float32 of bits {expected[k]:#x}")
                others.append(expected[k])
        total += n
    return total, others


def random_doubles(int64_t count, uint64_t seed):
    """Finite doubles of random bits, as their shortest decimals."""
    cdef uint64_t[BLOCK] expected
    cdef double value
    cdef int64_t size, n, k
    cdef int64_t total = 0
    while total < count:
        size = n = 0
        while n < BLOCK:
            expected[n] = next_random(&seed)
            memcpy(&value, &expected[n], 8)
            if not isfinite(value):
                continue
            memcpy(text + size, b"1:", 2)
            size += 2 + shortest_double(<char*> text + size + 2, value)
            text[size] = c"\n"
            size += 1
            n += 1
        parse(DOUBLE, size, n)
        for k in range(n):
            if memcmp(&values[k], &expected[k], 8):
                raise AssertionError(f"double of bits {expected[k]:#x}")
        total += n
    return total


def half_way(int64_t count, uint64_t seed):
    """Numbers half way between two doubles, cut off after 1 to 40 digits, and read by strtod."""
    cdef double[BLOCK] expected
    cdef uint64_t bits
    cdef double value
    cdef long double middle
    cdef int64_t size, n, k, start
    cdef int64_t total = 0
    while total < count:
        size = n = 0
        while n < BLOCK:
            bits = next_random(&seed) & 0x7FFFFFFFFFFFFFFFu
            if bits & 3:                    # three of four are of usual size
                bits = bits & 0x000FFFFFFFFFFFFFu | (923 + (bits >> 52) % 200) << 52
            memcpy(&value, &bits, 8)
            if not isfinite(value) or not isfinite(nextafter(value, 1e308 * 10)):
                continue
            middle = (<long double> value + <long double> nextafter(value, 1e308 * 10)) / 2
            memcpy(text + size, b"1:", 2)
            start = size + 2
            size = start + snprintf(<char*> text + start, 56, b"%.*Le", <int> (next_random(&seed) % 40), middle)
            if not slow_decimal(text + start, text + size, &expected[n]):
                size = start - 2
                continue
            text[size] = c"\n"
            size += 1
            n += 1
        parse(DOUBLE, size, n)
        for k in range(n):
            if memcmp(&values[k], &expected[k], 8):
                raise AssertionError(f"number {total + k}: {values[k]!r}, but strtod says {expected[k]!r}")
        total += n
    return total


def published(list cases):
    """Pairs of a decimal and the bits of its double; returns how many are decimals that are not infinite."""
    cdef const uint8_t* start
    cdef double value
    cdef uint64_t bits
    cdef int64_t total = 0
    for given, expected in cases:
        padded = given + b"\n" + bytes(PADDING_BYTES)
        start = padded
        if read_long_number(start, &value) != start + len(given):
            if expected >> 52 & 0x7FF != 0x7FF and DECIMAL.fullmatch(given):
                raise AssertionError(f"{given!r} is refused")
            continue
        memcpy(&bits, &value, 8)
        if bits != expected:
            raise AssertionError(f"{given!r} is {value!r} of bits {bits:#x}, expected {expected:#x}")
        total += 1
    return total
