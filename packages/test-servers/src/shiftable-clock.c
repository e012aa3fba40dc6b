/*
 * Preloaded into a server (LD_PRELOAD): its wall clock is the true one plus an offset that a test can change at any time.
 *
 * The offset, in nanoseconds, is the first eight bytes of the file named by SLUICE_CLOCK_FILE, mapped into memory, so that
 * reading it costs nothing and a change counts at once. The monotonic clocks are left alone: the machine is not suspended,
 * someone has set its clock.
 *
 * Raw system calls, because the C library's own functions are the ones that are replaced here; and no allocation, because
 * the allocator asks for the time before it is ready to allocate.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;
static const int64_t *offset_ns;

/* A server whose clock cannot be shifted would make a test pass for the wrong reason: better none at all. */
static void give_up(const char *reason) {
  ssize_t written = write(STDERR_FILENO, reason, strlen(reason));
  (void)written;
  _exit(97);
}

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("SLUICE_CLOCK_FILE");
  if (path == NULL) give_up("shiftable-clock: SLUICE_CLOCK_FILE is not set\n");
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file == -1) give_up("shiftable-clock: SLUICE_CLOCK_FILE cannot be opened\n");
  void *memory = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) give_up("shiftable-clock: SLUICE_CLOCK_FILE cannot be mapped\n");
  close(file);
  offset_ns = memory;
}

static int is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || offset_ns == NULL || !is_wall_clock(clock)) return result;
  int64_t offset = __atomic_load_n(offset_ns, __ATOMIC_RELAXED);
  int64_t nanoseconds = time->tv_nsec + offset % second_ns;
  time->tv_sec += offset / second_ns;
  /* The remainder of a negative offset is negative. */
  if (nanoseconds < 0) {
    nanoseconds += second_ns;
    time->tv_sec -= 1;
  } else if (nanoseconds >= second_ns) {
    nanoseconds -= second_ns;
    time->tv_sec += 1;
  }
  time->tv_nsec = nanoseconds;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  if (zone != NULL) memset(zone, 0, sizeof(struct timezone));
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
