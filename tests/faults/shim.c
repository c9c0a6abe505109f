/* Makes the n-th system call that changes a file below one folder fail, ends the process there, or writes all
   these calls with their data to a file, in order. By LD_PRELOAD.
   cc -shared -fPIC -O2 -o shim.so shim.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OFF, COUNT, FAIL, FAIL_ON, KILL, TERM };
static char below[PATH_MAX];
static int mode, error;
static long at;
static _Atomic long count;
static FILE *record;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

void shim_arm(const char *folder, int how, int number, long n) {
    strncpy(below, folder, PATH_MAX - 1), error = number, at = n, count = 0, mode = how;
}
long shim_count(void) { return count; }

/* Writes later calls to a file outside the folder. */
void shim_record(const char *path) { record = fopen(path, "wb"); }

static int is_below(const char *path) { return mode && path && !strncmp(path, below, strlen(below)); }

static int hit(const char *path) {
    if (!is_below(path)) return 0;
    long n = atomic_fetch_add(&count, 1) + 1;
    if (mode == COUNT || (mode == FAIL_ON ? n < at : n != at)) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL), pause();
    if (mode == TERM) return kill(getpid(), SIGTERM), 0;
    return errno = error, 1;
}
static const char *path_of(int file, char *path) {
    char link[64];
    if (!mode) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size <= 0) return NULL;
    path[size] = 0;
    return path;
}

/* A record: the call, its number, its size and the lengths of two texts in a line, then the texts: path, and data. */
static void note(const char *call, const char *path, long number, const void *data, size_t n) {
    if (!record || !is_below(path)) return;
    fprintf(record, "%s %ld %zu %zu\n%s", call, number, strlen(path), n, path);
    fwrite(data, 1, n, record);
    fflush(record);
}
static void begin(void) { if (record) pthread_mutex_lock(&order); }
static void end(void) { if (record) pthread_mutex_unlock(&order); }

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name);
#define CALL(type, is_hit, give, remember)                                                                         \
    if (is_hit) return -1;                                                                                         \
    begin();                                                                                                       \
    type result = real give;                                                                                       \
    int fault = errno;                                                                                             \
    if (result >= 0) { remember; }                                                                                 \
    end();                                                                                                         \
    errno = fault;                                                                                                 \
    return result;
#define OF_FILE(type, name, give, remember, ...)                                                                   \
    REAL(type, name, __VA_ARGS__)                                                                                  \
    char place[PATH_MAX];                                                                                          \
    const char *path = path_of(file, place);                                                                       \
    CALL(type, hit(path), give, remember)
#define OF_PATH(name, path, give, remember, ...) REAL(int, name, __VA_ARGS__) CALL(int, hit(path), give, remember)

static long place_of(int file) { return lseek(file, 0, SEEK_CUR); }

ssize_t write(int file, const void *data, size_t n) {
    OF_FILE(ssize_t, "write", (file, data, n),
            if (is_below(path)) note("write", path, place_of(file) - result, data, result), int, const void *, size_t)
}
ssize_t pwrite64(int file, const void *data, size_t n, off64_t o) {
    OF_FILE(ssize_t, "pwrite64", (file, data, n, o), note("write", path, o, data, result), int, const void *, size_t, off64_t)
}
int fsync(int file) { OF_FILE(int, "fsync", (file), note("sync", path, 0, "", 0), int) }
int fdatasync(int file) { OF_FILE(int, "fdatasync", (file), note("datasync", path, 0, "", 0), int) }
int ftruncate64(int file, off64_t n) { OF_FILE(int, "ftruncate64", (file, n), note("cut", path, n, "", 0), int, off64_t) }
int truncate64(const char *a, off64_t n) { OF_PATH("truncate64", a, (a, n), note("cut", a, n, "", 0), const char *, off64_t) }
int rename(const char *a, const char *b) {
    OF_PATH("rename", b, (a, b), note("rename", a, 0, b, strlen(b)), const char *, const char *)
}
int link(const char *a, const char *b) {
    OF_PATH("link", b, (a, b), note("link", a, 0, b, strlen(b)), const char *, const char *)
}
int mkdir(const char *a, mode_t m) { OF_PATH("mkdir", a, (a, m), note("mkdir", a, 0, "", 0), const char *, mode_t) }
int rmdir(const char *a) { OF_PATH("rmdir", a, (a), note("rmdir", a, 0, "", 0), const char *) }
int unlink(const char *a) { OF_PATH("unlink", a, (a), note("unlink", a, 0, "", 0), const char *) }
int open64(const char *a, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int right = va_arg(rest, int);
    va_end(rest);
    OF_PATH("open64", flags & O_CREAT ? a : NULL, (a, flags, right),
            if (flags & O_CREAT) note(flags & O_TRUNC ? "empty" : "create", a, 0, "", 0), const char *, int, ...)
}
