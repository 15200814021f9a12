/*
 * Forks in a signal handler, mostly while it interrupts work on the heap. If that waits for itself, the alarm ends it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 64, FORKS = 100, MOST = 3000 };

static volatile sig_atomic_t forks, wrong;
static unsigned char *blocks[BLOCKS];

static void on_signal(int number)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        /* Goes on in the middle of the parent's work on the heap, and ends at the end of main. */
        forks = FORKS;
    else if (waitpid(child, &status, 0) != child || status != 0)
        wrong++;
    (void)number;
    forks++;
}

int main(void)
{
    pid_t parent = getpid();
    struct itimerval often = {{0, 2000}, {0, 2000}};
    unsigned state = 1;
    alarm(100);
    signal(SIGVTALRM, on_signal);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    for (unsigned turn = 0; forks < FORKS || turn % 2000; turn++) {
        state = state * 1103515245u + 12345u;
        unsigned block = (state >> 16) % BLOCKS, bytes = 16 + (state >> 8) % MOST;
        if (blocks[block] && blocks[block][0] != block)
            wrong++;
        free(blocks[block]);
        /* Now and then as large as one that has pages of its own. */
        blocks[block] = malloc(turn % 50 ? bytes : 200000);
        if (!blocks[block])
            return 3;
        memset(blocks[block], (int)block, bytes);
    }
    if (getpid() != parent)
        _exit(wrong != 0);
    signal(SIGVTALRM, SIG_IGN);
    printf("%s\n", wrong ? "something was wrong" : "all forks were right");
    return wrong != 0;
}
