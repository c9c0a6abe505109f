/* Makes the n-th system call that changes a file below one folder fail, or end the process there. By LD_PRELOAD.
   cc -shared -fPIC -O2 -o shim.so shim.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

void shim_arm(const char *folder, int how, int number, long n) {
    strncpy(below, folder, PATH_MAX - 1), error = number, at = n, count = 0, mode = how;
}
long shim_count(void) { return count; }

static int hit(const char *path) {
    if (!mode || !path || strncmp(path, below, strlen(below))) return 0;
    long n = atomic_fetch_add(&count, 1) + 1;
    if (mode == COUNT || (mode == FAIL_ON ? n < at : n != at)) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL), pause();
    if (mode == TERM) return kill(getpid(), SIGTERM), 0;
    return errno = error, 1;
}
static int hit_file(int file) {
    char link[64], path[PATH_MAX];
    if (!mode) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    return size > 0 && (path[size] = 0, hit(path));
}
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name);
#define OF_FILE(type, name, give, ...) REAL(type, name, __VA_ARGS__) return hit_file(file) ? -1 : real give;
#define OF_PATH(type, name, path, give, ...) REAL(type, name, __VA_ARGS__) return hit(path) ? -1 : real give;

ssize_t write(int file, const void *data, size_t n) { OF_FILE(ssize_t, "write", (file, data, n), int, const void *, size_t) }
ssize_t pwrite64(int file, const void *data, size_t n, off64_t o) { OF_FILE(ssize_t, "pwrite64", (file, data, n, o), int, const void *, size_t, off64_t) }
int fsync(int file) { OF_FILE(int, "fsync", (file), int) }
int fdatasync(int file) { OF_FILE(int, "fdatasync", (file), int) }
int ftruncate64(int file, off64_t n) { OF_FILE(int, "ftruncate64", (file, n), int, off64_t) }
int rename(const char *a, const char *b) { OF_PATH(int, "rename", b, (a, b), const char *, const char *) }
int mkdir(const char *a, mode_t m) { OF_PATH(int, "mkdir", a, (a, m), const char *, mode_t) }
int unlink(const char *a) { OF_PATH(int, "unlink", a, (a), const char *) }
int open64(const char *a, int flags, ...) {
    REAL(int, "open64", const char *, int, ...)
    va_list rest;
    va_start(rest, flags);
    int right = va_arg(rest, int);
    va_end(rest);
    return (flags & O_CREAT) && hit(a) ? -1 : real(a, flags, right);
}
