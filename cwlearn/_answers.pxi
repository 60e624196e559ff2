"""Rows that are answered before they are learned: a part of `_kernels.pyx`."""

SCORED, LEARNED, LEFT_OUT = 0, 1, 2          # what is done with a row


def answer_rows(
    double[::1] mean, double[::1] variance, double[::1] scores, floating[::1] cells, double[:, ::1] scratch,
    int64_t[:, ::1] places, const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] asked,
    const floating[::1] taught, const double[::1] squares, const double[::1] targets, const double[::1] weights,
    const uint8_t[::1] todo, const int64_t[::1] order, Py_ssize_t first, bint inclusive, Rule rule,
    uint8_t[::1] counts,
):
    """Score the rows from `first` on, and learn each that is to be LEARNED by `todo` before the next one is scored.

    asked, taught   the values that are scored and those that are learned, with the `squares` of the latter
    order           all numbers of rows

    Returns how many rows were done, and whether the last of them could not be learned (it has changed nothing).  It
    ends after a row that changed what scores are worth (in a regression, each row does), because the counts
    that the answers before it depend on are gone then.  It calls what batches go through, row by row, hence gives the
    same bits.  See `margin_rows` and `learn_rows` for the rest.
    """
    cdef Py_ssize_t t
    cdef Statistics* total = statistics_in(counts)
    cdef double[MAP_DOUBLES] before      # rows that wait change nothing yet
    cdef double[::1] none = scores[:0]       # neither averages nor stamps: another state would answer then
    cdef const uint8_t[::1] fresh = todo[:0]
    for t in range(first, todo.shape[0]):
        if todo[t] == 2:
            continue
        margins_in_order[floating, index_t](
            mean, variance, scores, cells, scratch, places, indptr, indices, asked, order[t:t + 1], rule.bias,
            inclusive, rule.blocks,
        )
        if todo[t] != 1:
            continue
        memcpy(before, total.calibration, sizeof(before))
        if learn_in_order[floating, index_t](
            cells, none, none, scratch, places, indptr, indices, taught, squares, targets, weights, fresh,
            order[t:t + 1], rule, counts, None, None, None,
        ) < 1:
            return t + 1, True
        if rule.kind == RLS or memcmp(before, total.calibration, sizeof(before)) != 0:
            return t + 1, False
    return todo.shape[0], False
