/* Names and physical forms of the SQL types: expansions of types.def. */
#include "types.h"

#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name;
    const char *others; /* separated by spaces */
} row;

static const row rows[SM_N_TYPES] = {
#define SM_TYPE(id, name, others, phys) [SM_##id] = {name, others},
#include "types.def"
#undef SM_TYPE
    [SM_UNKNOWN] = {"unknown", ""},
};

const uint8_t sm_type_phys_rows[SM_N_TYPES] = {
#define SM_TYPE(id, name, others, phys) [SM_##id] = SM_PHYS_##phys,
#include "types.def"
#undef SM_TYPE
    [SM_UNKNOWN] = SM_PHYS_TEXT,
};

/* A bare numeric column: the listed exception of docs/dialect.md. */
enum { BARE_SCALE = 10 };

size_t sm_type_name(sm_type t, char *out, size_t out_bytes)
{
    const char *name = rows[t.id < SM_N_TYPES ? t.id : SM_UNKNOWN].name;
    int n;
    if (t.id == SM_DECIMAL && t.precision && !(t.flags & SM_TYPE_BARE_DECIMAL))
        n = snprintf(out, out_bytes, "%s(%u,%u)", name, t.precision, t.scale);
    else
        n = snprintf(out, out_bytes, "%s", name);
    return n < 0 ? 0 : (size_t)n;
}

static bool listed(const char *list, const char *word)
{
    size_t len = strlen(word);
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == len && memcmp(list, word, n) == 0) return true;
        list += n;
        list += *list == ' ';
    }
    return false;
}

bool sm_type_find(const char *name, sm_type *out)
{
    for (unsigned id = 0; id < SM_UNKNOWN; id++) {
        if (strcmp(rows[id].name, name) != 0 && !listed(rows[id].others, name)) continue;
        *out = sm_type_of((sm_type_id)id);
        if (id == SM_DECIMAL)
            *out = (sm_type){SM_DECIMAL, SM_DEC_MAX_DIGITS, BARE_SCALE, SM_TYPE_BARE_DECIMAL};
        return true;
    }
    return false;
}
