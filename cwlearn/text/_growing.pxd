"""Arrays that grow, for loops without the GIL."""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport realloc

cdef struct Bytes:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t room

cdef struct Numbers:
    uint32_t* data
    Py_ssize_t size
    Py_ssize_t room

cdef struct Doubles:
    double* data
    Py_ssize_t size
    Py_ssize_t room

ctypedef fused Growing:
    Bytes
    Numbers
    Doubles


cdef inline bint reserve(Growing* array, Py_ssize_t more) noexcept nogil:
    """Make room for so many entries more; False if there is no memory."""
    cdef Py_ssize_t room
    cdef void* data
    if array.size + more <= array.room:
        return True
    room = 2 * (array.size + more) + 64
    data = realloc(array.data, room * sizeof(array.data[0]))
    if data == NULL:
        return False
    if Growing is Bytes:
        array.data = <uint8_t*> data
    elif Growing is Numbers:
        array.data = <uint32_t*> data
    else:
        array.data = <double*> data
    array.room = room
    return True
