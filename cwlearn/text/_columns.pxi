"""Keys of n-grams to columns and values: a part of `_hashing.pyx`."""


cdef bint sort_few(uint32_t* keys, Py_ssize_t n, Py_ssize_t moves) noexcept nogil:
    """Insertion sort; False if that takes more than so many moves."""
    cdef Py_ssize_t i, j
    cdef uint32_t key
    for i in range(1, n):
        key = keys[i]
        j = i
        while j and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        moves -= i - j
        if moves < 0:
            return False
    return True


cdef bint sort_keys(Work* w, int bits) noexcept nogil:
    """Sort by column: into buckets by the highest bits, then within buckets, which are short as hashes are even."""
    cdef uint32_t[4096] places               # of the next key of each bucket, in the end where it ends
    cdef uint32_t* target
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t sum, count
    cdef int digit, shift
    if not reserve(&w.spare, 2 * n + 64):
        return False
    if cwlearn_wide and n <= MOST_SORTED:
        cwlearn_sort(w.spare.data, w.keys.data, n)
        swap(&w.keys, &w.spare)
        return True
    if n <= 24:
        sort_few(w.keys.data, n, n * n)
        return True
    digit = 6
    while digit < 12 and <Py_ssize_t> 1 << digit < n:
        digit += 1
    shift = bits + 1 - digit if bits + 1 > digit else 0
    target = w.spare.data
    memset(places, 0, sizeof(uint32_t) << digit)
    for i in range(n):
        places[w.keys.data[i] >> shift] += 1
    sum = 0
    for i in range(1 << digit):
        count = places[i]
        places[i] = sum
        sum += count
    for i in range(n):
        target[places[w.keys.data[i] >> shift]] = w.keys.data[i]
        places[w.keys.data[i] >> shift] += 1
    if cwlearn_wide and sort_buckets(w, places, 1 << digit):
        return True
    swap(&w.keys, &w.spare)
    if n > 16 << digit or not sort_few(w.keys.data, n, 8 * n):
        sort_many(w, bits)
    return True


cdef bint sort_buckets(Work* w, const uint32_t* ends, Py_ssize_t n) noexcept nogil:
    """Sort the keys of neighbouring buckets of `spare`, as many as can be sorted at once; False if one is too long."""
    cdef Py_ssize_t i
    cdef uint32_t start = 0                  # of the buckets that are sorted next
    cdef uint32_t end = 0
    if not reserve(&w.keys, w.keys.size + 64):
        return False
    for i in range(n + 1):
        if i == n or ends[i] - start > MOST_SORTED:
            cwlearn_sort(w.keys.data + start, w.spare.data + start, end - start)
            start = end
            if i < n and ends[i] - start > MOST_SORTED:
                return False
        if i < n:
            end = ends[i]
    return True


cdef inline void swap(Numbers* keys, Numbers* spare) noexcept nogil:
    cdef uint32_t* data = keys.data
    cdef Py_ssize_t room = keys.room
    keys.data, keys.room = spare.data, spare.room
    spare.data, spare.room = data, room


cdef void sort_many(Work* w, int bits) noexcept nogil:
    """Sort by column: digit by digit, from the lowest one; the sign does not count.  `spare` is as long as `keys`."""
    cdef uint32_t[2048] places
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t sum, count, mask
    cdef int passes = (bits + 10) // 11
    cdef int wide = (bits + passes - 1) // passes if passes else 1
    cdef int turn, shift
    mask = (<uint32_t> 1 << wide) - 1
    for turn in range(passes):
        shift = 1 + turn * wide
        memset(places, 0, (mask + 1) * sizeof(uint32_t))
        for i in range(n):
            places[w.keys.data[i] >> shift & mask] += 1
        sum = 0
        for i in range(mask + 1):
            count = places[i]
            places[i] = sum
            sum += count
        for i in range(n):
            w.spare.data[places[w.keys.data[i] >> shift & mask]] = w.keys.data[i]
            places[w.keys.data[i] >> shift & mask] += 1
        swap(&w.keys, &w.spare)


cdef double weight_of(const Plan* s, int32_t sum) noexcept nogil:
    if s.weighting == BY_PRESENCE:
        return 1
    if s.weighting == BY_COUNT or -1 <= sum <= 1:
        return <double> sum
    return 1 + logarithm(<double> sum) if sum > 0 else -1 - logarithm(-<double> sum)


cdef Py_ssize_t sum_up(const uint32_t* keys, Py_ssize_t n, uint32_t* columns, int32_t* sums) noexcept nogil:
    """Columns of sorted keys and their sums; return how many.  There is no branch, as no processor would foresee it."""
    cdef Py_ssize_t i
    cdef Py_ssize_t last = 0                 # column
    cdef int32_t sum = 0
    cdef uint32_t is_new
    for i in range(n):
        is_new = i > 0 and (keys[i] ^ keys[i - 1]) > 1
        last += is_new
        sum = (sum & (<int32_t> is_new - 1)) + 1 - 2 * <int32_t> (keys[i] & 1)
        columns[last] = keys[i] >> 1
        sums[last] = sum
    return last + 1 if n else 0


cdef bint add_up(const Plan* s, Work* w) noexcept nogil:
    """Make columns, in rising order, and their sums of the keys; False if there is no memory.  Sums of 0 stay."""
    cdef Py_ssize_t n = w.keys.size
    cdef Py_ssize_t i
    cdef uint32_t* sums
    w.columns.size = 0
    if not n:
        return True
    if not reserve(&w.columns, n + 8) or not reserve(&w.sums, n + 8) or not sort_keys(w, s.bits):
        return False
    sums = w.sums.data
    if cwlearn_wide:
        w.columns.size = cwlearn_sums(w.columns.data, sums, w.keys.data, n, s.signs)
        for i in range(w.columns.size):
            sums[i] = sums[i + 1] - sums[i]
    else:
        w.columns.size = sum_up(w.keys.data, n, w.columns.data, <int32_t*> sums)
    return True


cdef inline double weights_of(
    const Plan* s, const int32_t* sums, floating* weights, Py_ssize_t n, int norm,
) noexcept nogil:
    """Make weights of sums, in their type; return what they are divided by."""
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(n):
        weights[i] = <floating> (
            s.weights[sums[i]] if -KNOWN_WEIGHTS <= sums[i] <= KNOWN_WEIGHTS else weight_of(s, sums[i]))
        if norm == BY_L1:
            total += fabs(<double> weights[i])
        elif norm == BY_L2:                  # of float32: so are the squares, as scikit-learn has it
            total += <double> (weights[i] * weights[i])
    if norm == BY_L2:
        total = sqrt(total)
    return total if total != 0 else 1


cdef double weigh(const Plan* s, const Work* w, floating* weights) noexcept nogil:
    # Constant arguments: the compiler makes a loop for each.
    cdef const int32_t* sums = <const int32_t*> w.sums.data
    if s.norm == BY_L2:
        return weights_of(s, sums, weights, w.columns.size, BY_L2)
    if s.norm == BY_L1:
        return weights_of(s, sums, weights, w.columns.size, BY_L1)
    return weights_of(s, sums, weights, w.columns.size, NO_NORM)


cdef bint fill_row(const Plan* s, Work* w, int32_t* indices, floating* values, bint single) noexcept nogil:
    """Write the columns of a row and their values; False if there is no memory."""
    cdef Py_ssize_t n = w.columns.size
    cdef Py_ssize_t i
    cdef double norm
    memcpy(indices, w.columns.data, n * sizeof(int32_t))
    if floating is float and not single and s.norm != NO_NORM:
        if not reserve(&w.weights, n):
            return False
        norm = weigh(s, w, w.weights.data)
        for i in range(n):
            values[i] = <float> (w.weights.data[i] / norm)
        return True
    norm = weigh(s, w, values)
    if norm != 1:
        for i in range(n):
            values[i] = <floating> (values[i] / norm)
    return True
