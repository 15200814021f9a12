/* Two other ways to see what a program does to files, for benches/file_capture.py: as little as each needs
 * to name the file of a call in a log.
 *
 *     ways fanotify LOG COMMAND...        the kernel's file events of the file system of the working folder
 *     ways notification LOG COMMAND...    seccomp asks this process at each call
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *record;
static unsigned long events;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void note(long process, const char *what, long number, const char *link)
{
    char name[4096];
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length > 0)
        fprintf(record, "%ld %s %ld %.*s\n", process, what, number, (int)length, name);
    events++;
}

/* ---- fanotify ---- */

static void take_events(int watch)
{
    char buffer[65536];
    ssize_t length = read(watch, buffer, sizeof buffer);
    const struct fanotify_event_metadata *event = (void *)buffer;
    for (; length > 0 && FAN_EVENT_OK(event, length); event = FAN_EVENT_NEXT(event, length)) {
        char link[64];
        if (event->fd < 0)
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", event->fd);
        note(event->pid, "event", (long)event->mask, link);
        close(event->fd);
    }
}

static int by_fanotify(char **command)
{
    int watch = fanotify_init(FAN_CLASS_NOTIF | FAN_UNLIMITED_QUEUE, O_RDONLY);
    if (watch < 0
        || fanotify_mark(watch, FAN_MARK_ADD | FAN_MARK_MOUNT,
                         FAN_OPEN | FAN_ACCESS | FAN_MODIFY | FAN_CLOSE, AT_FDCWD, ".") < 0)
        fail("fanotify");
    fcntl(watch, F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    int status = 0;
    struct pollfd ready = { .fd = watch, .events = POLLIN };
    while (waitpid(child, &status, WNOHANG) == 0)
        if (poll(&ready, 1, 20) > 0)
            take_events(watch);
    while (poll(&ready, 1, 0) > 0)
        take_events(watch);
    return WEXITSTATUS(status);
}

/* ---- user notification ---- */

static const unsigned calls[] = {
    SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_sendfile, SYS_fsync,
    SYS_fdatasync, SYS_ftruncate, SYS_openat, SYS_close, SYS_dup2, SYS_lseek, SYS_unlinkat,
    SYS_unlink, SYS_rename, SYS_copy_file_range,
};
#define CALLS (sizeof calls / sizeof *calls)

static int ask_at_calls(void)
{
    struct sock_filter filter[CALLS + 3];
    size_t place = 0;
    filter[place++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                   offsetof(struct seccomp_data, nr));
    for (size_t call = 0; call < CALLS; call++)
        filter[place++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[call],
                                                       (unsigned char)(CALLS - call), 0);
    filter[place++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[place++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = { .len = (unsigned short)place, .filter = filter };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static int by_notification(char **command)
{
    int said[2];
    if (pipe2(said, O_CLOEXEC) < 0)
        fail("pipe");
    pid_t child = fork();
    if (child == 0) {
        int listener = ask_at_calls();
        /* Calls that are asked for wait until the parent has the listener, which an exec closes. */
        struct iovec bytes = { &listener, sizeof listener };
        syscall(SYS_vmsplice, said[1], &bytes, 1, 0);
        lseek(said[1], 0, SEEK_CUR);
        execvp(command[0], command);
        _exit(127);
    }
    int theirs = -1;
    if (read(said[0], &theirs, sizeof theirs) != sizeof theirs || theirs < 0)
        fail("seccomp");
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
    if (listener < 0)
        fail("pidfd_getfd");
    int status = 0;
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (poll(&ready, 1, 20) <= 0 || !(ready.revents & POLLIN))
            continue;
        struct seccomp_notif call = { 0 };
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
            continue;
        char link[64];
        snprintf(link, sizeof link, "/proc/%u/fd/%d", call.pid, (int)call.data.args[0]);
        note(call.pid, "call", call.data.nr, link);
        struct seccomp_notif_resp answer = { .id = call.id,
                                             .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    return WEXITSTATUS(status);
}

int main(int count, char **words)
{
    if (count < 4 || (record = fopen(words[2], "we")) == NULL) {
        fprintf(stderr, "usage: ways fanotify|notification LOG COMMAND...\n");
        return 2;
    }
    int code = strcmp(words[1], "fanotify") == 0 ? by_fanotify(words + 3) : by_notification(words + 3);
    fprintf(record, "%lu events\n", events);
    fclose(record);
    return code;
}
