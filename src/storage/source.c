/* Sources: a table version hands out its chunks, a series makes them. All full morsels of an evenly
 * spaced series look alike but for their base, so a pin fills its narrow offsets once and then only
 * moves the base; a step with months is uneven, and its morsels are reached from their remembered
 * first values. */
#include "storage/build_col.h"
#include "storage/source.h"

#include "runtime/format.h"

static const int64_t DAY_MICROS = INT64_C(86400000000);

/* ---- series arithmetic: all in int128, where nothing overflows ---- */

static bool is_uneven(const sm_source *s)
{
    return s->series.month_steps != NULL;
}

static sm_phys phys_of(const sm_source *s)
{
    return sm_type_phys(s->series.col.type);
}

static sm_i128 first_of(const sm_source *s)
{
    return sm_value_int(&s->series.start, phys_of(s));
}

static sm_i128 step_of(const sm_source *s)
{
    return sm_value_int(&s->series.step, phys_of(s));
}

/* Modulo 2^128: the distance may exceed int128, the value does not, for no series reaches beyond
 * its stop. */
static sm_i128 step_on(sm_i128 first, sm_i128 step, uint64_t times)
{
    return (sm_i128)((sm_u128)first + (sm_u128)step * times);
}

static sm_i128 value_at(const sm_source *s, uint64_t row)
{
    return step_on(first_of(s), step_of(s), row);
}

static uint64_t count_even(sm_i128 start, sm_i128 stop, sm_i128 step)
{
    sm_u128 span, stride, n;
    if (step > 0 ? start > stop : start < stop) return 0;
    span = step > 0 ? (sm_u128)stop - (sm_u128)start : (sm_u128)start - (sm_u128)stop;
    stride = step > 0 ? (sm_u128)step : -(sm_u128)step;
    n = span / stride;
    return n >= UINT64_MAX ? UINT64_MAX : (uint64_t)n + 1;
}

/* Adds months (the day of the month is cut to the month's last), then days and microseconds. False
 * out of range. */
static bool add_interval(int64_t at, sm_interval step, int64_t *out)
{
    static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = at / DAY_MICROS - (at % DAY_MICROS < 0), in_day = at - days * DAY_MICROS;
    int64_t year, months;
    unsigned month, day, last;
    sm_i128 sum;
    sm_civil_from_days(days, &year, &month, &day);
    months = year * 12 + (int64_t)month - 1 + step.months;
    year = months / 12 - (months % 12 < 0);
    month = (unsigned)(months - year * 12) + 1;
    last = month_days[month - 1];
    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) last = 29;
    if (day > last) day = last;
    sum = (sm_i128)(sm_days_from_civil(year, month, day) + step.days) * DAY_MICROS + in_day +
          step.micros;
    if (sum < INT64_MIN || sum > INT64_MAX) return false;
    *out = (int64_t)sum;
    return true;
}

/* ---- making a series ---- */

static sm_status remember(sm_source *s, int64_t first, sm_error *err)
{
    uint64_t cap = s->series.cap_month_steps;
    if (s->n_morsels == cap) {
        uint64_t more = cap ? cap * 2 : 4;
        void *p = s->series.month_steps;
        SM_TRY(sm_realloc(s->mem, &p, cap * sizeof(int64_t), more * sizeof(int64_t),
                          "generate_series", err));
        s->series.month_steps = p;
        s->series.cap_month_steps = more;
    }
    s->series.month_steps[s->n_morsels++] = first;
    return SM_OK;
}

/* Walks the whole series once: the calendar has no formula for the n-th step that agrees with
 * stepping. Months move it at least a day or so each time; what does not move in its direction at
 * once is refused. */
static sm_status count_uneven(sm_source *s, int64_t stop, sm_error *err)
{
    sm_interval step = s->series.step.iv;
    int64_t at = s->series.start.i64, next = at, last = at;
    sm_i128 length = ((sm_i128)step.months * 30 + step.days) * DAY_MICROS + step.micros;
    bool up = length > 0;
    if (length == 0) return sm_raise(err, SM_ERR_STEP_ZERO);
    while (up ? at <= stop : at >= stop) {
        if (s->n_rows % SM_CHUNK_ROWS == 0) SM_TRY(remember(s, at, err));
        s->n_rows++;
        last = at;
        if (!add_interval(at, step, &next)) break;
        if (up ? next <= at : next >= at)
            return sm_raise(err, SM_ERR_NOT_SUPPORTED,
                            "a series whose step sometimes does not move");
        at = next;
    }
    if (!s->n_rows) return SM_OK;
    s->series.col.has_minmax = true;
    s->series.col.min.i64 = up ? s->series.start.i64 : last;
    s->series.col.max.i64 = up ? last : s->series.start.i64;
    return SM_OK;
}

static void set_int(sm_value *v, sm_phys p, sm_i128 x)
{
    *v = (sm_value){.is_null = false};
    switch (p) {
    case SM_PHYS_I16: v->i16 = (int16_t)x; break;
    case SM_PHYS_I32: v->i32 = (int32_t)x; break;
    case SM_PHYS_I64: v->i64 = (int64_t)x; break;
    default: v->i128 = x; break;
    }
}

static sm_status count_evenly(sm_source *s, const sm_value *stop, sm_error *err)
{
    sm_phys p = phys_of(s);
    sm_i128 first = first_of(s), step = step_of(s), last;
    if (step == 0) return sm_raise(err, SM_ERR_STEP_ZERO);
    s->n_rows = count_even(first, sm_value_int(stop, p), step);
    s->n_morsels = s->n_rows / SM_CHUNK_ROWS + (s->n_rows % SM_CHUNK_ROWS != 0);
    if (!s->n_rows) return SM_OK;
    last = value_at(s, s->n_rows - 1);
    s->series.col.has_minmax = true;
    set_int(&s->series.col.min, p, step > 0 ? first : last);
    set_int(&s->series.col.max, p, step > 0 ? last : first);
    return SM_OK;
}

sm_status sm_source_of_series(sm_source *s, sm_mem *m, sm_type type, const sm_value *start,
                              const sm_value *stop, const sm_value *step, sm_error *err)
{
    sm_status status;
    *s = (sm_source){.kind = SM_SOURCE_SERIES, .n_cols = 1, .mem = m};
    s->series.col = (sm_table_col){
        .name = (char *)(uintptr_t) "generate_series", .type = type, .same_enc = true};
    s->series.start = *start;
    s->series.step = *step;
    s->cols = &s->series.col;
    if (start->is_null || stop->is_null || step->is_null) return SM_OK;
    if (type.id == SM_TIMESTAMP && step->iv.months) {
        status = count_uneven(s, stop->i64, err);
    } else {
        if (type.id == SM_TIMESTAMP) {
            sm_i128 micros = (sm_i128)step->iv.days * DAY_MICROS + step->iv.micros;
            /* a step beyond int64 is one that leaves the range at once, in its direction */
            if (micros > INT64_MAX) micros = INT64_MAX;
            if (micros < INT64_MIN) micros = INT64_MIN;
            set_int(&s->series.step, SM_PHYS_I64, micros);
        }
        status = count_evenly(s, stop, err);
    }
    if (status != SM_OK) sm_source_reset(s);
    return status;
}

void sm_source_of_version(sm_source *s, sm_version *v)
{
    *s = (sm_source){.kind = SM_SOURCE_VERSION,
                     .n_morsels = v->n_chunks,
                     .n_rows = v->n_rows,
                     .n_cols = v->n_cols,
                     .cols = v->cols,
                     .version = sm_version_ref(v),
                     .mem = v->mem};
}

void sm_source_reset(sm_source *s)
{
    if (s->version) sm_version_unref(s->version);
    if (s->mem) sm_free(s->mem, s->series.month_steps, s->series.cap_month_steps * sizeof(int64_t));
    *s = (sm_source){.kind = s->kind};
}

/* ---- pinning ---- */

/* What a pin of a series reuses. */
typedef struct scratch {
    sm_buffer *buf;
    sm_chunk *chunk;      /* its column points into buf */
    uint32_t filled_rows; /* narrow: offsets are in place for so many rows */
} scratch;

/* Narrow needs every value in int64 and a chunk's span below the plain width. The same for all
 * morsels. */
static unsigned series_width(const sm_source *s)
{
    sm_phys p = phys_of(s);
    unsigned full = (unsigned)sm_phys_bytes(p), width;
    sm_i128 step = step_of(s);
    sm_u128 stride = step > 0 ? (sm_u128)step : -(sm_u128)step, span;
    const sm_table_col *col = &s->series.col;
    if (sm_value_int(&col->min, p) < INT64_MIN || sm_value_int(&col->max, p) > INT64_MAX)
        return full;
    span = s->n_rows == 1 ? 0 : stride * (SM_CHUNK_ROWS - 1);
    if (s->n_rows > 1 && stride > UINT64_MAX / SM_CHUNK_ROWS) return full;
    width = span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span <= UINT32_MAX ? 4 : 8;
    return width < full ? width : full;
}

static void free_scratch(const sm_source *s, scratch *own)
{
    sm_buffer_unref(own->buf);
    sm_chunk_unref(own->chunk);
    sm_free(s->mem, own, sizeof *own);
}

static sm_status make_scratch(const sm_source *s, sm_pin *pin, sm_error *err)
{
    void *p = NULL;
    scratch *own;
    uint64_t rows = s->n_rows < SM_CHUNK_ROWS ? s->n_rows : SM_CHUNK_ROWS;
    sm_status status;
    SM_TRY(sm_alloc_zero(s->mem, sizeof *own, "generate_series", &p, err));
    own = p;
    status =
        sm_buffer_new(s->mem, rows * sm_phys_bytes(phys_of(s)), "generate_series", &own->buf, err);
    if (status == SM_OK) status = sm_chunk_new(s->mem, 0, 1, &own->chunk, err);
    if (status != SM_OK)
        free_scratch(s, own);
    else
        pin->scratch = own;
    return status;
}

/* What an earlier, fuller chunk left behind the last row. */
static void clear_tail(scratch *own, size_t used_bytes)
{
    memset(own->buf->data + used_bytes, 0, own->buf->bytes - used_bytes);
}

/* Offsets of a chunk of n rows: upwards i * stride, downwards (n - 1 - i) * stride. */
static void fill_offsets(scratch *own, unsigned width, uint32_t n, uint64_t stride, bool down)
{
    char *data = own->buf->data;
    if (own->filled_rows == n) return;
    own->filled_rows = n;
    clear_tail(own, (size_t)n * width);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = (down ? n - 1 - i : i) * stride;
        switch (width) {
        case 1: ((uint8_t *)data)[i] = (uint8_t)x; break;
        case 2: ((uint16_t *)(void *)data)[i] = (uint16_t)x; break;
        case 4: ((uint32_t *)(void *)data)[i] = (uint32_t)x; break;
        default: ((uint64_t *)(void *)data)[i] = x; break;
        }
    }
}

static void fill_plain(char *data, sm_phys p, sm_i128 first, sm_i128 step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        sm_i128 x = step_on(first, step, i);
        switch (p) {
        case SM_PHYS_I16: ((int16_t *)(void *)data)[i] = (int16_t)x; break;
        case SM_PHYS_I32: ((int32_t *)(void *)data)[i] = (int32_t)x; break;
        case SM_PHYS_I64: ((int64_t *)(void *)data)[i] = (int64_t)x; break;
        default: ((sm_i128 *)(void *)data)[i] = x; break;
        }
    }
}

static void make_even(const sm_source *s, scratch *own, uint64_t first_row)
{
    sm_phys p = phys_of(s);
    sm_chunk_col *c = own->chunk->cols;
    uint32_t n = own->chunk->n_rows;
    sm_i128 step = step_of(s), first = value_at(s, first_row),
            last = value_at(s, first_row + n - 1);
    sm_i128 lo = step > 0 ? first : last, hi = step > 0 ? last : first;
    unsigned width = series_width(s);
    set_int(&c->min, p, lo);
    set_int(&c->max, p, hi);
    c->width = (uint8_t)width;
    if (width == sm_phys_bytes(p)) {
        c->enc = SM_ENC_PLAIN;
        fill_plain(own->buf->data, p, first, step, n);
        clear_tail(own, (size_t)n * width);
    } else {
        c->enc = SM_ENC_NARROW;
        c->base = (int64_t)lo;
        fill_offsets(own, width, n, (uint64_t)(step > 0 ? step : -step), step < 0);
    }
}

static void make_uneven(const sm_source *s, scratch *own, uint64_t morsel)
{
    sm_chunk_col *c = own->chunk->cols;
    int64_t *to = (int64_t *)(void *)own->buf->data, at = s->series.month_steps[morsel];
    uint32_t n = own->chunk->n_rows;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = at;
        if (i + 1 < n) (void)add_interval(at, s->series.step.iv, &at); /* in range: it was walked */
    }
    clear_tail(own, n * sizeof *to);
    c->enc = SM_ENC_PLAIN;
    c->width = sizeof *to;
    c->min.i64 = to[0] < to[n - 1] ? to[0] : to[n - 1];
    c->max.i64 = to[0] < to[n - 1] ? to[n - 1] : to[0];
}

sm_status sm_source_pin(const sm_source *s, uint64_t morsel, sm_pin *pin, sm_error *err)
{
    scratch *own;
    uint64_t left;
    if (s->kind == SM_SOURCE_VERSION) {
        pin->chunk = s->version->chunks[morsel];
        pin->first_row = s->version->first_row[morsel];
        return SM_OK;
    }
    if (!pin->scratch) SM_TRY(make_scratch(s, pin, err));
    own = pin->scratch;
    pin->first_row = morsel * SM_CHUNK_ROWS;
    left = s->n_rows - pin->first_row;
    own->chunk->n_rows = left < SM_CHUNK_ROWS ? (uint32_t)left : SM_CHUNK_ROWS;
    own->chunk->cols[0] =
        (sm_chunk_col){.padded = true, .has_minmax = true, .data = own->buf->data};
    if (is_uneven(s))
        make_uneven(s, own, morsel);
    else
        make_even(s, own, pin->first_row);
    pin->chunk = own->chunk;
    return SM_OK;
}

void sm_source_unpin(const sm_source *s, sm_pin *pin)
{
    (void)s;
    pin->chunk = NULL;
}

void sm_pin_reset(const sm_source *s, sm_pin *pin)
{
    scratch *own = pin->scratch;
    if (own) free_scratch(s, own);
    *pin = (sm_pin){.chunk = NULL};
}
