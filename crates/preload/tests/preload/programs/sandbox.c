/* A sandbox, for this thread or for all, that refuses sockets, userfaultfd or close_range, or none: the program goes on, forks, and starts
 * itself again. The same with and without a pager, but for what it says on standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, PAGE = 4096 };

static void say(const char *what, int condition)
{
    printf("%s: %s\n", what, condition ? "yes" : "NO");
    fflush(stdout);
}

static int all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t index = 0; index < count; index++)
        if (bytes[index] != value)
            return 0;
    return 1;
}

static sigjmp_buf before;

static void faulted(int number)
{
    (void)number;
    siglongjmp(before, 1);
}

static int may(volatile unsigned char *byte, int writes)
{
    signal(SIGSEGV, faulted);
    if (sigsetjmp(before, 1))
        return 0;
    unsigned char found = *byte;
    if (writes)
        *byte = found;
    return 1;
}

static int refuse(const int *numbers, int count, int error, unsigned flags)
{
    struct sock_filter filter[32];
    int used = 0;
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int index = 0; index < count; index++) {
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[index], 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {used, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void *wait_for_ever(void *nothing)
{
    pause();
    return nothing;
}

static int in_child(int (*work)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int code = work();
        fflush(stdout);
        _exit(code);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

static unsigned char *block, *read_only, *closed, *over;

static int grandchild(void)
{
    say("a grandchild reads", all(block, 4 * MEBIBYTE, 2));
    memset(block, 3, MEBIBYTE);
    return 0;
}

static int child(void)
{
    say("the child reads", all(block, 4 * MEBIBYTE, 1));
    say("what is read-only is not written", may(read_only, 0) && *read_only == 7 && !may(read_only, 1));
    say("what is closed is not read", !may(closed, 0));
    mprotect(closed, MEBIBYTE, PROT_READ | PROT_WRITE);
    say("what was closed is kept", all(closed, MEBIBYTE, 8));
    say("what was mapped over it is there", *over == 9);
    memset(block, 2, 4 * MEBIBYTE);
    for (int turn = 0; turn < 20; turn++) {
        unsigned char *zeros = calloc(1, 2 * MEBIBYTE);
        if (!all(zeros, 2 * MEBIBYTE, 0))
            say("a new block is zero", 0);
        memset(zeros, turn + 1, 2 * MEBIBYTE);
        free(zeros);
    }
    block = realloc(block, 6 * MEBIBYTE);
    say("a block grows", all(block, 4 * MEBIBYTE, 2));
    say("the grandchild ends well", in_child(grandchild) == 0);
    say("and changes nothing", all(block, 4 * MEBIBYTE, 2));
    return 0;
}

int main(int count, char **words)
{
    if (count < 2)
        return 2;
    if (!strcmp(words[1], "again")) {
        unsigned char *again = calloc(4, MEBIBYTE);
        say("the program runs again", all(again, 4 * MEBIBYTE, 0));
        return 0;
    }
    block = malloc(4 * MEBIBYTE);
    memset(block, 1, 4 * MEBIBYTE);
    unsigned char *mapped = mmap(NULL, 4 * MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    read_only = mapped, closed = mapped + MEBIBYTE, over = mapped + 3 * MEBIBYTE;
    memset(read_only, 7, MEBIBYTE);
    memset(closed, 8, MEBIBYTE);
    memset(over, 9, PAGE);
    mprotect(read_only, MEBIBYTE, PROT_READ);
    mprotect(closed, MEBIBYTE, PROT_NONE);
    const int sockets[] = {SYS_socket, SYS_socketpair, SYS_sendmsg, SYS_recvmsg, SYS_connect};
    const int faults[] = {SYS_userfaultfd}, closing[] = {SYS_close_range};
    int refused;
    if (!strcmp(words[1], "none")) {
        refused = 0;
    } else if (!strcmp(words[1], "userfaultfd")) {
        refused = refuse(faults, 1, ENOSYS, 0);
    } else if (!strcmp(words[1], "closing")) {
        refused = refuse(closing, 1, ENOSYS, 0);
    } else if (!strcmp(words[1], "threads")) {
        pthread_t other;
        pthread_create(&other, NULL, wait_for_ever, NULL);
        refused = refuse(sockets, 5, EACCES, SECCOMP_FILTER_FLAG_TSYNC);
    } else {
        refused = refuse(sockets, 5, ENOSYS, 0);
    }
    say("there is a sandbox", refused == 0);
    for (int turn = 0; turn < 20; turn++) {
        unsigned char *zeros = calloc(1, MEBIBYTE);
        if (!all(zeros, MEBIBYTE, 0))
            say("a block is zero", 0);
        memset(zeros, turn + 1, MEBIBYTE);
        free(zeros);
    }
    say("the child ends well", in_child(child) == 0);
    say("the parent keeps its own", all(block, 4 * MEBIBYTE, 1));
    say("a second one as well", in_child(child) == 0);
    char *const again[] = {words[0], "again", NULL};
    execv(words[0], again);
    return 1;
}
