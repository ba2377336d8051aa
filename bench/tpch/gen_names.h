/* The lists of names as arrays of text, for the files that pick from them. Read words.def. */
#ifndef TPCH_NAMES_H
#define TPCH_NAMES_H

#include "gen.h"

#define TPCH_LITERAL(text)                                                                         \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

typedef enum tpch_list {
    COLOR,
    TYPE_1,
    TYPE_2,
    TYPE_3,
    CONTAINER_1,
    CONTAINER_2,
    SEGMENT,
    PRIORITY,
    INSTRUCTION,
    MODE,
    REGION,
    TPCH_N_LISTS
} tpch_list;

typedef struct tpch_nation {
    smelt_text name;
    int32_t region;
} tpch_nation;
enum { TPCH_N_NATIONS = 25, TPCH_N_REGIONS = 5, TPCH_N_COLORS = 92 };
extern const tpch_nation tpch_nations[TPCH_N_NATIONS];

/** The first name of a list; the others follow it. */
const smelt_text *tpch_names(tpch_list list);

/** Makes the lists of types, containers, brands and makers, which are put together. */
void tpch_names_init(tpch_shared *s);

#endif
