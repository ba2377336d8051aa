/* The file under a CSV reader. gzip is recognised by its magic; members may follow each other; a
 * stream that ends early or is followed by something else is an error, for rows would be missing.
 */
#include "storage/csv/csv_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { IN_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 };

/* zlib's memory is counted like all other; the size goes before the bytes. */
static void *zlib_alloc(void *mem, unsigned n, unsigned size)
{
    size_t bytes = (size_t)n * size + 16;
    void *p = NULL;
    if (sm_alloc(mem, bytes, "gzip", &p, NULL) != SM_OK) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    return (char *)p + 16;
}

static void zlib_free(void *mem, void *p)
{
    size_t bytes;
    char *at = (char *)p - 16;
    if (!p) return;
    memcpy(&bytes, at, sizeof bytes);
    sm_free(mem, at, bytes);
}

static sm_status read_some(sm_csv_reader *r, char *to, size_t room, size_t *got, sm_error *err)
{
    ssize_t n;
    if (room > 1 << 24) room = 1 << 24;
    do n = read(r->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) return sm_raise(err, SM_ERR_IO, r->path, strerror(errno));
    *got = (size_t)n;
    return SM_OK;
}

static sm_status gzip_error(const sm_csv_reader *r, const char *what, sm_error *err)
{
    return sm_raise(err, SM_ERR_IO, r->path, what);
}

static sm_status start_gzip(sm_csv_reader *r, sm_error *err)
{
    void *p = NULL;
    SM_TRY(sm_alloc(r->mem, IN_BYTES, "gzip", &p, err));
    r->in = p;
    memcpy(r->in, r->buf, r->end);
    r->z = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free, .opaque = r->mem};
    r->z.next_in = (Bytef *)r->in;
    r->z.avail_in = (uInt)r->end;
    r->end = 0;
    if (inflateInit2(&r->z, GZIP_WINDOW) != Z_OK) {
        sm_free(r->mem, r->in, IN_BYTES);
        r->in = NULL;
        return sm_raise(err, SM_ERR_OUT_OF_MEMORY, "gzip", (size_t)IN_BYTES,
                        atomic_load(&r->mem->limit_bytes));
    }
    r->gzip = true;
    r->in_stream = true;
    return SM_OK;
}

sm_status sm_csv_input_open(sm_csv_reader *r, sm_error *err)
{
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) return sm_raise(err, SM_ERR_FILE_MISSING, r->path, strerror(errno));
    while (r->end < 4 && !r->eof) {
        size_t got = 0;
        SM_TRY(read_some(r, r->buf + r->end, IN_BYTES - r->end, &got, err));
        r->end += got;
        r->eof = got == 0;
    }
    if (r->end >= 2 && (unsigned char)r->buf[0] == 0x1F && (unsigned char)r->buf[1] == 0x8B) {
        r->eof = false;
        SM_TRY(start_gzip(r, err));
        while (r->end < 4 && !r->eof) SM_TRY(sm_csv_input_fill(r, err));
    }
    if (r->end >= 3 && memcmp(r->buf, "\xEF\xBB\xBF", 3) == 0) r->at = 3;
    return SM_OK;
}

/* Compressed bytes at hand; none at the end of the file. */
static sm_status refill_gzip(sm_csv_reader *r, bool *any, sm_error *err)
{
    size_t got = 0;
    if (!r->z.avail_in) {
        SM_TRY(read_some(r, r->in, IN_BYTES, &got, err));
        r->z.next_in = (Bytef *)r->in;
        r->z.avail_in = (uInt)got;
    }
    *any = r->z.avail_in != 0;
    return SM_OK;
}

static sm_status inflate_some(sm_csv_reader *r, sm_error *err)
{
    size_t room = r->cap - r->end;
    int code;
    if (room > 1 << 24) room = 1 << 24;
    r->z.next_out = (Bytef *)r->buf + r->end;
    r->z.avail_out = (uInt)room;
    code = inflate(&r->z, Z_NO_FLUSH);
    r->end += room - r->z.avail_out;
    if (code == Z_STREAM_END) {
        r->in_stream = false;
        return SM_OK;
    }
    if (code == Z_OK || code == Z_BUF_ERROR) return SM_OK;
    return gzip_error(r, r->z.msg ? r->z.msg : "damaged gzip data", err);
}

static sm_status fill_gzip(sm_csv_reader *r, sm_error *err)
{
    size_t before = r->end;
    while (r->end == before && !r->eof) {
        bool any;
        SM_TRY(refill_gzip(r, &any, err));
        if (!any) {
            if (r->in_stream) return gzip_error(r, "unexpected end of gzip data", err);
            r->eof = true;
        } else if (r->in_stream) {
            SM_TRY(inflate_some(r, err));
        } else if (*r->z.next_in == 0) { /* padding */
            r->z.next_in++;
            r->z.avail_in--;
        } else if (*r->z.next_in == 0x1F) {
            if (inflateReset(&r->z) != Z_OK) return gzip_error(r, "damaged gzip data", err);
            r->in_stream = true;
        } else {
            return gzip_error(r, "garbage after gzip data", err);
        }
    }
    return SM_OK;
}

sm_status sm_csv_input_fill(sm_csv_reader *r, sm_error *err)
{
    size_t got = 0;
    if (r->eof) return SM_OK;
    if (r->gzip) return fill_gzip(r, err);
    SM_TRY(read_some(r, r->buf + r->end, r->cap - r->end, &got, err));
    r->end += got;
    r->eof = got == 0;
    return SM_OK;
}

void sm_csv_input_close(sm_csv_reader *r)
{
    if (r->gzip) inflateEnd(&r->z);
    sm_free(r->mem, r->in, IN_BYTES);
    if (r->fd >= 0) close(r->fd);
    r->in = NULL;
    r->gzip = false;
    r->fd = -1;
}
