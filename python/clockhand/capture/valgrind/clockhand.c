/* A Valgrind tool that writes the memory references of a program and its children, as a cache lets
 * them through. See docs/capture.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every access of the program is compared, in translated code, with the line that was touched last;
 * only one that leaves the line calls the filter. Instruction fetches are compared once per line
 * and superblock, because their addresses are known when it is translated.
 */

#include "pub_tool_basics.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

#include <stddef.h>
#include <stdint.h>

/* Of Valgrind's core, in no tool header: moves a file out of the program's descriptors. */
extern Int VG_(safe_fd)(Int descriptor);

static Int output = -1;

static int stream_write(const void *bytes, size_t count)
{
    const HChar *at = bytes;
    while (count != 0) {
        Int written = VG_(write)(output, at, (Int)count);
        if (written <= 0)
            return 0;
        at += written;
        count -= (size_t)written;
    }
    return 1;
}

static uint64_t stream_time_ns(void)
{
    struct vki_timespec now;
    VG_(clock_gettime)(&now, VKI_CLOCK_MONOTONIC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#include "../filter/capture_stream.h"

static struct stream stream;

static void filter_emit(unsigned record_class, uint64_t line)
{
    stream_record(&stream, record_class, line);
}

static void *filter_allocate(size_t bytes)
{
    return VG_(calloc)("clockhand.cache", 1, bytes);
}

#include "../filter/cache_filter.h"

static struct filter filter;

/* ---- options ---- */

static const HChar *prefix = NULL;
static Bool system_call_memory = True;
static Bool tells_calls = False;

/* Valgrind reads numbers into signed variables. */
static Long instruction_bytes = FILTER_DEFAULT_L1_BYTES;
static Long data_bytes = FILTER_DEFAULT_L1_BYTES;
static Long second_bytes = 0;
static Long ways = FILTER_DEFAULT_WAYS;
static Long second_ways = FILTER_DEFAULT_SECOND_WAYS;
static Long line_bytes = FILTER_DEFAULT_LINE_BYTES;

static Bool take_option(const HChar *argument)
{
    const Long most = FILTER_MAX_CACHE_BYTES;
    if (VG_STR_CLO(argument, "--capture-prefix", prefix)) {}
    else if (VG_BOOL_CLO(argument, "--system-call-memory", system_call_memory)) {}
    else if (VG_BOOL_CLO(argument, "--tells-calls", tells_calls)) {}
    else if (VG_BINT_CLO(argument, "--instruction-bytes", instruction_bytes, 1, most)) {}
    else if (VG_BINT_CLO(argument, "--data-bytes", data_bytes, 1, most)) {}
    else if (VG_BINT_CLO(argument, "--second-bytes", second_bytes, 0, most)) {}
    else if (VG_BINT_CLO(argument, "--ways", ways, 1, most)) {}
    else if (VG_BINT_CLO(argument, "--second-ways", second_ways, 1, most)) {}
    else if (VG_BINT_CLO(argument, "--line-bytes", line_bytes, FILTER_MIN_LINE_BYTES, most)) {}
    else
        return False;
    return True;
}

static void print_usage(void)
{
    VG_(printf)(
"    --capture-prefix=PATH         streams go to PATH.PROCESS.NUMBER (required)\n"
"    --system-call-memory=yes|no   memory that the kernel reads and writes [yes]\n"
"    --tells-calls=yes|no          tell the process that traces this one of system calls [no]\n"
"    --instruction-bytes=N --data-bytes=N --ways=N --line-bytes=N\n"
"    --second-bytes=N --second-ways=N\n"
"                                  shape of the caches; no second level with 0 bytes [0]\n");
}

static void print_debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

/* ---- text of headers, maps and footers ---- */

static XArray *text = NULL;

#define text_add(...) VG_(xaprintf)(text, __VA_ARGS__)

/* One line's worth of foreign text: what would end or confuse the line is written as \xx. */
static void text_add_quoted(const HChar *foreign)
{
    for (; *foreign != 0; foreign++) {
        UChar byte = (UChar)*foreign;
        if (byte < ' ' || byte == '\\' || byte == 0x7f)
            text_add("\\%02x", byte);
        else
            text_add("%c", byte);
    }
}

static void text_begin(void)
{
    if (text == NULL)
        text = VG_(newXA)(VG_(malloc), "clockhand.text", VG_(free), sizeof(HChar));
    VG_(dropTailXA)(text, VG_(sizeXA)(text));
}

static void text_write(char tag)
{
    Word bytes = VG_(sizeXA)(text);
    stream_block(&stream, tag, stream_time_ns(), bytes == 0 ? "" : VG_(indexXA)(text, 0),
                 (size_t)bytes);
}

/* ---- ranges of the address space that its map at the end does not tell ---- */

struct range {
    Addr start;
    Addr end;
};

/* Disjoint, ascending: memory that would have gone to swap and was unmapped, and memory that is
 * shared with a file, which would not. */
static XArray *given_back = NULL;
static XArray *shared = NULL;

static void add_range(XArray **ranges, Addr start, Addr end)
{
    if (*ranges == NULL)
        *ranges = VG_(newXA)(VG_(malloc), "clockhand.ranges", VG_(free), sizeof(struct range));
    Word index = 0;
    while (index < VG_(sizeXA)(*ranges)) {
        const struct range *other = VG_(indexXA)(*ranges, index);
        if (other->start > end)
            break;
        if (start > other->end) {
            index++;
            continue;
        }
        start = other->start < start ? other->start : start;
        end = other->end > end ? other->end : end;
        VG_(removeIndexXA)(*ranges, index);
    }
    struct range joined = { start, end };
    VG_(insertIndexXA)(*ranges, index, &joined);
}

static Bool is_in_ranges(XArray *ranges, Addr address)
{
    for (Word index = 0; ranges != NULL && index < VG_(sizeXA)(ranges); index++) {
        const struct range *range = VG_(indexXA)(ranges, index);
        if (range->start <= address && address < range->end)
            return True;
    }
    return False;
}

static Bool is_shared(const NSegment *segment)
{
    return segment->kind == SkShmC
        || (segment->kind == SkFileC && is_in_ranges(shared, segment->start));
}

/* Keeps what would have gone to swap of what the program is about to unmap. */
static void note_unmapping(Addr start, SizeT bytes)
{
    Addr end = start + bytes;
    while (start < end) {
        const NSegment *segment = VG_(am_find_nsegment)(start);
        if (segment == NULL || segment->end + 1 <= start)
            return;
        Addr stop = segment->end + 1 < end ? segment->end + 1 : end;
        if ((segment->kind == SkAnonC || segment->kind == SkFileC) && segment->hasW
            && !is_shared(segment))
            add_range(&given_back, start, stop);
        start = stop;
    }
}

/* ---- the map of the address space ---- */

static Addr stack_address = 0;

static const HChar *segment_kind(const NSegment *segment)
{
    if (is_shared(segment))
        return "shared";
    if (segment->kind == SkFileC)
        return "file";
    if (segment->isCH)
        return "heap";
    if (segment->start <= stack_address && stack_address <= segment->end)
        return "stack";
    return "anonymous";
}

static void add_segment(Addr start)
{
    const NSegment *segment = VG_(am_find_nsegment)(start);
    if (segment == NULL)
        return;
    const HChar *name = segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
    text_add("%lx %lx %c%c%c %s ", segment->start, segment->end + 1, segment->hasR ? 'r' : '-',
             segment->hasW ? 'w' : '-', segment->hasX ? 'x' : '-', segment_kind(segment));
    text_add_quoted(name == NULL ? "" : name);
    text_add("\n");
}

static void write_map(void)
{
    const UInt kinds = SkFileC | SkAnonC | SkShmC;
    Int room = 256;
    Addr *starts = VG_(malloc)("clockhand.map", (SizeT)room * sizeof *starts);
    Int count = VG_(am_get_segment_starts)(kinds, starts, room);
    while (count < 0) {
        room = -count + 16;
        starts = VG_(realloc)("clockhand.map", starts, (SizeT)room * sizeof *starts);
        count = VG_(am_get_segment_starts)(kinds, starts, room);
    }
    text_begin();
    for (Int index = 0; index < count; index++)
        add_segment(starts[index]);
    for (Word index = 0; given_back != NULL && index < VG_(sizeXA)(given_back); index++) {
        const struct range *range = VG_(indexXA)(given_back, index);
        text_add("%lx %lx rw- anonymous (given back)\n", range->start, range->end);
    }
    text_write('M');
    VG_(free)(starts);
}

/* ---- streams ---- */

static void open_file(void)
{
    Int number = 0;
    Int descriptor;
    HChar *name = VG_(malloc)("clockhand.name", VG_(strlen)(prefix) + 40);
    do {
        VG_(sprintf)(name, "%s.%d.%d", prefix, VG_(getpid)(), number);
        descriptor = VG_(fd_open)(name, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_EXCL, 0600);
    } while (descriptor == -1 && number++ < 10000);
    if (descriptor == -1)
        VG_(fmsg)("cannot write %s; check --capture-prefix\n", name);
    output = descriptor == -1 ? -1 : VG_(safe_fd)(descriptor);
    VG_(free)(name);
}

static void begin_stream(void)
{
    open_file();
    text_begin();
    text_add("process=%d\nparent=%d\nline_bytes=%llu\ncommand=", VG_(getpid)(), VG_(getppid)(),
             (ULong)filter.line_bytes);
    text_add_quoted(VG_(args_the_exename));
    for (Word index = 0; index < VG_(sizeXA)(VG_(args_for_client)); index++) {
        text_add("\n argument=");
        text_add_quoted(*(HChar **)VG_(indexXA)(VG_(args_for_client), index));
    }
    text_add("\n");
    stream_begin(&stream, VG_(indexXA)(text, 0), (size_t)VG_(sizeXA)(text));
}

/* Valgrind does not tell a tool the exit code; a process that ends without having asked to was
 * ended by a signal. */
static Bool asked_to_exit = False;
static Int exit_code = 0;

/* Ends the stream as far as one can know; a program that goes on (its exec failed) writes another
 * end. */
static void end_stream(const HChar *how)
{
    stream_flush(&stream);
    write_map();
    text_begin();
    text_add("end=%s\nexit_code=%d\nI=%llu\nR=%llu\nA=%llu\nW=%llu\n", how, exit_code,
             (ULong)stream.counts[FILTER_FETCH], (ULong)stream.counts[FILTER_LOAD_MISS],
             (ULong)stream.counts[FILTER_STORE_FILL], (ULong)stream.counts[FILTER_WRITE_BACK]);
    text_write('F');
}

/* ---- calls, which the process that traces this one writes down ---- */

/* A call that no kernel knows. A filter stops the thread there, and the tracer reads the arguments;
 * crates/tracer/src/told.rs has the same numbers. */
#define TELLING 49420

enum telling { TELL_BEGINS, TELL_RETURNED, TELL_MAPPED };

static void tell(enum telling what, UWord first, UWord second, UWord third, UWord fourth)
{
    register UWord r10 __asm__("r10") = third;
    register UWord r8 __asm__("r8") = fourth;
    UWord result = TELLING;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((UWord)what), "S"(first), "d"(second), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
}

/* What the kernel has written to the program's memory: Valgrind says so before the call is told, and a
 * file is read before its bytes arrive. */
static XArray *deferred = NULL;

static void defer(Addr address, SizeT bytes)
{
    struct range range = { address, address + bytes };
    if (deferred == NULL)
        deferred = VG_(newXA)(VG_(malloc), "clockhand.deferred", VG_(free), sizeof range);
    VG_(addToXA)(deferred, &range);
}

static void store_deferred(void)
{
    for (Word index = 0; deferred != NULL && index < VG_(sizeXA)(deferred); index++) {
        const struct range *range = VG_(indexXA)(deferred, index);
        filter_store(&filter, range->start, range->end - range->start);
    }
    if (deferred != NULL)
        VG_(dropTailXA)(deferred, VG_(sizeXA)(deferred));
}

/* What the program's memory is mapped from before it has made a call. */
static void tell_mappings(void)
{
    Addr starts[64];
    Int count = VG_(am_get_segment_starts)(SkFileC, starts, 64);
    for (Int index = 0; index < count; index++) {
        const NSegment *segment = VG_(am_find_nsegment)(starts[index]);
        const HChar *name = segment == NULL ? NULL : VG_(am_get_filename)(segment);
        if (name != NULL)
            tell(TELL_MAPPED, segment->start, segment->end + 1, (UWord)segment->offset,
                 (UWord)name);
    }
}

static Addr program_break = 0;

/* Of madvise; Valgrind's headers for tools lack it. */
#define GIVE_BACK 4

/* What is about to be mapped anew or unmapped: the caches keep nothing of it. */
static void leave_range(UInt number, const UWord *arguments)
{
    const Bool is_replaced = number == __NR_mmap && (arguments[3] & VKI_MAP_FIXED) != 0;
    const Bool is_emptied = number == __NR_madvise && arguments[2] == GIVE_BACK;
    if (is_replaced || is_emptied || number == __NR_munmap || number == __NR_mremap)
        filter_leave(&filter, arguments[0], arguments[1]);
    else if (number == __NR_brk && arguments[0] != 0 && arguments[0] < program_break)
        filter_leave(&filter, arguments[0], program_break - arguments[0]);
}

/* A forked child has a stream of its own and caches that know nothing of the parent's. */
static void in_forked_child(ThreadId thread)
{
    (void)thread;
    VG_(close)(output);
    filter_empty(&filter);
    if (deferred != NULL)
        VG_(dropTailXA)(deferred, VG_(sizeXA)(deferred));
    begin_stream();
}

/* ---- memory that the kernel touches ---- */

static void kernel_reads(CorePart part, ThreadId thread, const HChar *what, Addr address,
                         SizeT bytes)
{
    (void)thread;
    (void)what;
    if (part == Vg_CoreSysCall && bytes != 0
        && VG_(am_is_valid_for_client)(address, bytes, VKI_PROT_READ))
        filter_load(&filter, address, bytes);
}

static void kernel_reads_text(CorePart part, ThreadId thread, const HChar *what, Addr address)
{
    Addr end = address;
    while (VG_(am_is_valid_for_client)(end, 1, VKI_PROT_READ) && *(const HChar *)end != 0)
        end++;
    kernel_reads(part, thread, what, address, end + 1 - address);
}

static void kernel_writes(CorePart part, ThreadId thread, Addr address, SizeT bytes)
{
    (void)thread;
    if (part != Vg_CoreSysCall || bytes == 0
        || !VG_(am_is_valid_for_client)(address, bytes, VKI_PROT_NONE))
        return;
    if (tells_calls)
        defer(address, bytes);
    else
        filter_store(&filter, address, bytes);
}

static void before_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count)
{
    const ThreadId first_thread = 1;
    (void)count;
    if (number == __NR_exit_group || (number == __NR_exit && thread == first_thread)) {
        asked_to_exit = True;
        exit_code = (Int)(arguments[0] & 0xff);
    } else if (number == __NR_execve || number == __NR_execveat) {
        end_stream("exec");
    } else if (number == __NR_munmap || number == __NR_mremap) {
        note_unmapping(arguments[0], arguments[1]);
    }
    if (tells_calls) {
        leave_range(number, arguments);
        stream_flush(&stream);
        tell(TELL_BEGINS, number, (UWord)arguments, 0, 0);
    }
}

static void after_system_call(ThreadId thread, UInt number, UWord *arguments, UInt count,
                              SysRes result)
{
    (void)thread;
    (void)count;
    if (tells_calls) {
        /* What follows has a later time than what the tracer writes now. */
        if (number == __NR_brk)
            program_break = sr_Res(result);
        stream_flush(&stream);
        tell(TELL_RETURNED, sr_isError(result), sr_isError(result) ? 0 : sr_Res(result), 0, 0);
        store_deferred();
    }
    if (number == __NR_mmap && !sr_isError(result) && (arguments[3] & VKI_MAP_SHARED) != 0)
        add_range(&shared, sr_Res(result), sr_Res(result) + VG_PGROUNDUP(arguments[1]));
}

/* ---- translated code ---- */

static VG_REGPARM(2) void on_fetch(Addr address, SizeT bytes)
{
    filter_fetch(&filter, address, bytes);
}

static VG_REGPARM(2) void on_load(Addr address, SizeT bytes)
{
    filter_load(&filter, address, bytes);
}

static VG_REGPARM(2) void on_store(Addr address, SizeT bytes)
{
    filter_store(&filter, address, bytes);
}

static IRExpr *assign(IRSB *block, IRType type, IRExpr *expression)
{
    IRTemp temporary = newIRTemp(block->tyenv, type);
    addStmtToIRSB(block, IRStmt_WrTmp(temporary, expression));
    return IRExpr_RdTmp(temporary);
}

static IRExpr *constant(ULong value)
{
    return IRExpr_Const(IRConst_U64(value));
}

static void add_call(IRSB *block, const HChar *name, void *function, IRExpr *address, Int bytes,
                     IRExpr *guard)
{
    IRDirty *call = unsafeIRDirty_0_N(2, name, VG_(fnptr_to_fnentry)(function),
                                      mkIRExprVec_2(address, mkIRExpr_HWord((HWord)bytes)));
    if (guard != NULL)
        call->guard = guard;
    addStmtToIRSB(block, IRStmt_Dirty(call));
}

/* Calls `function` unless the access is within the line that begins at `*last_line_at`. */
static void add_compared_call(IRSB *block, const HChar *name, void *function, IRExpr *address,
                              Int bytes, uint64_t *last_line_at, IRExpr *guard)
{
    if (guard != NULL || (uint64_t)bytes > filter.line_bytes) {
        add_call(block, name, function, address, bytes, guard);
        return;
    }
    IRExpr *last = assign(block, Ity_I64,
                          IRExpr_Load(Iend_LE, Ity_I64, constant((ULong)(UWord)last_line_at)));
    IRExpr *offset = assign(block, Ity_I64, IRExpr_Binop(Iop_Sub64, address, last));
    IRExpr *leaves = assign(block, Ity_I1,
                            IRExpr_Binop(Iop_CmpLT64U,
                                         constant(filter.line_bytes - (ULong)bytes), offset));
    add_call(block, name, function, address, bytes, leaves);
}

static void add_load(IRSB *block, IRExpr *address, Int bytes, IRExpr *guard)
{
    add_compared_call(block, "on_load", on_load, address, bytes, &filter.last_data_line_at, guard);
}

static void add_store(IRSB *block, IRExpr *address, Int bytes, IRExpr *guard)
{
    add_compared_call(block, "on_store", on_store, address, bytes, &filter.last_store_line_at,
                      guard);
}

/* A fetch from the line of the instruction before it needs no comparison. */
static void add_fetch(IRSB *block, Addr address, UInt bytes, Addr *fetched_line_at)
{
    Addr first_line_at = address & ~(filter.line_bytes - 1);
    Addr last_line_at = (address + bytes - 1) & ~(filter.line_bytes - 1);
    if (bytes == 0 || last_line_at == *fetched_line_at)
        return;
    if (first_line_at != last_line_at) {
        add_call(block, "on_fetch", on_fetch, constant(address), (Int)bytes, NULL);
    } else {
        ULong at = (ULong)(UWord)&filter.last_fetch_line_at;
        IRExpr *last = assign(block, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, constant(at)));
        IRExpr *leaves = assign(block, Ity_I1,
                                IRExpr_Binop(Iop_CmpNE64, last, constant(first_line_at)));
        add_call(block, "on_fetch", on_fetch, constant(address), (Int)bytes, leaves);
    }
    *fetched_line_at = last_line_at;
}

static void add_compare_and_swap(IRSB *block, const IRCAS *cas)
{
    Int bytes = sizeofIRType(typeOfIRExpr(block->tyenv, cas->dataLo));
    if (cas->dataHi != NULL)
        bytes *= 2;
    add_load(block, cas->addr, bytes, NULL);
    add_store(block, cas->addr, bytes, NULL);
}

static void add_helper_memory(IRSB *block, const IRDirty *helper)
{
    if (helper->mFx == Ifx_Read || helper->mFx == Ifx_Modify)
        add_load(block, helper->mAddr, helper->mSize, helper->guard);
    if (helper->mFx == Ifx_Write || helper->mFx == Ifx_Modify)
        add_store(block, helper->mAddr, helper->mSize, helper->guard);
}

static Int loaded_bytes(IRLoadGOp conversion)
{
    IRType result;
    IRType loaded;
    typeOfIRLoadGOp(conversion, &result, &loaded);
    return sizeofIRType(loaded);
}

static void add_accesses(IRSB *block, const IRStmt *statement)
{
    const IRTypeEnv *types = block->tyenv;
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Load)
            add_load(block, value->Iex.Load.addr, sizeofIRType(value->Iex.Load.ty), NULL);
        break;
    }
    case Ist_Store: {
        IRType type = typeOfIRExpr(types, statement->Ist.Store.data);
        add_store(block, statement->Ist.Store.addr, sizeofIRType(type), NULL);
        break;
    }
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        add_load(block, load->addr, loaded_bytes(load->cvt), load->guard);
        break;
    }
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        add_store(block, store->addr, sizeofIRType(typeOfIRExpr(types, store->data)),
                  store->guard);
        break;
    }
    case Ist_CAS:
        add_compare_and_swap(block, statement->Ist.CAS.details);
        break;
    case Ist_LLSC: {
        const IRExpr *stored = statement->Ist.LLSC.storedata;
        if (stored == NULL)
            add_load(block, statement->Ist.LLSC.addr,
                     sizeofIRType(typeOfIRTemp(types, statement->Ist.LLSC.result)), NULL);
        else
            add_store(block, statement->Ist.LLSC.addr, sizeofIRType(typeOfIRExpr(types, stored)),
                      NULL);
        break;
    }
    case Ist_Dirty:
        if (statement->Ist.Dirty.details->mFx != Ifx_None)
            add_helper_memory(block, statement->Ist.Dirty.details);
        break;
    default:
        break;
    }
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *original, const VexGuestLayout *layout,
                        const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                        IRType host_word)
{
    (void)layout;
    (void)extents;
    (void)host;
    tl_assert(guest_word == host_word);
    if (stack_address == 0)
        stack_address = VG_(get_SP)(closure->tid);
    IRSB *block = deepCopyIRSBExceptStmts(original);
    Int index = 0;
    while (index < original->stmts_used && original->stmts[index]->tag != Ist_IMark)
        addStmtToIRSB(block, original->stmts[index++]);
    Addr fetched_line_at = FILTER_NO_LINE;
    for (; index < original->stmts_used; index++) {
        IRStmt *statement = original->stmts[index];
        if (statement->tag == Ist_NoOp)
            continue;
        if (statement->tag == Ist_IMark)
            add_fetch(block, statement->Ist.IMark.addr, statement->Ist.IMark.len,
                      &fetched_line_at);
        else
            add_accesses(block, statement);
        addStmtToIRSB(block, statement);
    }
    return block;
}

/* ---- life ---- */

static void after_options(void)
{
    if (prefix == NULL)
        VG_(fmsg_bad_option)("--capture-prefix", "it is required: say where the streams go\n");
    struct filter_shape shape = {
        .instruction_bytes = (uint64_t)instruction_bytes,
        .data_bytes = (uint64_t)data_bytes,
        .second_bytes = (uint64_t)second_bytes,
        .ways = (uint64_t)ways,
        .second_ways = (uint64_t)second_ways,
        .line_bytes = (uint64_t)line_bytes,
    };
    if (!filter_open(&filter, &shape))
        VG_(fmsg_bad_option)("--data-bytes", "the caches have an impossible shape\n");
    if (system_call_memory) {
        VG_(track_pre_mem_read)(kernel_reads);
        VG_(track_pre_mem_read_asciiz)(kernel_reads_text);
        VG_(track_post_mem_write)(kernel_writes);
    }
    begin_stream();
    if (tells_calls)
        tell_mappings();
}

static void at_exit(Int valgrinds_own_code)
{
    (void)valgrinds_own_code;
    end_stream(asked_to_exit ? "exit" : "signal");
    VG_(close)(output);
}

static void before_options(void)
{
    VG_(details_name)("clockhand");
    VG_(details_version)(NULL);
    VG_(details_description)("memory references as a cache lets them through");
    VG_(details_copyright_author)("GPL-2.0-or-later; part of Clockhand");
    VG_(details_bug_reports_to)("the Clockhand project");
    VG_(details_avg_translation_sizeB)(400);
    VG_(basic_tool_funcs)(after_options, instrument, at_exit);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
    VG_(atfork)(NULL, NULL, in_forked_child);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
