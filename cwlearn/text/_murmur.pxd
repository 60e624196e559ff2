"""MurmurHash3_x86_32 with the seed 0 (Austin Appleby, public domain), the hash behind every column made from text.

It takes four bytes after the other into a state, then the rest of up to three bytes, then the length.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

ctypedef const uint8_t* Place


cdef inline uint32_t rotated(uint32_t x, int bits) noexcept nogil:
    return (x << bits) | (x >> (32 - bits))


cdef inline uint32_t four_bytes(Place data) noexcept nogil:
    cdef uint32_t k = 0
    memcpy(&k, data, 4)
    return k


cdef inline uint32_t mixed(uint32_t k) noexcept nogil:
    return rotated(k * <uint32_t> 0xcc9e2d51, 15) * <uint32_t> 0x1b873593


cdef inline uint32_t advanced(uint32_t state, uint32_t k) noexcept nogil:
    """The state after four bytes more."""
    return rotated(state ^ mixed(k), 13) * 5 + <uint32_t> 0xe6546b64


cdef inline uint32_t with_rest(uint32_t state, uint32_t k, uint32_t size) noexcept nogil:
    """The state after the bytes of `k` that lie within `size`, and the length: what the last mixing makes a hash of."""
    return state ^ mixed(k & ((<uint32_t> 1 << 8 * (size & 3)) - 1)) ^ size


cdef inline uint32_t finished(uint32_t h) noexcept nogil:
    """The last mixing."""
    h ^= h >> 16
    h *= <uint32_t> 0x85ebca6b
    h ^= h >> 13
    h *= <uint32_t> 0xc2b2ae35
    h ^= h >> 16
    return h


cdef inline uint32_t murmur(Place data, Py_ssize_t size) noexcept nogil:
    cdef uint32_t state = 0
    cdef uint32_t k = 0
    cdef Py_ssize_t i
    cdef Py_ssize_t whole = size & ~<Py_ssize_t> 3
    for i in range(0, whole, 4):
        state = advanced(state, four_bytes(data + i))
    for i in range(whole, size):
        k |= <uint32_t> data[i] << 8 * (i & 3)
    return finished(with_rest(state, k, <uint32_t> size))


cdef inline uint32_t column_of(uint32_t hash, uint32_t n_features) noexcept nogil:
    """The column of a hash, as in scikit-learn: |hash| modulo the number of columns."""
    cdef uint32_t size = 0 - hash if hash >> 31 else hash
    return size & (n_features - 1) if n_features & (n_features - 1) == 0 else size % n_features
