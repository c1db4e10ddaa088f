/* Faults on purpose: preloaded by benchmarks/faulty.py, it lets the nth change of a directory fail,
   tear or kill the process. Calls that change nothing, or something elsewhere, pass untouched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, SYNC, RENAME, UNLINK, KINDS, ANY = KINDS };
enum { COUNT, FAIL, FULL, KILL, TEAR };

static char place[PATH_MAX];
static size_t place_length;
static atomic_long seen[KINDS + 1];
static int armed, wanted, action, error_number;
static long nth;

void faults_arm(const char *directory, int kind, long number, int what, int error) {
    snprintf(place, sizeof place, "%s", directory);
    place_length = strlen(place);
    for (int i = 0; i <= KINDS; i++) atomic_store(&seen[i], 0);
    wanted = kind, nth = number, action = what, error_number = error, armed = 1;
}

long faults_seen(int kind) { return atomic_load(&seen[kind]); }

/* Processes that an armed one starts are armed alike: "kind number what error directory". */
__attribute__((constructor)) static void inherit(void) {
    const char *text = getenv("ADMIRAL_FAULTS");
    int kind, what, error, used = 0;
    long number;
    if (text && sscanf(text, "%d %ld %d %d %n", &kind, &number, &what, &error, &used) == 4 && used)
        faults_arm(text + used, kind, number, what, error);
}

static int inside(const char *path) {
    return !strncmp(path, place, place_length) && (!path[place_length] || path[place_length] == '/');
}

static int inside_fd(int fd) {
    char link[64], path[PATH_MAX];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int inside_at(int directory, const char *path) {
    char whole[PATH_MAX];
    if (!armed || !path) return 0;
    if (path[0] == '/') return inside(path);
    if (directory != AT_FDCWD) return inside_fd(directory);
    return getcwd(whole, sizeof whole) && inside(whole);
}

/* Returns 0: go on; 1: fail; 2: write half of it, then fail or die. */
static int due(int kind) {
    long all = atomic_fetch_add(&seen[ANY], 1) + 1, one = atomic_fetch_add(&seen[kind], 1) + 1;
    long number = wanted == ANY ? all : one;
    if (action == COUNT || (wanted != ANY && wanted != kind)) return 0;
    if (action == FULL) {
        if (number < nth) return 0;
        errno = ENOSPC;
        return number == nth && kind == WRITE ? 2 : kind == WRITE || kind == OPEN;
    }
    if (number != nth) return 0;
    if (action == KILL || (action == TEAR && kind != WRITE)) kill(getpid(), SIGKILL);
    errno = error_number;
    return action == TEAR ? 2 : 1;
}

static ssize_t refused(void) {
    if (action == TEAR) kill(getpid(), SIGKILL);
    return -1;
}

static ssize_t half_done(ssize_t done) {
    if (action == TEAR) kill(getpid(), SIGKILL);
    return done; /* a short write; the next one is refused */
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

#define OPEN_AT(name)                                                                              \
    int name(int directory, const char *path, int flags, ...) {                                    \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        if ((flags & WRITES) && inside_at(directory, path) && due(OPEN)) return -1;                \
        return REAL(name)(directory, path, flags, mode);                                           \
    }
#define OPEN_PATH(name)                                                                            \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        if ((flags & WRITES) && inside_at(AT_FDCWD, path) && due(OPEN)) return -1;                 \
        return REAL(name)(path, flags, mode);                                                      \
    }
#define OPEN_STREAM(name)                                                                          \
    FILE *name(const char *path, const char *mode) {                                               \
        if (strpbrk(mode, "wa+") && inside_at(AT_FDCWD, path) && due(OPEN)) return NULL;           \
        return REAL(name)(path, mode);                                                             \
    }
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_PATH(open)
OPEN_PATH(open64)
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

int mkdir(const char *path, mode_t mode) {
    if (inside_at(AT_FDCWD, path) && due(OPEN)) return -1;
    return REAL(mkdir)(path, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
    int fault = inside_fd(fd) ? due(WRITE) : 0;
    if (fault == 1 || (fault == 2 && size < 2)) return refused();
    return fault ? half_done(REAL(write)(fd, data, size / 2)) : REAL(write)(fd, data, size);
}

#define PWRITE(name, offset_type)                                                                  \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) {                      \
        int fault = inside_fd(fd) ? due(WRITE) : 0;                                                \
        if (fault == 1 || (fault == 2 && size < 2)) return refused();                              \
        return fault ? half_done(REAL(name)(fd, data, size / 2, offset))                           \
                     : REAL(name)(fd, data, size, offset);                                         \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    int fault = inside_fd(fd) ? due(WRITE) : 0;
    if (fault == 1 || (fault == 2 && parts[0].iov_len < 2)) return refused();
    return fault ? half_done(REAL(write)(fd, parts[0].iov_base, parts[0].iov_len / 2))
                 : REAL(writev)(fd, parts, count);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
    int fault = inside_fd(fileno(stream)) ? due(WRITE) : 0;
    if (fault == 1) return 0;
    size_t done = REAL(fwrite)(data, size, fault ? count / 2 : count, stream);
    if (fault) fflush(stream), half_done(0);
    return done;
}

ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                        unsigned flags) {
    if (inside_fd(out) && due(WRITE)) return -1;
    return REAL(copy_file_range)(in, in_offset, out, out_offset, size, flags);
}

#define SENDFILE(name, offset_type)                                                                \
    ssize_t name(int out, int in, offset_type *offset, size_t size) {                              \
        if (inside_fd(out) && due(WRITE)) return -1;                                               \
        return ((ssize_t(*)(int, int, offset_type *, size_t))dlsym(RTLD_NEXT, #name))(             \
            out, in, offset, size);                                                                \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

#define TRUNCATE(name, offset_type)                                                                \
    int name(int fd, offset_type size) {                                                           \
        if (inside_fd(fd) && due(WRITE)) return -1;                                                \
        return REAL(name)(fd, size);                                                               \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define FD_ONLY(name)                                                                              \
    int name(int fd) {                                                                             \
        if (inside_fd(fd) && due(SYNC)) return -1;                                                 \
        return REAL(name)(fd);                                                                     \
    }
FD_ONLY(fsync)
FD_ONLY(fdatasync)

int rename(const char *from, const char *to) {
    if (inside_at(AT_FDCWD, to) && due(RENAME)) return -1;
    return REAL(rename)(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    if (inside_at(to_directory, to) && due(RENAME)) return -1;
    return REAL(renameat)(from_directory, from, to_directory, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
              unsigned flags) {
    if (inside_at(to_directory, to) && due(RENAME)) return -1;
    return REAL(renameat2)(from_directory, from, to_directory, to, flags);
}

#define REMOVE(name)                                                                               \
    int name(const char *path) {                                                                   \
        if (inside_at(AT_FDCWD, path) && due(UNLINK)) return -1;                                   \
        return REAL(name)(path);                                                                   \
    }
REMOVE(unlink)
REMOVE(rmdir)
REMOVE(remove)

int unlinkat(int directory, const char *path, int flags) {
    if (inside_at(directory, path) && due(UNLINK)) return -1;
    return REAL(unlinkat)(directory, path, flags);
}
