/* Text form of values: the entry points, which hand each type to its printer and its parser. */
#include "format_parts.h"

#include <string.h>

sm_status sm_raise_text(sm_error *err, sm_status status, const char *type, const char *s,
                        size_t len)
{
    char quoted[200];
    if (!err) return status;
    if (len >= sizeof quoted) { /* cut before a character's first byte */
        len = sizeof quoted - 1;
        while (len && (s[len] & 0xC0) == 0x80) len--;
    }
    memcpy(quoted, s, len);
    quoted[len] = 0;
    switch (status) {
    case SM_ERR_TYPE_RANGE: return sm_raise(err, status, quoted, type);
    case SM_ERR_INTERVAL_FIELD:
    case SM_ERR_DATETIME_FIELD: return sm_raise(err, status, quoted);
    default: return sm_raise(err, status, type, quoted);
    }
}

bool sm_cursor_is(sm_cursor c, const char *word)
{
    for (; c.at < c.end; c.at++, word++)
        if (sm_lower(*c.at) != *word || !*word) return false;
    return !*word;
}

static size_t print_int(int64_t v, char *out)
{
    uint64_t magnitude = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
    *out = '-';
    out += v < 0;
    return sm_print_u64(magnitude, out) + (v < 0);
}

size_t sm_format_value(sm_type t, const sm_value *v, char out[SM_FORMAT_BYTES])
{
    switch ((sm_type_id)t.id) {
    case SM_BOOL: out[0] = v->b ? 't' : 'f'; return 1;
    case SM_INT16: return print_int(v->i16, out);
    case SM_INT32: return print_int(v->i32, out);
    case SM_INT64: return print_int(v->i64, out);
    case SM_FLOAT32: return sm_print_f32(v->f32, out);
    case SM_FLOAT64: return sm_print_f64(v->f64, out);
    case SM_DECIMAL: return sm_print_decimal(sm_value_int(v, sm_type_phys(t)), t.scale, out);
    case SM_DATE: return sm_print_date(v->i32, out);
    case SM_TIMESTAMP: return sm_print_timestamp(v->i64, out);
    case SM_INTERVAL: return sm_print_interval(v->iv, out);
    default: return 0;
    }
}

/* Any beginning of these words that fits only one of them, as in PostgreSQL: "of" is off, "o" is
 * nothing. */
static sm_status parse_bool(const char *s, size_t len, uint8_t *out, sm_error *err)
{
    static const struct {
        const char *word;
        uint8_t shortest, value;
    } words[] = {{"true", 1, 1}, {"false", 1, 0}, {"yes", 1, 1}, {"no", 1, 0},
                 {"on", 2, 1},   {"off", 2, 0},   {"1", 1, 1},   {"0", 1, 0}};
    sm_cursor c = sm_trim(s, len);
    size_t n = (size_t)(c.end - c.at);
    for (size_t i = 0; i < SM_COUNT(words); i++) {
        size_t same = 0;
        while (same < n && words[i].word[same] && sm_lower(c.at[same]) == words[i].word[same])
            same++;
        if (same == n && n >= words[i].shortest) {
            *out = words[i].value;
            return SM_OK;
        }
    }
    return sm_raise_text(err, SM_ERR_BAD_TEXT, "boolean", s, len);
}

static sm_status parse_int(sm_type t, const char *s, size_t len, sm_value *out, sm_error *err)
{
    int64_t v;
    SM_TRY(sm_parse_int(t, s, len, &v, err));
    if (t.id == SM_INT16)
        out->i16 = (int16_t)v;
    else if (t.id == SM_INT32)
        out->i32 = (int32_t)v;
    else
        out->i64 = v;
    return SM_OK;
}

static sm_status parse_decimal(sm_type t, const char *s, size_t len, sm_value *out, sm_error *err)
{
    sm_i128 v;
    SM_TRY(sm_parse_decimal(s, len, t.precision, t.scale, &v, err));
    if (sm_type_phys(t) == SM_PHYS_I64)
        out->i64 = (int64_t)v;
    else
        out->i128 = v;
    return SM_OK;
}

sm_status sm_parse_value(sm_type t, const char *s, size_t len, sm_value *out, sm_error *err)
{
    out->is_null = false;
    switch ((sm_type_id)t.id) {
    case SM_BOOL: return parse_bool(s, len, &out->b, err);
    case SM_INT16:
    case SM_INT32:
    case SM_INT64: return parse_int(t, s, len, out, err);
    case SM_FLOAT32: return sm_parse_f32(s, len, &out->f32, err);
    case SM_FLOAT64: return sm_parse_f64(s, len, &out->f64, err);
    case SM_DECIMAL: return parse_decimal(t, s, len, out, err);
    case SM_DATE: return sm_parse_date(s, len, &out->i32, err);
    case SM_TIMESTAMP: return sm_parse_timestamp(s, len, &out->i64, err);
    case SM_INTERVAL: return sm_parse_interval(s, len, &out->iv, err);
    default: break;
    }
    if (len > SM_TEXT_MAX_BYTES) return sm_raise(err, SM_ERR_TEXT_TOO_LONG);
    out->text = sm_text_view(s, (uint32_t)len);
    return SM_OK;
}

/* ---- fields of extract and date_trunc ---- */

static const struct {
    const char *names; /* separated by spaces */
    uint8_t scale;
} fields[SM_N_DATE_FIELDS] = {
#define SM_DATE_FIELD(id, names, scale) [SM_FIELD_##id] = {names, scale},
#include "date_fields.def"
#undef SM_DATE_FIELD
};

bool sm_date_field_find(const char *name, sm_date_field *out)
{
    sm_cursor given = {name, name + strlen(name)};
    for (unsigned f = 0; f < SM_N_DATE_FIELDS; f++) {
        for (const char *at = fields[f].names; *at; at += *at == ' ') {
            size_t n = strcspn(at, " ");
            char word[32] = "";
            memcpy(word, at, n);
            at += n;
            if (!sm_cursor_is(given, word)) continue;
            *out = (sm_date_field)f;
            return true;
        }
    }
    return false;
}

unsigned sm_date_field_scale(sm_date_field f)
{
    return fields[f].scale;
}
