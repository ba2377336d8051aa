/* CSV in and out: the cases of the format that readers get wrong, typed values, errors with their
 * place, rejects, gzip, inference, and files that are damaged or random. Files are made by the
 * tests. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/format.h"
#include "storage/csv/csv.h"

static sm_mem mem;
static sm_error err;
static sm_csv_options options;
static char path[64];

static void setup(void)
{
    int fd;
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_error_reset(&err);
    sm_csv_options_init(&options);
    options.header = true;
    strcpy(path, "/tmp/check_csv_XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void teardown(void)
{
    unlink(path);
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}

static void write_bytes(const char *s, size_t len)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(s, 1, len, f), len);
    fclose(f);
}
#define WRITE(literal) write_bytes(literal, sizeof(literal) - 1)

/* "name type, name type" to an empty version. A type may be followed by "!" for NOT NULL. */
static sm_version *table(const char *spec)
{
    sm_table_col cols[32] = {{0}};
    char names[32][32], type[32];
    uint32_t n = 0;
    sm_version *v;
    while (*spec) {
        int used = 0;
        ck_assert_int_eq(sscanf(spec, "%31s %31[^,]%n", names[n], type, &used), 2);
        size_t len = strlen(type);
        cols[n].name = names[n];
        if (type[len - 1] == '!') {
            cols[n].not_null = true;
            type[len - 1] = 0;
        }
        if (sscanf(type, "varchar%u", &cols[n].max_chars) == 1) strcpy(type, "text");
        unsigned precision, scale;
        if (sscanf(type, "decimal(%u;%u)", &precision, &scale) == 2)
            cols[n].type = sm_decimal(precision, scale);
        else
            ck_assert_msg(sm_type_find(type, &cols[n].type), "type %s", type);
        n++;
        spec += used;
        if (*spec == ',') spec++;
        while (*spec == ' ') spec++;
    }
    ck_assert_int_eq(sm_version_new(&mem, cols, n, &v, &err), SM_OK);
    return v;
}

/* All rows as text: columns joined by |, NULL as ~, rows ended by $. */
static const char *dump(const sm_version *v)
{
    static char out[1 << 16];
    size_t at = 0;
    ck_assert(sm_version_validate(v));
    for (uint64_t k = 0; k < v->n_chunks; k++)
        for (uint32_t r = 0; r < v->chunks[k]->n_rows; r++) {
            for (uint32_t i = 0; i < v->n_cols; i++) {
                sm_value x;
                if (i) out[at++] = '|';
                sm_chunk_col_get(&v->chunks[k]->cols[i], v->cols[i].type, r, &x);
                if (x.is_null) {
                    out[at++] = '~';
                } else if (v->cols[i].type.id == SM_TEXT) {
                    memcpy(out + at, sm_text_bytes(&x.text), x.text.len);
                    at += x.text.len;
                } else {
                    at += sm_format_value(v->cols[i].type, &x, out + at);
                }
            }
            out[at++] = '$';
        }
    out[at] = 0;
    return out;
}

static void loads(const char *spec, const char *want)
{
    sm_version *base = table(spec), *v = NULL;
    uint64_t n = 99;
    sm_status status = sm_csv_load(&mem, path, &options, base, NULL, 0, &v, &n, &err);
    ck_assert_msg(status == SM_OK, "%s", err.message);
    ck_assert_str_eq(dump(v), want);
    ck_assert_uint_eq(v->n_rows, n);
    sm_version_unref(v);
    sm_version_unref(base);
}

static void fails(const char *spec, const char *sqlstate, const char *message)
{
    sm_version *base = table(spec), *v = NULL;
    sm_status status;
    sm_error_reset(&err);
    status = sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err);
    ck_assert_int_ne(status, SM_OK);
    ck_assert_ptr_null(v);
    ck_assert_int_eq(status, err.status);
    ck_assert_str_eq(err.message, message);
    ck_assert_str_eq(err.sqlstate, sqlstate);
    ck_assert_uint_eq(base->n_rows, 0);
    sm_version_unref(base);
    sm_error_reset(&err);
}

/* ---- the format ---- */

START_TEST(one_column_with_a_semicolon) /* F1 */
{
    WRITE("c0\nv0\na;b\n");
    loads("c0 text", "v0$a;b$");
}
END_TEST

START_TEST(newline_in_quotes) /* F2 */
{
    WRITE("c\n\"one\ntwo\"\n");
    loads("c text", "one\ntwo$");
}
END_TEST

START_TEST(newline_in_header) /* F4 */
{
    sm_table_col *cols;
    uint32_t n;
    WRITE("\"a\nb\",c\n1,2\n");
    ck_assert_int_eq(sm_csv_infer(&mem, path, &options, &cols, &n, &err), SM_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(cols[0].name, "a\nb");
    ck_assert_str_eq(cols[1].name, "c");
    sm_csv_schema_free(&mem, cols, n);
    loads("x int, y int", "1|2$");
}
END_TEST

START_TEST(crlf_and_lf) /* F5 */
{
    WRITE("a,b\r\n1,x\r\n2,\"p\r\nq\"\r\n");
    loads("a int, b text", "1|x$2|p\r\nq$");
    WRITE("a,b\n1,x\n2,\"p\nq\"\n");
    loads("a int, b text", "1|x$2|p\nq$");
}
END_TEST

START_TEST(quote_that_never_ends) /* F7 */
{
    WRITE("a,b\n1,ab\"c\n2,d\n");
    fails("a int, b text", "22P04", "unterminated CSV quoted field (line 2)");
}
END_TEST

START_TEST(empty_is_not_null) /* F8 */
{
    WRITE("a,b\n1,\"\"\n2,\n");
    loads("a int, b text", "1|$2|~$");
}
END_TEST

START_TEST(missing_and_extra) /* F10 */
{
    WRITE("a,b\n1,x\n2\n");
    fails("a int, b text", "22P04", "missing data for column \"b\" (line 3)");
    options.pad_short_rows = true;
    loads("a int, b text", "1|x$2|~$");
    WRITE("a,b\n1,x,zz\n");
    fails("a int, b text", "22P04", "extra data after last expected column (line 2)");
}
END_TEST

START_TEST(one_bad_row_in_a_large_file) /* F11 */
{
    sm_version *base, *v, *rejects = NULL;
    FILE *f = fopen(path, "wb");
    uint64_t n;
    sm_value x;
    fputs("a,b\n", f);
    for (int i = 0; i < 200000; i++)
        if (i == 100000)
            fputs("oops,\"row\n100000\"\n", f);
        else
            fprintf(f, "%d,row %d\n", i, i);
    fclose(f);
    base = table("a int, b text");
    options.rejects = &rejects;
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, &n, &err), SM_OK);
    ck_assert_uint_eq(n, 199999);
    ck_assert(sm_version_validate(v));
    for (uint64_t r = 99990; r < 100010; r++) {
        sm_chunk_col_get(&v->chunks[r / 65536]->cols[0], v->cols[0].type, (uint32_t)(r % 65536),
                         &x);
        ck_assert_int_eq(x.i32, (int)(r < 100000 ? r : r + 1));
    }
    ck_assert_str_eq(dump(rejects), "100002|a|invalid input syntax for type integer: \"oops\" "
                                    "(line 100002, column a: \"oops\")|oops,\"row\n100000\"$");
    sm_version_unref(rejects);
    sm_version_unref(v);
    options.rejects = NULL;
    ck_assert_int_ne(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, &n, &err), SM_OK);
    ck_assert_str_eq(err.sqlstate, "22P02");
    sm_version_unref(base);
}
END_TEST

START_TEST(end_of_file_and_blank_lines) /* F13 */
{
    WRITE("a,b\n1,x\n2,y");
    loads("a int, b text", "1|x$2|y$");
    WRITE("a\n1\n\n2\n");
    loads("a int", "1$~$2$");
    WRITE("a,b\n1,x\n\n2,y\n");
    fails("a int, b text", "22P04", "missing data for column \"b\" (line 3)");
    WRITE("a,b\n1,x\n2,");
    loads("a int, b text", "1|x$2|~$");
    WRITE("a\n");
    loads("a int", "");
    WRITE("");
    loads("a int", "");
}
END_TEST

START_TEST(mixed_line_ends) /* F14 */
{
    WRITE("a\n1\r\n2\n");
    loads("a text", "1$2$");
    WRITE("a\n1\rx\n2\n");
    fails("a text", "22P04", "unquoted carriage return found in data (line 2)");
    WRITE("a\r1\r2\r");
    loads("a text", "1$2$");
}
END_TEST

START_TEST(spellings_of_integers) /* F16 */
{
    WRITE("a\n007\n+5\n 5\n1_000\n");
    fails("a int", "22P02",
          "invalid input syntax for type integer: \"1_000\" (line 5, column a: \"1_000\")");
    WRITE("a\n007\n+5\n 5\n");
    loads("a int", "7$5$5$");
}
END_TEST

START_TEST(space_before_a_quote) /* F17 */
{
    WRITE("a,b\n1, \"x\"\n");
    loads("a int, b text", "1| x$");
    WRITE("a,b\n1,x\"y,z\"w\n");
    loads("a int, b text", "1|xy,zw$");
}
END_TEST

START_TEST(quotes_and_escapes)
{
    WRITE("a,b\n\"\"\"\",\"x\"\"y\"\n\"\"\"a\"\"\",\",\"\n");
    loads("a text, b text", "\"|x\"y$\"a\"|,$");
    options.escape = '\\';
    WRITE("a,b\n\"x\\\"y\",\"p\\\\\"\n\"a\\n\",\\\n");
    loads("a text, b text", "x\"y|p\\$a\\n|\\$");
    options.quote = options.escape = '\'';
    options.delimiter = ';';
    WRITE("a;b\n'it''s';\"q\"\n");
    loads("a text, b text", "it's|\"q\"$");
}
END_TEST

START_TEST(null_text)
{
    options.null_text = "NULL";
    WRITE("a,b\nNULL,\"NULL\"\n1,\n");
    loads("a int, b text", "~|NULL$1|$");
}
END_TEST

START_TEST(bom_is_skipped)
{
    sm_table_col *cols;
    uint32_t n;
    WRITE("\xEF\xBB\xBF"
          "a,b\n1,x\n");
    loads("a int, b text", "1|x$");
    ck_assert_int_eq(sm_csv_infer(&mem, path, &options, &cols, &n, &err), SM_OK);
    ck_assert_str_eq(cols[0].name, "a");
    sm_csv_schema_free(&mem, cols, n);
}
END_TEST

START_TEST(postgres_text_format)
{
    sm_csv_options_init_text(&options);
    WRITE("1\ta\\tb\n\\N\t\\\\N\n3\t\\x41\\101\\q\n4\tx\\\ny\n\\.\nignored\n");
    loads("a int, b text", "1|a\tb$~|\\N$3|AAq$4|x\ny$");
}
END_TEST

START_TEST(columns_by_map)
{
    static const uint32_t map[2] = {2, 0};
    sm_version *base = table("a int, b text, c text"), *v;
    WRITE("c,a\nx,1\ny,2\n");
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, map, 2, &v, NULL, &err), SM_OK);
    ck_assert_str_eq(dump(v), "1|~|x$2|~|y$");
    sm_version_unref(v);
    sm_version_unref(base);
}
END_TEST

/* ---- values ---- */

START_TEST(every_type)
{
    WRITE("b,s,i,l,f,d,n,w,a,t,x\n"
          "true,-32768,-2147483648,-9223372036854775808,1.5,-0,12.345,-99999999999999999999999999."
          "5,2000-02-29,2001-01-01 10:00:00.25,x\n"
          ",,,,,,,,,,\n"
          "f,32767,2147483647,9223372036854775807,1e30,1e-300,-.005,1,1999-12-31,2001-01-01T00:00:"
          "00,\"\"\n");
    loads("b boolean, s smallint, i integer, l bigint, f real, d double precision, n decimal(5;2), "
          "w decimal(30;1), "
          "a date, t timestamp, x text",
          "t|-32768|-2147483648|-9223372036854775808|1.5|-0|12.35|-99999999999999999999999999.5|"
          "2000-02-29|2001-01-01 10:00:00.25|x$"
          "~|~|~|~|~|~|~|~|~|~|~$"
          "f|32767|2147483647|9223372036854775807|1e+30|1e-300|-0.01|1.0|1999-12-31|2001-01-01 "
          "00:00:00|$");
}
END_TEST

START_TEST(errors_of_casts)
{
    WRITE("a,b\n1,2\n3,99999\n");
    fails("a int, b smallint", "22003",
          "value \"99999\" is out of range for type smallint (line 3, column b: \"99999\")");
    WRITE("a\n1\n1000.00\n");
    fails("a decimal(5;2)", "22003", "numeric field overflow (line 3, column a: \"1000.00\")");
    WRITE("a\n2001-02-29\n");
    fails("a date", "22008",
          "date/time field value out of range: \"2001-02-29\" (line 2, column a: \"2001-02-29\")");
    WRITE("a\n\"x\ny\"\nz\n"); /* lines are those of the file */
    fails("a int", "22P02",
          "invalid input syntax for type integer: \"x\ny\" (line 2, column a: \"x?y\")");
    WRITE("a,b\nx,1\n2,y\n"); /* the first row's error, not the first column's */
    fails("a text, b int", "22P02",
          "invalid input syntax for type integer: \"y\" (line 3, column b: \"y\")");
    WRITE("a,b\n1,1\n2,y\nz,1\n");
    fails("a int, b int", "22P02",
          "invalid input syntax for type integer: \"y\" (line 3, column b: \"y\")");
}
END_TEST

START_TEST(constraints)
{
    options.relation = "rel";
    WRITE("a,b\n1,x\n,y\n");
    fails("a int!, b text", "23502",
          "null value in column \"a\" of relation \"rel\" violates not-null constraint (line 3, "
          "column a)");
    WRITE("b\nabc  \nabcd\n");
    fails("b varchar3", "22001",
          "value too long for type character varying(3) (line 3, column b: \"abcd\")");
    WRITE("b\nabc  \n\xC3\xA4\xC3\xA4\xC3\xA4\n");
    loads("b varchar3", "abc$\xC3\xA4\xC3\xA4\xC3\xA4$");
}
END_TEST

START_TEST(encodings)
{
    WRITE("a,b\n1,ok\n2,\xC3\xA4\n3,\xFF\xFE\n");
    fails("a int, b text", "22021",
          "invalid byte sequence for encoding \"UTF8\" (line 4, column b: \"??\")");
    WRITE("a\n\xED\xA0\x80\n");
    fails("a text", "22021",
          "invalid byte sequence for encoding \"UTF8\" (line 2, column a: \"???\")");
    sm_version *base = table("a int, b text"), *v;
    sm_value x;
    WRITE("a,b\n1,x\0y\n"); /* NUL is an ordinary byte */
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    sm_chunk_col_get(&v->chunks[0]->cols[1], v->cols[1].type, 0, &x);
    ck_assert_uint_eq(x.text.len, 3);
    ck_assert_mem_eq(x.text.prefix, "x\0y", 3);
    sm_version_unref(v);
    sm_version_unref(base);
    WRITE("a\n1\0\n");
    sm_error_reset(&err);
    base = table("a int");
    ck_assert_int_ne(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    ck_assert_str_eq(err.sqlstate, "22P02");
    sm_version_unref(base);
}
END_TEST

START_TEST(long_fields)
{
    size_t big = 3u << 20; /* larger than the reader's window */
    char *s = malloc(big + 100);
    sm_version *base = table("a text, b text"), *v;
    sm_value x;
    size_t at = (size_t)sprintf(s, "a,b\n1,\"");
    for (size_t i = 0; i < big; i++) s[at + i] = i % 1000 == 999 ? '\n' : 'x';
    at += big;
    at += (size_t)sprintf(s + at, "\"\n2,y\n");
    write_bytes(s, at);
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    ck_assert_uint_eq(v->n_rows, 2);
    sm_chunk_col_get(&v->chunks[0]->cols[1], v->cols[1].type, 0, &x);
    ck_assert_uint_eq(x.text.len, big);
    ck_assert_mem_eq(sm_text_bytes(&x.text), s + 7, big);
    sm_chunk_col_get(&v->chunks[0]->cols[1], v->cols[1].type, 1, &x);
    ck_assert(sm_text_eq(x.text, sm_text_view("y", 1)));
    sm_version_unref(v);
    sm_version_unref(base);
    free(s);
}
END_TEST

/* ---- rejects ---- */

START_TEST(rejected_rows)
{
    sm_version *rejects = NULL;
    options.rejects = &rejects;
    WRITE("a,b\n1,x\n2\n3,y,z\nq,w\n5,ok\n6,\xFF\n7,un\"done\n8,fine\n");
    loads("a int, b text", "1|x$5|ok$8|fine$");
    ck_assert_str_eq(
        dump(rejects),
        "3|~|missing data for column \"b\" (line 3)|2$"
        "4|~|extra data after last expected column (line 4)|3,y,z$"
        "5|a|invalid input syntax for type integer: \"q\" (line 5, column a: \"q\")|q,w$"
        "7|b|invalid byte sequence for encoding \"UTF8\" (line 7, column b: \"?\")|6,?$"
        "8|~|unterminated CSV quoted field|7,un\"done$");
    sm_version_unref(rejects);
}
END_TEST

/* ---- gzip ---- */

static size_t gzip_bytes(const char *s, size_t len, char *out, size_t room)
{
    z_stream z = {0};
    size_t n;
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)s;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    n = room - z.avail_out;
    deflateEnd(&z);
    return n;
}

START_TEST(gzip)
{
    char *plain = malloc(1 << 20), *packed = malloc(1 << 20);
    size_t len = (size_t)sprintf(plain, "a,b\n"), n, m;
    for (int i = 0; i < 50000; i++) len += (size_t)sprintf(plain + len, "%d,row %d\n", i, i % 77);
    n = gzip_bytes(plain, len, packed, 1 << 20);
    m = n + gzip_bytes("50000,last\n", 11, packed + n, 4096); /* a second member */
    sm_version *base = table("a int, b text"), *v;
    write_bytes(packed, m);
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    ck_assert_uint_eq(v->n_rows, 50001);
    ck_assert(sm_version_validate(v));
    sm_version_unref(v);
    sm_version_unref(base);
    for (size_t cut = 2; cut < n; cut += n / 7 + 1) {
        char message[200];
        write_bytes(packed, cut);
        snprintf(message, sizeof message,
                 "could not read or write file \"%s\": unexpected end of gzip data", path);
        fails("a int, b text", "58030", message);
    }
    packed[n / 2] ^= 0x55;
    write_bytes(packed, n);
    base = table("a int, b text");
    ck_assert_int_ne(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    sm_version_unref(base);
    free(plain);
    free(packed);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    sm_version *base = table("a int"), *v;
    ck_assert_int_eq(
        sm_csv_load(&mem, "/nonexistent/file.csv", &options, base, NULL, 0, &v, NULL, &err),
        SM_ERR_FILE_MISSING);
    sm_error_reset(&err);
    ck_assert_int_eq(sm_csv_load(&mem, "/tmp", &options, base, NULL, 0, &v, NULL, &err), SM_ERR_IO);
    sm_error_reset(&err);
    options.delimiter = '"';
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err),
                     SM_ERR_BAD_ARGUMENT);
    sm_version_unref(base);
}
END_TEST

/* ---- inference ---- */

static void infers(const char *want)
{
    static char got[1024];
    sm_table_col *cols;
    uint32_t n;
    size_t at = 0;
    sm_status status = sm_csv_infer(&mem, path, &options, &cols, &n, &err);
    ck_assert_msg(status == SM_OK, "%s", err.message);
    for (uint32_t i = 0; i < n; i++) {
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%s ", i ? ", " : "", cols[i].name);
        at += sm_type_name(cols[i].type, got + at, sizeof got - at);
    }
    sm_csv_schema_free(&mem, cols, n);
    ck_assert_str_eq(got, want);
}

START_TEST(inference)
{
    WRITE("i,d,w,f,a,t,b,x,z,n\n"
          "1,1.5,12345678901234567890,1e5,2001-01-01,2001-01-01,true,abc,007,\n"
          "-9223372036854775808,-100,1,NaN,1999-12-31,2001-01-01 10:00:00,FALSE,1,1,\n");
    infers("i bigint, d numeric(18,1), w numeric(38,0), f double precision, a date, t timestamp "
           "without time zone, "
           "b boolean, x text, z text, n text");
    WRITE("a,,a,\n1,2,3,4\n");
    infers("a bigint, column2 bigint, a_1 bigint, column4 bigint");
    options.header = false;
    WRITE("1,x\n2.25,y\n");
    infers("column1 numeric(18,2), column2 text");
    WRITE("1234567890123456789012345678901234567890\n");
    infers("column1 text"); /* neither numeric nor a double holds it */
    WRITE("+5,2001-1-1,1_0\n");
    infers("column1 text, column2 text, column3 text");
    options.header = true;
    WRITE("");
    sm_table_col *cols;
    uint32_t n;
    ck_assert_int_eq(sm_csv_infer(&mem, path, &options, &cols, &n, &err), SM_ERR_CSV);
    sm_error_reset(&err);
    WRITE("a,b\n1\n");
    ck_assert_int_eq(sm_csv_infer(&mem, path, &options, &cols, &n, &err), SM_ERR_CSV);
    ck_assert_str_eq(err.message, "missing data for column \"b\" (line 2)");
}
END_TEST

/* What was inferred from the last row on: the whole file is read. */
START_TEST(inference_reads_to_the_end)
{
    FILE *f = fopen(path, "wb");
    fputs("a\n", f);
    for (int i = 0; i < 100000; i++) fprintf(f, "%d\n", i);
    fputs("0.25\n", f);
    fclose(f);
    infers("a numeric(18,2)");
}
END_TEST

/* ---- out and in again ---- */

static void round_trip(void)
{
    static const char spec[] = "a int, b text, c decimal(20;3), d date, f double precision";
    sm_version *base = table(spec), *v, *w;
    sm_builder *b;
    FILE *f;
    static const char *texts[] = {"",    "x",   "a,b",      "q\"q", "l1\nl2",      "r\r",
                                  " s ", "\\N", "tab\tbed", "NULL", "back\\slash", "\\."};
    ck_assert_int_eq(sm_builder_new(&mem, base->cols, base->n_cols, base, &b, &err), SM_OK);
    for (int i = 0; i < 3000; i++) {
        const char *s = texts[i % 12];
        sm_value row[5] = {{.i32 = i, .is_null = i % 5 == 0},
                           {.text = sm_text_view(s, (uint32_t)strlen(s)), .is_null = i % 7 == 0},
                           {.i128 = (sm_i128)i * 1234567 - 5},
                           {.i32 = i * 3},
                           {.f64 = i / 7.0}};
        ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    f = fopen(path, "wb");
    ck_assert_int_eq(sm_csv_write(v, &options, f, &err), SM_OK);
    fclose(f);
    sm_status status = sm_csv_load(&mem, path, &options, base, NULL, 0, &w, NULL, &err);
    ck_assert_msg(status == SM_OK, "%s", err.message);
    ck_assert_uint_eq(w->n_rows, v->n_rows);
    for (uint32_t r = 0; r < 3000; r++)
        for (int i = 0; i < 5; i++) {
            sm_value x, y;
            sm_chunk_col_get(&v->chunks[0]->cols[i], v->cols[i].type, r, &x);
            sm_chunk_col_get(&w->chunks[0]->cols[i], w->cols[i].type, r, &y);
            ck_assert_int_eq(x.is_null, y.is_null);
            if (x.is_null) continue;
            if (i == 1)
                ck_assert_msg(sm_text_eq(x.text, y.text), "row %u", r);
            else if (i == 4)
                ck_assert(x.f64 == y.f64);
            else
                ck_assert(sm_value_int(&x, sm_type_phys(v->cols[i].type)) ==
                          sm_value_int(&y, sm_type_phys(v->cols[i].type)));
        }
    sm_version_unref(v);
    sm_version_unref(w);
    sm_version_unref(base);
}

START_TEST(what_is_written_reads_back)
{
    round_trip();
    options.null_text = "NULL";
    options.delimiter = ';';
    options.header = false;
    round_trip();
    options.escape = '\\';
    round_trip();
    sm_csv_options_init_text(&options);
    round_trip();
}
END_TEST

START_TEST(written_bytes)
{
    char got[256];
    sm_version *base = table("a int, b text"), *v;
    FILE *f;
    WRITE("a,b\n1,\"\"\n,\n2,\"x,\"\"y\"\n");
    ck_assert_int_eq(sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err), SM_OK);
    f = fopen(path, "w+b");
    ck_assert_int_eq(sm_csv_write(v, &options, f, &err), SM_OK);
    rewind(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    ck_assert_str_eq(got, "a,b\n1,\"\"\n,\n2,\"x,\"\"y\"\n");
    sm_version_unref(v);
    sm_version_unref(base);
}
END_TEST

/* ---- anything at all ---- */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

START_TEST(random_bytes)
{
    uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)_i * 77;
    static const char usual[] = ",,,\n\n\"\r1234567890.-ax \\\t\0\xC3\xA4\xFF";
    char s[5000];
    for (int round = 0; round < 60; round++) {
        sm_version *base = table("a int, b text, c decimal(9;2)"), *v = NULL, *rejects = NULL;
        sm_table_col *cols;
        uint32_t n;
        size_t len = random_next(&state) % sizeof s;
        for (size_t i = 0; i < len; i++)
            s[i] = round % 3 ? usual[random_next(&state) % (sizeof usual - 1)]
                             : (char)random_next(&state);
        write_bytes(s, len);
        for (int with_rejects = 0; with_rejects < 2; with_rejects++) {
            options.rejects = with_rejects ? &rejects : NULL;
            options.pad_short_rows = round % 2;
            sm_error_reset(&err);
            if (sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err) == SM_OK) {
                ck_assert(sm_version_validate(v));
                sm_version_unref(v);
                if (rejects) {
                    ck_assert(sm_version_validate(rejects));
                    sm_version_unref(rejects);
                    rejects = NULL;
                }
            } else {
                ck_assert_int_ne(err.status, SM_OK);
                ck_assert_msg(!with_rejects, "with rejects every row goes somewhere: %s",
                              err.message);
            }
            sm_error_reset(&err);
            if (sm_csv_infer(&mem, path, &options, &cols, &n, &err) == SM_OK)
                sm_csv_schema_free(&mem, cols, n);
        }
        sm_version_unref(base);
        ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
    }
}
END_TEST

START_TEST(memory_fails_anywhere)
{
    bool done = false;
    int64_t n = 0;
    WRITE("a,b\n1,a text beyond twelve bytes\n2,\"with \"\"quotes\"\" inside\"\n,\nbad,row\n3,z\n");
    for (; !done; n++) {
        sm_version *base = table("a int, b text"), *v = NULL, *rejects = NULL;
        sm_status status;
        options.rejects = &rejects;
        atomic_store(&mem.fail_after, n);
        status = sm_csv_load(&mem, path, &options, base, NULL, 0, &v, NULL, &err);
        atomic_store(&mem.fail_after, -1);
        done = status == SM_OK;
        if (done) {
            ck_assert_uint_eq(v->n_rows, 4);
            ck_assert_uint_eq(rejects->n_rows, 1);
            sm_version_unref(v);
            sm_version_unref(rejects);
        } else {
            ck_assert_int_eq(status, SM_ERR_OUT_OF_MEMORY);
            ck_assert_ptr_null(rejects);
        }
        sm_error_reset(&err);
        sm_version_unref(base);
        ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("csv");
    TCase *t = tcase_create("csv");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_column_with_a_semicolon);
    tcase_add_test(t, newline_in_quotes);
    tcase_add_test(t, newline_in_header);
    tcase_add_test(t, crlf_and_lf);
    tcase_add_test(t, quote_that_never_ends);
    tcase_add_test(t, empty_is_not_null);
    tcase_add_test(t, missing_and_extra);
    tcase_add_test(t, one_bad_row_in_a_large_file);
    tcase_add_test(t, end_of_file_and_blank_lines);
    tcase_add_test(t, mixed_line_ends);
    tcase_add_test(t, spellings_of_integers);
    tcase_add_test(t, space_before_a_quote);
    tcase_add_test(t, quotes_and_escapes);
    tcase_add_test(t, null_text);
    tcase_add_test(t, bom_is_skipped);
    tcase_add_test(t, postgres_text_format);
    tcase_add_test(t, columns_by_map);
    tcase_add_test(t, every_type);
    tcase_add_test(t, errors_of_casts);
    tcase_add_test(t, constraints);
    tcase_add_test(t, encodings);
    tcase_add_test(t, long_fields);
    tcase_add_test(t, rejected_rows);
    tcase_add_test(t, gzip);
    tcase_add_test(t, files_that_cannot_be_read);
    tcase_add_test(t, inference);
    tcase_add_test(t, inference_reads_to_the_end);
    tcase_add_test(t, what_is_written_reads_back);
    tcase_add_test(t, written_bytes);
    tcase_add_loop_test(t, random_bytes, 0, 8);
    tcase_add_test(t, memory_fails_anywhere);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
