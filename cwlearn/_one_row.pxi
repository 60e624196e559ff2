"""One row by itself, for callers to whom microseconds matter: a part of `_kernels.pyx`."""

cdef extern from "_checks.h":
    bint CHECKS_AT_ONCE "CWLEARN_CHECKS_AT_ONCE"
    bint check_floats "cwlearn_check_float_int32_t" (
        const int32_t* columns, const float* values, Py_ssize_t n, double* square) noexcept nogil
    bint check_floats_of_long "cwlearn_check_float_int64_t" (
        const int64_t* columns, const float* values, Py_ssize_t n, double* square) noexcept nogil
    bint check_doubles "cwlearn_check_double_int32_t" (
        const int32_t* columns, const double* values, Py_ssize_t n, double* square) noexcept nogil
    bint check_doubles_of_long "cwlearn_check_double_int64_t" (
        const int64_t* columns, const double* values, Py_ssize_t n, double* square) noexcept nogil


cdef inline bint columns_rise(const index_t* columns, Py_ssize_t n) noexcept nogil:
    """Whether each column is larger than the one before it."""
    cdef bint disordered = False
    cdef Py_ssize_t k
    for k in range(1, n):
        disordered |= columns[k] <= columns[k - 1]
    return not disordered


cdef inline bint check_row(
    const index_t* columns, const floating* values, Py_ssize_t n, double* square,
) noexcept nogil:
    """Whether each column is larger than the one before it; `square` becomes the squared length of the row."""
    if not CHECKS_AT_ONCE:
        square[0] = squared_length(values, n)
        return columns_rise(columns, n)
    if floating is float:
        if index_t is int32_t:
            return check_floats(columns, values, n, square)
        return check_floats_of_long(columns, values, n, square)
    if index_t is int32_t:
        return check_doubles(columns, values, n, square)
    return check_doubles_of_long(columns, values, n, square)


cdef inline bint columns_exist(const index_t* columns, Py_ssize_t n, int64_t n_features) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if not 0 <= columns[k] < n_features:
            return False
    return True


cdef inline bint is_row(
    const index_t[::1] indices, const floating[::1] values, uint64_t n_features,
) noexcept nogil:
    """Whether columns and values are those of a row: aligned, and columns rise and exist.

    Rows that are not in order are left to `check_rows`; `load_row` and `find_cells` compare columns again.
    """
    cdef Py_ssize_t nnz = indices.shape[0]
    if values.shape[0] != nnz:
        return False
    if nnz == 0:
        return True
    if <size_t> &indices[0] % sizeof(index_t) or <size_t> &values[0] % sizeof(floating):
        return False                                 # not aligned
    return indices[0] >= 0 and <uint64_t> indices[nnz - 1] < n_features and columns_rise(&indices[0], nnz)


def measure_row(
    const floating[::1] cells, const index_t[::1] indices, const floating[::1] values, double[::1] mean,
    double[::1] variance, double bias, bint inclusive, Py_ssize_t blocks,
):
    """Check a row, and measure its margin as `margin_rows` does: (squared length, mean, variance).

    With several blocks, `mean` and, unless it is empty, `variance` take a number for each, and the tuple has zeros.
    None if the row is not sound: its columns must rise and exist, and its squared length must be finite.
    """
    cdef Py_ssize_t nnz = indices.shape[0]
    cdef Py_ssize_t length = nnz + 1 + blocks + 3    # of each line of scratch memory: a row, or the scores of labels
    cdef uint64_t n_features
    cdef double square
    cdef double* lines
    cdef int64_t* places
    cdef Gaussian margin = Gaussian(0, 0)
    cdef bint sound
    cdef unsigned int before
    if blocks < 1 or cells.shape[0] < 2 * blocks:
        raise ValueError("a model has an intercept")
    if blocks > 1 and (mean.shape[0] != blocks or variance.shape[0] not in (0, blocks)):
        raise ValueError("mean and variance need a number for each label")
    n_features = cells.shape[0] // (2 * blocks) - 1
    if not is_row(indices, values, n_features):
        return None
    lines = <double*> malloc(3 * length * sizeof(double))
    places = <int64_t*> malloc(length * sizeof(int64_t))
    if lines == NULL or places == NULL:
        free(lines)
        free(places)
        raise MemoryError
    before = keep_subnormals()
    square = squared_length(&values[0], nnz) if nnz else 0
    if blocks == 1:
        sound = measure_two(&margin, cells, indices, values, lines, length, places, bias, inclusive)
    else:
        sound = measure_blocks(mean, variance, cells, indices, values, lines, length, places, bias, inclusive)
    as_before(before)
    free(lines)
    free(places)
    return (square, margin.mean, margin.variance) if sound and isfinite(square) else None


cdef inline bint measure_two(
    Gaussian* margin, const floating[::1] cells, const index_t[::1] indices, const floating[::1] values, double* lines,
    Py_ssize_t length, int64_t* places, double bias, bint inclusive,
) noexcept nogil:
    cdef Row row = Row(lines, lines + length, lines + 2 * length, NULL, places, 0)
    cdef Py_ssize_t nnz = indices.shape[0]
    if not load_row(
        &row, margin, &cells[0], cells.shape[0] // 2 - 1, &indices[0] if nnz else NULL, &values[0] if nnz else NULL,
        nnz, bias, Upcoming(NULL, 0), NULL,
    ):
        return False
    if inclusive or not SUMS_WHILE_LOADING:
        margin[0] = margin_of(&row, inclusive, 0)
    return True


cdef inline bint measure_blocks(
    double[::1] mean, double[::1] variance, const floating[::1] cells, const index_t[::1] indices,
    const floating[::1] values, double* lines, Py_ssize_t length, int64_t* places, double bias, bint inclusive,
) noexcept nogil:
    cdef Cells at = Cells(0, mean.shape[0], places, lines, NULL, 0, False, Clock(NULL, 0, 0, 0))
    cdef Py_ssize_t nnz = indices.shape[0]
    cdef Py_ssize_t blocks = mean.shape[0]
    if not find_cells(
        &at, cells.shape[0] // (2 * blocks) - 1, &indices[0] if nnz else NULL, &values[0] if nnz else NULL, nnz, bias,
        Upcoming(NULL, 0),
    ):
        return False
    score_labels(
        lines + length, &variance[0] if variance.shape[0] else NULL, &cells[0], &at, blocks, inclusive, 0,
    )
    memcpy(&mean[0], lines + length, blocks * sizeof(double))
    return True


@cython.final
@cython.auto_pickle(False)
cdef class RoomForOne:
    """What it takes to learn from one row besides the model and the row, made once for many rows.

    Making it takes as long as learning a row.
    scratch, places   those of `learn_rows`, for rows of up to scratch.shape[1] - 1 entries
    """

    cdef Rule rule
    cdef double[:, ::1] scratch
    cdef int64_t[:, ::1] places
    cdef int64_t[::1] indptr
    cdef int64_t[::1] order
    cdef uint8_t[::1] fresh
    cdef double[::1] square
    cdef double[::1] target
    cdef double[::1] weight

    def __init__(self, Rule rule, double[:, ::1] scratch, int64_t[:, ::1] places):
        self.rule, self.scratch, self.places = rule, scratch, places
        self.indptr = view.array((2,), sizeof(int64_t), "q")
        self.order = view.array((1,), sizeof(int64_t), "q")
        self.fresh = view.array((1,), sizeof(uint8_t), "B")
        self.square = view.array((1,), sizeof(double), "d")
        self.target = view.array((1,), sizeof(double), "d")
        self.weight = view.array((1,), sizeof(double), "d")
        self.indptr[0] = self.order[0] = 0
        self.fresh[0] = True


def learn_alone(
    RoomForOne room not None, floating[::1] cells, double[::1] average, double[::1] stamps,
    const index_t[::1] indices, const floating[::1] values, double target, double weight, uint8_t[::1] counts,
):
    """Check a row, and learn from it as `learn_rows` does.

    False if the row is not sound (see `measure_row`) or cannot be learned; then nothing has changed.
    """
    cdef Py_ssize_t nnz = indices.shape[0]
    cdef Py_ssize_t blocks = room.rule.blocks
    cdef unsigned int before
    if nnz >= room.scratch.shape[1]:
        raise ValueError("the row is longer than the room for it")
    if not is_row(indices, values, cells.shape[0] // (2 * blocks) - 1):
        return False
    before = keep_subnormals()
    room.square[0] = squared_length(&values[0], nnz) if nnz else 0
    as_before(before)
    if not isfinite(room.square[0]):
        return False
    room.indptr[1] = nnz
    room.target[0] = target
    room.weight[0] = weight
    return learn_in_order[floating, index_t](
        cells, average, stamps, room.scratch, room.places, room.indptr, indices, values, room.square, room.target,
        room.weight, room.fresh, room.order, room.rule, counts, None, None, None,
    ) == 1
