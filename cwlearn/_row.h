/* The weights of one row side by side: see _cells.pxd. */

#ifndef CWLEARN_ROW
#define CWLEARN_ROW

#include <stdint.h>

typedef struct {
    double *mean, *variance, *x, *shares;
    int64_t *columns;
    Py_ssize_t n;
} cwlearn_row;

#endif
