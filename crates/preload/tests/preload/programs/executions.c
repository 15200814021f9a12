/* Executes itself in all ways, also as what runs a script, each time with memory in use. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, MANY = 5000 };

extern char **environ;

/* Fills memory, and says how it was started. */
static int started(int count, char **arguments)
{
    unsigned char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned sum = 0;
    for (size_t index = 0; index < BYTES; index += 64)
        memory[index] = (unsigned char)(index >> 12);
    for (size_t index = 0; index < BYTES; index += 64)
        sum = sum * 31 + memory[index];
    const char *file = (char *)getauxval(AT_EXECFN);
    char name[16] = "of a descriptor";
    /* Kernels do not agree about the name then. */
    if (strspn(file, "/devf0123456789") != strlen(file))
        prctl(PR_GET_NAME, name);
    printf("  %u, thread %s, file %s, arguments", sum, name, file);
    for (int index = 0; index < count && index < 8; index++)
        printf(" <%s>", arguments[index]);
    printf(" of %d, own variables: %s\n", count, getenv("CLOCKHAND_STATIC") || getenv("CLOCKHAND_EXECUTED") ? "NO" : "none");
    return 7;
}

static void script(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fchmod(fileno(file), 0755);
    fclose(file);
}

enum { EXECVE, EXECVP, SPAWN, SPAWNP, BY_NUMBER, EXECVEAT, BELOW, FEXECVE, FEXECVE_CLOSING, WAYS };

static const char *const NAMES[WAYS] = {
    "execve", "execvp", "posix_spawn", "posix_spawnp", "by number", "execveat", "below a folder", "fexecve", "fexecve, closing",
};

static void execute(int way, char *path, char **arguments)
{
    int file = way >= FEXECVE ? open(path, O_RDONLY | (way == FEXECVE_CLOSING ? O_CLOEXEC : 0)) : -1;
    int folder = way == BELOW ? open(".", O_RDONLY | O_DIRECTORY) : -1;
    switch (way) {
    case EXECVE:
        execve(path, arguments, environ);
        break;
    case EXECVP:
        execvp(path, arguments);
        break;
    case BY_NUMBER:
        syscall(SYS_execve, path, arguments, environ);
        break;
    case EXECVEAT:
        execveat(AT_FDCWD, path, arguments, environ, 0);
        break;
    case BELOW:
        syscall(SYS_execveat, folder, path, arguments, environ, 0);
        break;
    default:
        fexecve(file, arguments, environ);
    }
    printf("  not executed: %s\n", strerror(errno));
    fflush(stdout);
    _exit(1);
}

static void run(int way, char *path, char **arguments)
{
    printf("%s of %s:\n", NAMES[way], path);
    fflush(stdout);
    pid_t process = 0;
    int status = 0;
    if (way == SPAWN || way == SPAWNP) {
        int failed = (way == SPAWN ? posix_spawn : posix_spawnp)(&process, path, NULL, NULL, arguments, environ);
        if (failed) {
            printf("  not spawned: %s\n", strerror(failed));
            return;
        }
    } else if ((process = fork()) == 0) {
        execute(way, path, arguments);
    }
    waitpid(process, &status, 0);
    printf("  ended with %d\n", WEXITSTATUS(status));
}

int main(int count, char **arguments)
{
    if (count > 1)
        return started(count, arguments);
    char own[4096], line[4300];
    own[readlink("/proc/self/exe", own, sizeof own - 1)] = 0;
    char folder[] = "/tmp/executions-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || symlink(own, "own") != 0)
        return 1;
    snprintf(line, sizeof line, "#! \t%s   one argument \t\nis not read\n", own);
    script("with_argument", line);
    snprintf(line, sizeof line, "#!%s", own);
    script("unended", line);
    script("nested", "#!./with_argument of another\n");
    script("itself", "#!./itself\n");
    script("missing", "#!./nothing\n");
    script("nameless", "#!  \n");
    char *files[] = {"./own", "./with_argument", "./unended", "./nested", "./itself", "./missing", "./nameless"};
    for (size_t file = 0; file < sizeof files / sizeof *files; file++)
        for (int way = 0; way < WAYS; way++)
            run(way, files[file], (char *[]){"name", "first", "", NULL});
    run(EXECVE, "./with_argument", (char *[]){NULL});
    static char *many[MANY + 1];
    for (int index = 0; index < MANY; index++)
        many[index] = "x";
    run(EXECVE, "./own", many);
    run(EXECVE, "./with_argument", many);
    for (size_t file = 0; file < sizeof files / sizeof *files; file++)
        unlink(files[file]);
    return rmdir(folder) != 0;
}
