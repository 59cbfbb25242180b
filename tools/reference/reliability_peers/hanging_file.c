// Preloaded into a training: opening the file HANGING_FILE does not return once a file HANGING_FILE.hangs exists, as on
// a network's disk whose server is gone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang_at(const char* path) {
  const char* file = getenv("HANGING_FILE");
  char sign[4096];
  if (file == NULL || strcmp(file, path) != 0) return;
  snprintf(sign, sizeof sign, "%s.hangs", file);
  while (access(sign, F_OK) == 0) usleep(100000);
}

// The mode, where there is none, is not looked at by the function that is called.
#define OPEN(NAME)                                                                                \
  int NAME(const char* path, int flags, ...) {                                                    \
    int (*next)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #NAME); \
    va_list rest;                                                                                 \
    va_start(rest, flags);                                                                        \
    const unsigned mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, unsigned) : 0;         \
    va_end(rest);                                                                                 \
    hang_at(path);                                                                                \
    return next(path, flags, mode);                                                               \
  }

OPEN(open)
OPEN(open64)

// What libraries call instead of the two, with the folder that a relative path begins at.
#define OPENAT(NAME)                                                                                        \
  int NAME(int folder, const char* path, int flags, ...) {                                                  \
    int (*next)(int, const char*, int, ...) = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, #NAME); \
    va_list rest;                                                                                           \
    va_start(rest, flags);                                                                                  \
    const unsigned mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, unsigned) : 0;                   \
    va_end(rest);                                                                                           \
    hang_at(path);                                                                                          \
    return next(folder, path, flags, mode);                                                                 \
  }

OPENAT(openat)
OPENAT(openat64)
