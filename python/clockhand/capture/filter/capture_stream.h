/* The file that a front end writes: one stream of records, in blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR Apache-2.0
 *
 *     magic    8 bytes: "CLKHCAP" and the version, 1
 *     block    tag (1 byte), payload length in bytes (4), time of its first record in ns (8), payload
 *
 * Numbers are little-endian. The tags:
 *
 *     H   header: lines KEY=VALUE, first block of the file
 *     R   records
 *     M   map of the address space: lines START END PERMISSIONS KIND NAME, addresses hexadecimal
 *     F   footer: lines KEY=VALUE; `end` is exit, exec or signal. A stream that ends in records was cut
 *
 * A record is a variable-length number, seven bits per byte, the lowest first, the top bit of a
 * byte set while more follow. Its two low bits are the class (I, R, A, W), the rest is the line
 * number less that of the last record of this class in this block (0 at its beginning), zigzag
 * coded. No record crosses a block, so that a cut file loses one block. A map or footer that comes
 * later replaces an earlier one.
 *
 * A file that includes this one defines, before it:
 *
 *     static int stream_write(const void *bytes, size_t count);     all of it; 0 when it failed
 *     static uint64_t stream_time_ns(void);                         any origin, one for all streams
 */
#ifndef CLOCKHAND_CAPTURE_STREAM_H
#define CLOCKHAND_CAPTURE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#define STREAM_MAGIC "CLKHCAP\001"
#define STREAM_MAGIC_BYTES 8
#define STREAM_HEADER_BYTES 13
#define STREAM_PAYLOAD_BYTES 65536
/* The most bytes of a 64-bit line number with two bits of class. */
#define STREAM_RECORD_BYTES 10
#define STREAM_CLASSES 4

struct stream {
    uint64_t last_line[STREAM_CLASSES];
    uint64_t counts[STREAM_CLASSES];
    uint64_t began_ns;
    size_t used;
    int failed;
    uint8_t payload[STREAM_PAYLOAD_BYTES];
};

static inline void stream_put_number(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned byte = 0; byte < bytes; byte++)
        at[byte] = (uint8_t)(value >> 8 * byte);
}

static inline void stream_block(struct stream *stream, char tag, uint64_t time_ns,
                                const void *payload, size_t bytes)
{
    uint8_t header[STREAM_HEADER_BYTES];
    header[0] = (uint8_t)tag;
    stream_put_number(header + 1, bytes, 4);
    stream_put_number(header + 5, time_ns, 8);
    if (stream->failed || !stream_write(header, sizeof header) || !stream_write(payload, bytes))
        stream->failed = 1;
}

/* Writes the records that are held. */
static inline void stream_flush(struct stream *stream)
{
    if (stream->used != 0)
        stream_block(stream, 'R', stream->began_ns, stream->payload, stream->used);
    stream->used = 0;
    for (unsigned record_class = 0; record_class < STREAM_CLASSES; record_class++)
        stream->last_line[record_class] = 0;
}

/* Forgets what is held and begins a stream in a new file. */
static inline void stream_begin(struct stream *stream, const char *header, size_t header_bytes)
{
    stream->used = 0;
    stream->failed = !stream_write(STREAM_MAGIC, STREAM_MAGIC_BYTES);
    for (unsigned record_class = 0; record_class < STREAM_CLASSES; record_class++) {
        stream->counts[record_class] = 0;
        stream->last_line[record_class] = 0;
    }
    stream_block(stream, 'H', stream_time_ns(), header, header_bytes);
}

static inline void stream_record(struct stream *stream, unsigned record_class, uint64_t line)
{
    if (stream->used > STREAM_PAYLOAD_BYTES - STREAM_RECORD_BYTES)
        stream_flush(stream);
    if (stream->used == 0)
        stream->began_ns = stream_time_ns();
    stream->counts[record_class]++;
    uint64_t delta = line - stream->last_line[record_class];
    stream->last_line[record_class] = line;
    uint64_t zigzag = delta << 1 ^ (0 - (delta >> 63));
    uint8_t *at = stream->payload + stream->used;
    /* The class and the five lowest bits first, so that 64 bits of difference fit. */
    uint64_t rest = zigzag >> 5;
    *at = (uint8_t)((zigzag & 31) << 2 | record_class);
    while (rest != 0) {
        *at++ |= 0x80;
        *at = (uint8_t)(rest & 0x7f);
        rest >>= 7;
    }
    stream->used = (size_t)(at + 1 - stream->payload);
}

#endif
