/*
 * Threads that do to their memory, for as long as one likes, what is hard to page: writes, direct reads and writes in every
 * way that there is, pages that are given to a pipe, blocks that grow, move and are given back, forks whose children write
 * as well, and signals. Every word is verified. What is expected is kept in static memory, which is not paged.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, THREADS = 3, BLOCKS = 6, MOST_PAGES = 256, FILE_PAGES = 2048, TOGETHER = 64 };

/* What a page holds: zeros, numbers from a seed, or a page of the file. */
struct content {
    enum { ZEROS, NUMBERS, OF_FILE } kind;
    uint64_t seed;
};

struct block {
    unsigned char *at;
    unsigned pages;
    struct content expected[MOST_PAGES];
};

struct worker {
    struct block blocks[BLOCKS];
    uint64_t state;
    int own_file;
    pid_t child;
    uint64_t verified;
};

enum deed { WRITE, LOOK, READ_DIRECTLY, WRITE_DIRECTLY, INTO_PIPE, RESIZE, MAP_ANEW, GIVE_BACK, FORK, REFUSED, DEEDS };
static const char *const NAMES[DEEDS] = {"writes", "looks", "direct reads", "direct writes", "into pipes",
                                         "resized", "mapped anew", "given back", "forks", "refused"};

static struct worker workers[THREADS];
static unsigned long done[DEEDS];
static int file, is_direct, is_child;
static time_t end;
static uint64_t *signals_seen;
/* Not paged, to compare with. */
static _Alignas(PAGE) unsigned char plain[THREADS][TOGETHER * PAGE];

static uint64_t random_number(struct worker *own)
{
    uint64_t z = own->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static unsigned below(struct worker *own, unsigned bound)
{
    return (unsigned)(random_number(own) % bound);
}

static uint64_t word(struct content content, unsigned index)
{
    switch (content.kind) {
    case NUMBERS:
        return (content.seed + index) * 0xD1342543DE82EF95u;
    case OF_FILE:
        return (content.seed * WORDS + index) * 0x9E3779B97F4A7C15u + 1;
    default:
        return 0;
    }
}

static void fail(const char *what, unsigned page, unsigned index)
{
    printf("wrong: %s, page %u, word %u, in the %s\n", what, page, index, is_child ? "child" : "parent");
    fflush(stdout);
    kill(is_child ? getppid() : getpid(), SIGKILL);
    _exit(9);
}

static void verify(struct worker *own, const unsigned char *at, const struct content *expected, unsigned pages,
                   const char *what)
{
    for (unsigned page = 0; page < pages; page++)
        for (unsigned index = 0; index < WORDS; index++)
            if (((const uint64_t *)(at + page * (size_t)PAGE))[index] != word(expected[page], index))
                fail(what, page, index);
    own->verified += pages * (uint64_t)WORDS;
}

static void fill(struct worker *own, struct block *block, unsigned page)
{
    struct content content = {NUMBERS, random_number(own)};
    uint64_t *words = (uint64_t *)(block->at + page * (size_t)PAGE);
    for (unsigned index = 0; index < WORDS; index++)
        words[index] = word(content, index);
    block->expected[page] = content;
}

static void map(struct worker *own, struct block *block)
{
    block->pages = 32 + below(own, MOST_PAGES / 2);
    block->at = mmap(NULL, block->pages * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->at == MAP_FAILED)
        exit(3);
    memset(block->expected, 0, sizeof block->expected);
}

extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);

static ssize_t read_directly(struct worker *own, unsigned char *to, size_t bytes, off_t offset)
{
    struct iovec parts[2] = {{to, PAGE}, {to + PAGE, bytes - PAGE}};
    int count = bytes > PAGE ? 2 : 1;
    unsigned way = below(own, 10);
    switch (way) {
    case 0:
        return preadv(file, parts, count, offset);
    case 1:
        return preadv2(file, parts, count, offset, 0);
    case 2:
        return __pread_chk(file, to, bytes, offset, bytes);
    case 3:
        return syscall(SYS_pread64, file, to, bytes, offset);
    case 4:
        return syscall(SYS_preadv, file, parts, count, offset, 0);
    case 5:
        return syscall(SYS_preadv2, file, parts, count, offset, 0, 0);
    case 6:
        return pread(file, to, bytes, offset);
    default: {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        int reopened = open(name, O_RDONLY | (is_direct ? O_DIRECT : 0));
        lseek(reopened, offset, SEEK_SET);
        ssize_t got = way == 7   ? read(reopened, to, bytes)
                      : way == 8 ? __read_chk(reopened, to, bytes, bytes)
                                 : syscall(SYS_read, reopened, to, bytes);
        close(reopened);
        return got;
    }
    }
}

static ssize_t write_directly(struct worker *own, unsigned char *from, size_t bytes)
{
    struct iovec parts[2] = {{from, PAGE}, {from + PAGE, bytes - PAGE}};
    int count = bytes > PAGE ? 2 : 1;
    switch (below(own, 4)) {
    case 0:
        return pwrite(own->own_file, from, bytes, 0);
    case 1:
        return pwritev(own->own_file, parts, count, 0);
    case 2: {
        struct aiocb request = {.aio_fildes = own->own_file, .aio_buf = from, .aio_nbytes = bytes};
        const struct aiocb *all[] = {&request};
        if (is_child || aio_write(&request))
            return pwrite(own->own_file, from, bytes, 0);
        while (aio_error(&request) == EINPROGRESS)
            aio_suspend(all, 1, NULL);
        return aio_return(&request);
    }
    default: {
        aio_context_t context = 0;
        struct iocb request = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = (unsigned)own->own_file,
                               .aio_buf = (uintptr_t)from, .aio_nbytes = bytes};
        struct iocb *requests[] = {&request};
        struct io_event event = {0};
        if (syscall(SYS_io_setup, 1, &context))
            return pwrite(own->own_file, from, bytes, 0);
        if (syscall(SYS_io_submit, context, 1, requests) == 1)
            while (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
                ;
        syscall(SYS_io_destroy, context);
        return (ssize_t)event.res;
    }
    }
}

/* What the kernel would do behind the program's back cannot be copied, and is not begun. */
static void try_what_is_refused(unsigned char *to)
{
    aio_context_t context = 0;
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned)file,
                           .aio_buf = (uintptr_t)to, .aio_nbytes = PAGE};
    struct iocb *requests[] = {&request};
    struct io_uring_params parameters = {0};
    struct aiocb of_library = {.aio_fildes = file, .aio_buf = to, .aio_nbytes = PAGE};
    struct aiocb *list[] = {&of_library};
    of_library.aio_lio_opcode = LIO_READ;
    if (is_direct && !syscall(SYS_io_setup, 1, &context)) {
        if (syscall(SYS_io_submit, context, 1, requests) == 1)
            fail("io_submit was not refused", 0, 0);
        syscall(SYS_io_destroy, context);
    }
    if (is_direct && (!aio_read(&of_library) || !lio_listio(LIO_WAIT, list, 1, NULL)))
        fail("aio_read was not refused", 0, 0);
    if (syscall(SYS_io_uring_setup, 4, &parameters) >= 0)
        fail("a ring was not refused", 0, 0);
}

static void into_pipe(struct worker *own, struct block *block, unsigned first, unsigned pages, unsigned char *own_plain)
{
    int ends[2];
    struct iovec part = {block->at + first * (size_t)PAGE, pages * (size_t)PAGE};
    if (pipe(ends))
        exit(3);
    ssize_t given = vmsplice(ends[1], &part, 1, SPLICE_F_NONBLOCK);
    /* The pages may leave before they are read from the pipe. */
    struct block *other = &own->blocks[below(own, BLOCKS)];
    if (other != block)
        verify(own, other->at, other->expected, other->pages, "beside a pipe");
    ssize_t got = 0;
    while (got < given) {
        ssize_t more = read(ends[0], own_plain + got, (size_t)(given - got));
        if (more <= 0)
            exit(3);
        got += more;
    }
    verify(own, own_plain, block->expected + first, (unsigned)(got / PAGE), "from a pipe");
    close(ends[0]);
    close(ends[1]);
}

static void resize(struct worker *own, struct block *block)
{
    unsigned pages = 32 + below(own, MOST_PAGES - 32);
    void *at = mremap(block->at, block->pages * (size_t)PAGE, pages * (size_t)PAGE, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        exit(3);
    for (unsigned page = block->pages < pages ? block->pages : pages; page < MOST_PAGES; page++)
        block->expected[page] = (struct content){ZEROS, 0};
    block->at = at;
    block->pages = pages;
}

static void do_something(struct worker *own, unsigned number);

static void wait_for_child(struct worker *own)
{
    int status = 0;
    if (own->child > 0 && (waitpid(own->child, &status, 0) != own->child || status != 0)) {
        printf("a child ended with %d\n", status);
        fail("a child", 0, 0);
    }
    own->child = 0;
}

static void start_child(struct worker *own, unsigned number)
{
    wait_for_child(own);
    own->child = fork();
    if (own->child != 0)
        return;
    is_child = 1;
    own->verified = 0;
    for (int turn = 0; turn < 30; turn++)
        do_something(own, number);
    for (int index = 0; index < BLOCKS; index++)
        verify(own, own->blocks[index].at, own->blocks[index].expected, own->blocks[index].pages, "at a child's end");
    _exit(0);
}

static void do_something(struct worker *own, unsigned number)
{
    struct block *block = &own->blocks[below(own, BLOCKS)];
    unsigned first = below(own, block->pages), most = block->pages - first;
    unsigned pages = 1 + below(own, most < TOGETHER ? most : TOGETHER);
    unsigned char *at = block->at + first * (size_t)PAGE;
    static const unsigned char COMMON[] = {WRITE, WRITE, WRITE, LOOK, LOOK, READ_DIRECTLY, READ_DIRECTLY, WRITE_DIRECTLY};
    unsigned chosen = below(own, 100);
    enum deed deed = chosen < 88 ? COMMON[chosen % 8] : chosen < 98 ? INTO_PIPE + chosen % 5 : chosen < 99 ? FORK : REFUSED;
    if (deed == FORK && is_child)
        deed = WRITE;
    switch (deed) {
    case WRITE:
        for (unsigned page = first; page < first + pages; page++)
            fill(own, block, page);
        break;
    case LOOK:
        verify(own, block->at, block->expected, block->pages, "a block");
        break;
    case READ_DIRECTLY: {
        unsigned from = below(own, FILE_PAGES - pages);
        if (read_directly(own, at, pages * (size_t)PAGE, (off_t)from * PAGE) != (ssize_t)(pages * (size_t)PAGE)) {
            perror("a direct read");
            exit(3);
        }
        for (unsigned page = 0; page < pages; page++)
            block->expected[first + page] = (struct content){OF_FILE, from + page};
        verify(own, at, block->expected + first, pages, "read directly");
        break;
    }
    case WRITE_DIRECTLY:
        /* The child has its parent's file. */
        if (is_child)
            break;
        if (write_directly(own, at, pages * (size_t)PAGE) != (ssize_t)(pages * (size_t)PAGE)) {
            perror("a direct write");
            exit(3);
        }
        if (pread(own->own_file, plain[number], pages * (size_t)PAGE, 0) != (ssize_t)(pages * (size_t)PAGE))
            exit(3);
        verify(own, plain[number], block->expected + first, pages, "written directly");
        break;
    case INTO_PIPE:
        into_pipe(own, block, first, pages < 16 ? pages : 16, plain[number]);
        break;
    case RESIZE:
        resize(own, block);
        break;
    case MAP_ANEW:
        munmap(block->at, block->pages * (size_t)PAGE);
        map(own, block);
        verify(own, block->at, block->expected, block->pages, "mapped anew");
        break;
    case GIVE_BACK:
        madvise(at, pages * (size_t)PAGE, MADV_DONTNEED);
        memset(block->expected + first, 0, pages * sizeof *block->expected);
        break;
    case FORK:
        start_child(own, number);
        break;
    default:
        deed = REFUSED;
        try_what_is_refused(at);
    }
    __atomic_add_fetch(&done[deed], 1, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    struct worker *own = &workers[number];
    while (time(NULL) < end)
        do_something(own, number);
    wait_for_child(own);
    for (int index = 0; index < BLOCKS; index++)
        verify(own, own->blocks[index].at, own->blocks[index].expected, own->blocks[index].pages, "at the end");
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    ++*signals_seen;
}

static int opened(const char *folder, const char *name, unsigned number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%u", folder, name, number);
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink(path);
    return descriptor;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fputs("usage: everything_at_once SECONDS SEED FOLDER\n", stderr);
        return 2;
    }
    end = time(NULL) + atol(arguments[1]);
    file = opened(arguments[3], "content", 0);
    for (unsigned page = 0; page < FILE_PAGES; page++) {
        for (unsigned index = 0; index < WORDS; index++)
            ((uint64_t *)plain[0])[index] = word((struct content){OF_FILE, page}, index);
        if (write(file, plain[0], PAGE) != PAGE)
            return 3;
    }
    fsync(file);
    is_direct = !fcntl(file, F_SETFL, O_DIRECT);
    signals_seen = calloc(1, 1 << 20);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[THREADS];
    for (unsigned number = 0; number < THREADS; number++) {
        struct worker *own = &workers[number];
        own->state = strtoull(arguments[2], NULL, 10) * 1000 + number;
        own->own_file = opened(arguments[3], "own", number);
        if (is_direct)
            fcntl(own->own_file, F_SETFL, O_DIRECT);
        for (int index = 0; index < BLOCKS; index++)
            map(own, &own->blocks[index]);
        pthread_create(&threads[number], NULL, work, (void *)(uintptr_t)number);
    }
    uint64_t verified = 0;
    for (unsigned number = 0; number < THREADS; number++) {
        pthread_join(threads[number], NULL);
        verified += workers[number].verified;
    }
    if (!is_direct)
        puts("no direct I/O on this file system: reads and writes went through the page cache");
    for (int deed = 0; deed < DEEDS; deed++)
        printf("%lu %s, ", done[deed], NAMES[deed]);
    printf("%lu signals\n", (unsigned long)*signals_seen);
    printf("%lu words verified, none wrong\n", (unsigned long)verified);
    return 0;
}
