/* An LD_PRELOAD shim: every fsync and fdatasync takes SLOW_FSYNC_US microseconds longer, as on an ordinary disk.
   cc -shared -fPIC -O2 -o slow-fsync.so slow-fsync.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int (*sync_call)(int);

static void wait_longer(void) {
  const char *text = getenv("SLOW_FSYNC_US");
  long us = text == NULL ? 0 : atol(text);
  struct timespec left = {us / 1000000, (us % 1000000) * 1000};
  while (us > 0 && nanosleep(&left, &left) == -1 && errno == EINTR) continue;
}

static int sync_slowly(sync_call *real, const char *name, int descriptor) {
  if (*real == NULL) *real = (sync_call)dlsym(RTLD_NEXT, name);
  wait_longer();
  return (*real)(descriptor);
}

int fsync(int descriptor) {
  static sync_call real;
  return sync_slowly(&real, "fsync", descriptor);
}

int fdatasync(int descriptor) {
  static sync_call real;
  return sync_slowly(&real, "fdatasync", descriptor);
}
