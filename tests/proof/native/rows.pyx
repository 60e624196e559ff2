"""Door: the compiled checks of matrices and rows, against plain loops; what they let through is scored and learned."""

include "../../../cwlearn/_kernels.pyx"
include "drive.pxi"

from libc.stdint cimport int8_t

cdef enum:
    MOST = 16


cdef class Room:
    """Arrays of matrices with so many rows and entries."""

    cdef double* squares
    cdef int64_t* indptr
    cdef int32_t* narrow
    cdef int64_t* wide
    cdef float* values
    cdef tuple arrays, narrow_call, wide_call, narrow_row, wide_row

    def __init__(self, int64_t n_rows, int64_t nnz, cells, mean, variance):
        cdef float[::1] cells_view = cells
        squares, indptr, values = np.zeros(n_rows), np.zeros(n_rows + 1, np.int64), np.zeros(nnz, np.float32)
        narrow, wide = np.zeros(nnz, np.int32), np.zeros(nnz, np.int64)
        self.arrays = squares, indptr, values, narrow, wide
        self.squares, self.indptr = <double*> address(squares), <int64_t*> address(indptr)
        self.narrow, self.wide, self.values = <int32_t*> address(narrow), <int64_t*> address(wide), <float*> address(values)
        first, last = (view_double(squares), view64(indptr)), (view_float(values),)
        self.narrow_call, self.wide_call = (*first, view32(narrow), *last), (*first, view64(wide), *last)
        last = *last, view_double(mean), view_double(variance), 0.0, False, 1
        self.narrow_row, self.wide_row = (<object> cells_view, view32(narrow), *last), (<object> cells_view, view64(wide), *last)


CELLS = [np.ones(2 * (width + 1), np.float32) for width in range(1, 9)]
MEAN, VARIANCE = np.zeros(1), np.zeros(1)
ROOMS = [[[Room(n_rows, nnz, CELLS[width], MEAN, VARIANCE) for width in range(8)] for nnz in range(MOST)] for n_rows in range(6)]
CHECKS = [check_rows.__signatures__["int32_t|float"], check_rows.__signatures__["int64_t|float"]]
MEASURES = [measure_row.__signatures__[f"float|{name}"] for name in ("int32_t", "int64_t")]


cdef void run(const uint8_t* data, int64_t size) except *:
    cdef uint8_t[8 + 16 * MOST] bytes_given
    cdef int64_t n_rows, nnz, width, row, k, column, bound
    cdef int64_t bad = -1
    cdef bint canonical = True
    cdef bint rises, exists, is_wide
    cdef float value
    cdef double square
    cdef Room room
    memset(bytes_given, 0, sizeof(bytes_given))
    memcpy(bytes_given, data, min(size, <int64_t> sizeof(bytes_given)))
    n_rows, nnz, width = bytes_given[0] % 6, bytes_given[1] % MOST, bytes_given[2] % 8 + 1
    is_wide = bytes_given[3] & 1
    room = <Room> (<list> (<list> (<list> ROOMS)[n_rows])[nnz])[width - 1]
    bound = 0
    for row in range(n_rows):               # bounds are sound here: NumPy has checked them
        room.indptr[row] = bound
        bound += bytes_given[4] >> row & 1 and bytes_given[5] % (nnz - bound + 1)
    room.indptr[n_rows] = nnz if n_rows else 0
    for k in range(nnz):
        if bytes_given[3] & 2:              # anything
            memcpy(&column, bytes_given + 8 + 12 * k, 8)
        else:                               # small numbers, most of them sound
            column = <int8_t> bytes_given[8 + 12 * k] % 10
        room.wide[k] = column
        room.narrow[k] = <int32_t> column
        memcpy(&value, bytes_given + 16 + 12 * k, 4)
        room.values[k] = value
    for row in range(n_rows):
        rises, exists = True, True
        for k in range(room.indptr[row], room.indptr[row + 1]):
            column = room.wide[k] if is_wide else room.narrow[k]
            exists = exists and 0 <= column < width
            if k > room.indptr[row]:
                rises = rises and column > (room.wide[k - 1] if is_wide else room.narrow[k - 1])
        canonical = canonical and rises
        if not exists:
            bad = row
            break
    found, is_canonical = CHECKS[is_wide](*(room.wide_call if is_wide else room.narrow_call), width)
    if found != bad or is_canonical != canonical:
        differ(b"what is accepted")
    for row in range(n_rows if bad < 0 else bad):
        square = 0
        for k in range(room.indptr[row], room.indptr[row + 1]):
            square += <double> room.values[k] * room.values[k]
        if square - square == 0 and not (-1e-12 * square <= room.squares[row] - square <= 1e-12 * square):
            differ(b"squared length")
    rises, exists = True, True              # the same entries as one row
    for k in range(nnz):
        column = room.wide[k] if is_wide else room.narrow[k]
        exists = exists and 0 <= column < width
        if k:
            rises = rises and column > (room.wide[k - 1] if is_wide else room.narrow[k - 1])
    if (MEASURES[is_wide](*(room.wide_row if is_wide else room.narrow_row)) is not None) and not (rises and exists):
        differ(b"a row that is measured")
