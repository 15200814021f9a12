/* Forks on a stack that lies in the heap. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static void *fork_here(void *argument)
{
    (void)argument;
    pid_t process = fork();
    if (process == 0)
        _exit(0);
    int status = 0;
    waitpid(process, &status, 0);
    puts(WIFSIGNALED(status) ? "the child has ended by a signal" : "the child has run");
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, aligned_alloc(4096, BYTES), BYTES);
    pthread_create(&thread, &attributes, fork_here, NULL);
    pthread_join(thread, NULL);
    puts("the parent goes on");
    return 0;
}
