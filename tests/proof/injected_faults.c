/* Preloaded before the C library: lets one call of it fail, the n-th from now on, as test_injected_faults.py asks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum call { NONE, ALLOCATE, READ, WRITE, FSYNC, CLOSE, RENAME };

static atomic_int armed = NONE;    /* which call */
static atomic_long left;           /* calls until it fails */
static int error;                  /* 0: it does only a part of the work */
static size_t least;               /* bytes of the allocations that count */
static char folder[4096];          /* of the files that count */

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void fault_arm(int call, long number, int with_error, size_t of_bytes, const char *in_folder)
{
    strncpy(folder, in_folder, sizeof folder - 1);
    error = with_error;
    least = of_bytes;
    atomic_store(&left, number);
    atomic_store(&armed, call);
}

int fault_disarm(void)             /* whether it has failed */
{
    atomic_store(&armed, NONE);
    return atomic_load(&left) <= 0;
}

static int strikes(enum call call)
{
    return atomic_load(&armed) == (int) call && atomic_fetch_sub(&left, 1) == 1;
}

static int is_ours(int descriptor)
{
    char name[64], path[4096];
    int saved = errno;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(name, path, sizeof path);
    errno = saved;
    return size >= (ssize_t) strlen(folder) && memcmp(path, folder, strlen(folder)) == 0;
}

static int refused(size_t size)
{
    if (size < least || !strikes(ALLOCATE))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return refused(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return refused(size) ? NULL : __libc_realloc(old, size); }

#define ORIGINAL(type, name, ...) type (*original)(__VA_ARGS__) = dlsym(RTLD_NEXT, name)
#define STRIKES_FILE(call, descriptor) (atomic_load(&armed) == call && is_ours(descriptor) && strikes(call))

ssize_t read(int descriptor, void *buffer, size_t size)
{
    ORIGINAL(ssize_t, "read", int, void *, size_t);
    if (STRIKES_FILE(READ, descriptor)) {
        if (error) { errno = error; return -1; }
        size = (size + 2) / 3;
    }
    return original(descriptor, buffer, size);
}

ssize_t write(int descriptor, const void *buffer, size_t size)
{
    ORIGINAL(ssize_t, "write", int, const void *, size_t);
    if (STRIKES_FILE(WRITE, descriptor)) {
        if (error) { errno = error; return -1; }
        size = (size + 2) / 3;
    }
    return original(descriptor, buffer, size);
}

int fsync(int descriptor)
{
    ORIGINAL(int, "fsync", int);
    if (STRIKES_FILE(FSYNC, descriptor)) { errno = error; return -1; }
    return original(descriptor);
}

int close(int descriptor)
{
    ORIGINAL(int, "close", int);
    int strikes_here = STRIKES_FILE(CLOSE, descriptor);
    int result = original(descriptor);
    if (strikes_here) { errno = error; return -1; }
    return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    ORIGINAL(int, "renameat", int, const char *, int, const char *);
    if (strikes(RENAME)) { errno = error; return -1; }
    return original(from_folder, from, to_folder, to);
}
