"""A row of two labels: from the cells, and back after a step."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from cwlearn._cells cimport (
    Gaussian, Row, Rule, Upcoming, Weighing, centre_of, floating, index_t, move_row, prefetch, sums_gradients,
    weighing_of,
)
from cwlearn._rules cimport EXACT, FIXED, KL, L2

cdef extern from "_binary_row.h":
    bint SUMS_WHILE_LOADING "CWLEARN_SUMS_WHILE_LOADING"
    bint load_floats "cwlearn_load_float_int32_t" (
        const Row* row, double* sums, const float* cells, uint64_t n_features, const int32_t* indices,
        const float* values, const int32_t* later, Py_ssize_t n_later, const Weighing* by) noexcept nogil
    bint load_floats_of_long "cwlearn_load_float_int64_t" (
        const Row* row, double* sums, const float* cells, uint64_t n_features, const int64_t* indices,
        const float* values, const int64_t* later, Py_ssize_t n_later, const Weighing* by) noexcept nogil
    bint load_doubles "cwlearn_load_double_int32_t" (
        const Row* row, double* sums, const double* cells, uint64_t n_features, const int32_t* indices,
        const double* values, const int32_t* later, Py_ssize_t n_later, const Weighing* by) noexcept nogil
    bint load_doubles_of_long "cwlearn_load_double_int64_t" (
        const Row* row, double* sums, const double* cells, uint64_t n_features, const int64_t* indices,
        const double* values, const int64_t* later, Py_ssize_t n_later, const Weighing* by) noexcept nogil
    bint move_floats_kl "cwlearn_move_KL_float" (
        const Row* row, float* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint move_floats_l2 "cwlearn_move_L2_float" (
        const Row* row, float* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint move_floats_fixed "cwlearn_move_FIXED_float" (
        const Row* row, float* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint add_to_floats "cwlearn_move_GRADIENTS_float" (
        const Row* row, float* cells, double alpha, double centre, double v, double floor) noexcept nogil
    bint move_doubles_kl "cwlearn_move_KL_double" (
        const Row* row, double* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint move_doubles_l2 "cwlearn_move_L2_double" (
        const Row* row, double* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint move_doubles_fixed "cwlearn_move_FIXED_double" (
        const Row* row, double* cells, double alpha, double gain, double v, double floor) noexcept nogil
    bint add_to_doubles "cwlearn_move_GRADIENTS_double" (
        const Row* row, double* cells, double alpha, double centre, double v, double floor) noexcept nogil


cdef inline bint load_row(
    Row* row, Gaussian* margin, const floating* cells, uint64_t n_features, const index_t* indices,
    const floating* values, Py_ssize_t nnz, double bias, Upcoming upcoming, const Rule* rule,
) noexcept nogil:
    """Copy the cells of a row, the intercept first; False if a column is out of range.

    Where SUMS_WHILE_LOADING, `margin` is that of `margin_of` for rules that are not inclusive; or, if the rule sums
    gradients, its weights are filled in, and `margin` is theirs.  Without a rule, cells are means and variances.
    """
    cdef Weighing by
    cdef bint weighs = rule != NULL and sums_gradients(rule)
    cdef const index_t* later = <const index_t*> upcoming.indices
    cdef double[4] sums
    cdef bint exist
    cdef Py_ssize_t k
    cdef const Weighing* weighing = NULL
    if weighs:
        by = weighing_of(rule)
        weighing = &by
    row.n = nnz + 1
    row.mean[0] = cells[0]
    row.variance[0] = cells[1]
    row.x[0] = bias
    for k in range(nnz, upcoming.nnz):
        prefetch(cells + 2 * <Py_ssize_t> later[k] + 2)
    if floating is float:
        if index_t is int32_t:
            exist = load_floats(row, sums, cells, n_features, indices, values, later, upcoming.nnz, weighing)
        else:
            exist = load_floats_of_long(row, sums, cells, n_features, indices, values, later, upcoming.nnz, weighing)
    elif index_t is int32_t:
        exist = load_doubles(row, sums, cells, n_features, indices, values, later, upcoming.nnz, weighing)
    else:
        exist = load_doubles_of_long(row, sums, cells, n_features, indices, values, later, upcoming.nnz, weighing)
    margin[0] = Gaussian(sums[0] + sums[1], sums[2] + sums[3])
    if weighs:
        margin.variance *= rule.initial_variance
    return exist


cdef inline void store_row(const Row* row, floating* cells) noexcept nogil:
    cdef floating* cell
    cdef Py_ssize_t k
    cells[0] = <floating> row.mean[0]
    cells[1] = <floating> row.variance[0]
    for k in range(row.n - 1):
        cell = cells + 2 * row.columns[k] + 2
        cell[0] = <floating> row.mean[k + 1]
        cell[1] = <floating> row.variance[k + 1]


cdef inline void move_and_store(
    const Row* row, floating* cells, const Rule* rule, double alpha, double gain, double v,
) noexcept nogil:
    """`move_row` and `store_row`, at once if possible."""
    cdef bint done = False
    cdef double scaled
    if rule.projection == KL or rule.projection == EXACT:
        if floating is float:
            done = move_floats_kl(row, cells, alpha, gain, v, rule.floor)
        else:
            done = move_doubles_kl(row, cells, alpha, gain, v, rule.floor)
    elif rule.projection == L2:
        if floating is float:
            done = move_floats_l2(row, cells, alpha, gain, v, rule.floor)
        else:
            done = move_doubles_l2(row, cells, alpha, gain, v, rule.floor)
    elif rule.projection == FIXED:
        if floating is float:
            done = move_floats_fixed(row, cells, alpha, gain, v, rule.floor)
        else:
            done = move_doubles_fixed(row, cells, alpha, gain, v, rule.floor)
    elif sums_gradients(rule):
        scaled = alpha * sqrt(rule.initial_variance)
        if floating is float:
            done = add_to_floats(row, cells, scaled, centre_of(rule), v, rule.floor)
        else:
            done = add_to_doubles(row, cells, scaled, centre_of(rule), v, rule.floor)
    if not done:
        move_row(row, rule, alpha, gain, v)
        store_row(row, cells)
