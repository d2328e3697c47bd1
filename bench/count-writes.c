/* An LD_PRELOAD shim: counts what is written to SQLite's log and to its database, and how often either is synced, in
   the file that COUNT_WRITES names: three numbers of eight bytes, which whoever maps or reads the file sees at once.
   cc -shared -fPIC -O2 -o count-writes.so count-writes.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { UNKNOWN, OTHER, LOG, DATABASE };
enum { DESCRIPTORS = 65536 };

static unsigned char kinds[DESCRIPTORS];
static uint64_t *counts; /* bytes to the log, bytes to the database, syncs */

__attribute__((constructor)) static void open_counts(void) {
  const char *path = getenv("COUNT_WRITES");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 3 * sizeof(uint64_t)) != 0) return;
  void *mapped = mmap(NULL, 3 * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) counts = mapped;
  close(file);
}

static enum kind kind_of(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS) return OTHER;
  if (kinds[descriptor] == UNKNOWN) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    size_t end = strlen(path);
    if (end > 7 && strcmp(path + end - 7, ".db-wal") == 0) kinds[descriptor] = LOG;
    else if (end > 3 && strcmp(path + end - 3, ".db") == 0) kinds[descriptor] = DATABASE;
    else kinds[descriptor] = OTHER;
  }
  return kinds[descriptor];
}

static void add(int at, uint64_t more) {
  if (counts != NULL) __atomic_fetch_add(&counts[at], more, __ATOMIC_RELAXED);
}

typedef ssize_t (*write_call)(int, const void *, size_t, off_t);

static ssize_t write_counted(write_call *real, const char *name, int descriptor, const void *from, size_t bytes, off_t at) {
  if (*real == NULL) *real = (write_call)dlsym(RTLD_NEXT, name);
  enum kind kind = kind_of(descriptor);
  if (kind == LOG) add(0, bytes);
  else if (kind == DATABASE) add(1, bytes);
  return (*real)(descriptor, from, bytes, at);
}

ssize_t pwrite(int descriptor, const void *from, size_t bytes, off_t at) {
  static write_call real;
  return write_counted(&real, "pwrite", descriptor, from, bytes, at);
}

ssize_t pwrite64(int descriptor, const void *from, size_t bytes, off_t at) {
  static write_call real;
  return write_counted(&real, "pwrite64", descriptor, from, bytes, at);
}

typedef int (*descriptor_call)(int);

static int sync_counted(descriptor_call *real, const char *name, int descriptor) {
  if (*real == NULL) *real = (descriptor_call)dlsym(RTLD_NEXT, name);
  if (kind_of(descriptor) != OTHER) add(2, 1);
  return (*real)(descriptor);
}

int fsync(int descriptor) {
  static descriptor_call real;
  return sync_counted(&real, "fsync", descriptor);
}

int fdatasync(int descriptor) {
  static descriptor_call real;
  return sync_counted(&real, "fdatasync", descriptor);
}

/* A descriptor that is free again may become anything. */
int close(int descriptor) {
  static descriptor_call real;
  if (real == NULL) real = (descriptor_call)dlsym(RTLD_NEXT, "close");
  if (descriptor >= 0 && descriptor < DESCRIPTORS) kinds[descriptor] = UNKNOWN;
  return real(descriptor);
}
