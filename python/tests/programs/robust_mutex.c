/* Owners of robust mutexes in the heap end, in each way a thread can, while the mutexes' pages are not in memory. The next one
 * to lock must be told. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MUTEXES = 3, BYTES = 8 << 20 };

static pthread_mutex_t *mutexes[MUTEXES];
static volatile unsigned char *big;

static void *own(void *way)
{
    for (int index = 0; index < MUTEXES; index++)
        pthread_mutex_lock(mutexes[index]);
    unsigned number = 5;
    for (int round = 0; round < 6000; round++) {
        number = number * 1103515245 + 12345;
        big[(number >> 4) % BYTES]++;
    }
    if (strcmp(way, "exits") == 0)
        pthread_exit(NULL);
    if (strcmp(way, "by number") == 0)
        syscall(SYS_exit, 0);
    if (strcmp(way, "is cancelled") == 0) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return NULL;
}

static int own_in_c11(void *unused)
{
    (void)unused;
    own("returns");
    return 0;
}

int main(void)
{
    static const char *ways[] = {"returns", "exits", "is cancelled", "by number", "of C11"};
    big = malloc(BYTES);
    memset((char *)big, 1, BYTES);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    for (int index = 0; index < MUTEXES; index++) {
        mutexes[index] = aligned_alloc(4096, 4096);
        pthread_mutex_init(mutexes[index], &attributes);
    }
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        pthread_t thread;
        if (strcmp(ways[way], "of C11") == 0)
            thrd_create(&thread, own_in_c11, NULL);
        else
            pthread_create(&thread, NULL, own, (void *)ways[way]);
        pthread_join(thread, NULL);
        for (int index = 0; index < MUTEXES; index++) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += 3;
            int result = pthread_mutex_timedlock(mutexes[index], &until);
            printf("%s: %s\n", ways[way], result == EOWNERDEAD ? "told" : "not told");
            if (result == EOWNERDEAD) {
                pthread_mutex_consistent(mutexes[index]);
                pthread_mutex_unlock(mutexes[index]);
            }
        }
    }
    return 0;
}
