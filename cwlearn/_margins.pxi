"""The loop that scores rows: a part of `_kernels.pyx`."""


cdef int margins_in_order(
    double[::1] mean, double[::1] variance, double[::1] scores, const floating[::1] cells, double[:, ::1] scratch,
    int64_t[:, ::1] places, const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values,
    const int64_t[::1] order, double bias, bint inclusive, Py_ssize_t blocks,
) except -1:
    """`margin_rows`, for callers that have all this in C already."""
    cdef uint64_t n_features = cells.shape[0] // (2 * blocks) - 1
    cdef const floating* cell0 = &cells[0]
    # NULL + 0 is undefined in C; without entries, use any valid pointer.
    cdef const index_t* column0 = &indices[0] if indices.shape[0] else <const index_t*> &indptr[0]
    cdef const floating* value0 = &values[0] if values.shape[0] else <const floating*> &indptr[0]
    cdef Py_ssize_t t, i, z, nnz
    cdef Py_ssize_t distance = rows_ahead(indptr.shape[0], indices.shape[0], cells.shape[0] * sizeof(floating))
    cdef Row row = new_row(scratch, places)
    cdef Cells at = Cells(0, blocks, &places[0, 0], row.x, &places[1, 0], 0, False, Clock(NULL, 0, 0, 0))
    cdef Gaussian margin
    cdef Upcoming upcoming
    cdef double* variances
    cdef unsigned int before
    with nogil:
        before = keep_subnormals()
        for t in range(order.shape[0]):
            upcoming = look_ahead(t, distance, indptr, column0, value0, mean, mean, order)
            i = order[t]
            nnz = indptr[i + 1] - indptr[i]
            if blocks == 1:
                if not load_row(
                    &row, &margin, cell0, n_features, column0 + indptr[i], value0 + indptr[i], nnz, bias, upcoming,
                    NULL,
                ):
                    margin = Gaussian(NAN, NAN)
                elif inclusive or not SUMS_WHILE_LOADING:
                    margin = margin_of(&row, inclusive, 0)
                mean[i] = margin.mean
                variance[i] = margin.variance
                continue
            variances = &variance[i * blocks] if variance.shape[0] else NULL
            if find_cells(&at, n_features, column0 + indptr[i], value0 + indptr[i], nnz, bias, upcoming):
                score_labels(&scores[0], variances, cell0, &at, blocks, inclusive, 0)
            else:
                for z in range(blocks):
                    scores[z] = NAN
                    if variances != NULL:
                        variances[z] = NAN
            for z in range(blocks):
                mean[i * blocks + z] = scores[z]
        as_before(before)
    return 0


def margin_rows(
    double[::1] mean, double[::1] variance, double[::1] scores, const floating[::1] cells, double[:, ::1] scratch,
    int64_t[:, ::1] places, const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values,
    const int64_t[::1] order, double bias, bint inclusive, Py_ssize_t blocks,
):
    """Mean and variance of mu.x for the rows in `order`, by label if there are several blocks.

    An empty `variance` is not computed (several blocks only).  `scores` has room for those of a row, and three more.
    See `entry` for `inclusive`, and `learn_rows` for the rest.
    """
    margins_in_order(
        mean, variance, scores, cells, scratch, places, indptr, indices, values, order, bias, inclusive, blocks,
    )
