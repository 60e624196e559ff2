/* A step of every label in one cell: `moved` of _cells.pxd for the projections that most rules have.  The means of the
   labels are the first numbers of a cell, their variances follow.  The pointers are `restrict`, because a compiler that
   must compare them for each cell takes as long for that as for the step. */

#if defined(__GNUC__) || defined(__clang__)
#define CWLEARN_APART __restrict__
#define CWLEARN_CALLED __attribute__((noinline))
#else
#define CWLEARN_APART
#define CWLEARN_CALLED
#endif

#define CWLEARN_MOVES(type) \
CWLEARN_CALLED static void cwlearn_move_kl_##type( \
        type *CWLEARN_APART mean, type *CWLEARN_APART variance, double x, const double *CWLEARN_APART alphas, \
        const double *CWLEARN_APART gains, Py_ssize_t n, double floor) { \
    const double square = x * x; \
    for (Py_ssize_t z = 0; z < n; z++) { \
        const double s = variance[z], shrunk = s / (1 + gains[z] * (s * square)); \
        mean[z] = (type)(mean[z] + alphas[z] * (s * x)); \
        variance[z] = (type)(shrunk > floor ? shrunk : floor); \
    } \
} \
CWLEARN_CALLED static void cwlearn_move_fixed_##type( \
        type *CWLEARN_APART mean, const type *CWLEARN_APART variance, double x, const double *CWLEARN_APART alphas, \
        Py_ssize_t n) { \
    for (Py_ssize_t z = 0; z < n; z++) \
        mean[z] = (type)(mean[z] + alphas[z] * (variance[z] * x)); \
}

CWLEARN_MOVES(float)
CWLEARN_MOVES(double)
