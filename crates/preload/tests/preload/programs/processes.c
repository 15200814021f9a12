/* Descriptors closed, signals, vfork, posix_spawn, a thread that execs: all with memory in use. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };

extern char **environ;
static unsigned char *memory;
static volatile unsigned alarms;

static void on_alarm(int signal)
{
    (void)signal;
    memory[(alarms++ * 4096u * 7u) % BYTES] ^= 1;
}

static unsigned sum(void)
{
    unsigned total = 0;
    for (size_t index = 0; index < BYTES; index += 64)
        total = total * 31 + memory[index + 1];
    return total;
}

static void *exec_again(void *argument)
{
    char **arguments = argument;
    char round[12];
    snprintf(round, sizeof round, "%d", atoi(arguments[1]) - 1);
    execl("/proc/self/exe", arguments[0], round, (char *)NULL);
    return NULL;
}

int main(int count, char **arguments)
{
    int round = count > 1 ? atoi(arguments[1]) : 3;
    char *first[] = {arguments[0], "3", NULL};
    if (round < 0) {
        puts("spawned");
        return 11;
    }
    closefrom(3);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t index = 0; index < BYTES; index++)
        memory[index] = (unsigned char)(index >> 12);

    stack_t stack = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    unsigned before = sum();
    while (alarms < 200)
        if (sum() != before)
            puts("wrong: memory has changed");
    setitimer(ITIMER_REAL, &never, NULL);
    printf("round %d: %u\n", round, before);
    fflush(stdout);

    int status = 0;
    pid_t process = vfork();
    if (process == 0) {
        memory[1] = 99;
        execl("/proc/self/exe", arguments[0], "-1", (char *)NULL);
        _exit(1);
    }
    waitpid(process, &status, 0);
    printf("vfork: %d, its memory was ours: %d\n", WEXITSTATUS(status), memory[1]);
    char *spawned[] = {arguments[0], "-1", NULL};
    posix_spawn(&process, "/proc/self/exe", NULL, NULL, spawned, environ);
    waitpid(process, &status, 0);
    printf("posix_spawn: %d, system: %d\n", WEXITSTATUS(status), system("exit 5") >> 8);
    fflush(stdout);
    if (round == 0)
        return 12;
    pthread_t thread;
    pthread_create(&thread, NULL, exec_again, count > 1 ? arguments : first);
    pthread_join(thread, NULL);
    return 1;
}
