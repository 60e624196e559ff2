"""MurmurHash3, the hash behind every column that is made from text."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

ctypedef const uint8_t* Place


cdef inline uint32_t rotated(uint32_t x, int bits) noexcept nogil:
    return (x << bits) | (x >> (32 - bits))


cdef inline uint32_t murmur(Place data, Py_ssize_t size) noexcept nogil:
    """MurmurHash3_x86_32 with the seed 0 (Austin Appleby, public domain)."""
    cdef uint32_t h = 0
    cdef uint32_t k = 0
    cdef Py_ssize_t i
    cdef Py_ssize_t whole = size & ~<Py_ssize_t> 3
    for i in range(0, whole, 4):
        memcpy(&k, data + i, 4)
        k *= <uint32_t> 0xcc9e2d51
        k = rotated(k, 15)
        k *= <uint32_t> 0x1b873593
        h ^= k
        h = rotated(h, 13)
        h = h * 5 + <uint32_t> 0xe6546b64
    if size & 3:
        k = 0
        if size & 3 == 3:
            k ^= <uint32_t> data[whole + 2] << 16
        if size & 3 >= 2:
            k ^= <uint32_t> data[whole + 1] << 8
        k ^= data[whole]
        k *= <uint32_t> 0xcc9e2d51
        k = rotated(k, 15)
        k *= <uint32_t> 0x1b873593
        h ^= k
    h ^= <uint32_t> size
    h ^= h >> 16
    h *= <uint32_t> 0x85ebca6b
    h ^= h >> 13
    h *= <uint32_t> 0xc2b2ae35
    h ^= h >> 16
    return h
