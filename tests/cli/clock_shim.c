/* Replaces the wall clock of a program by the second in CLOCK_SECOND; other clocks stay as they are. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t second(void) {
    const char *text = getenv("CLOCK_SECOND");
    return text ? (time_t)atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, out);
    out->tv_sec = second();
    out->tv_nsec = 0;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    out->tv_sec = second();
    out->tv_usec = 0;
    return 0;
}

time_t time(time_t *out) {
    if (out)
        *out = second();
    return second();
}
