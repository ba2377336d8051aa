/* Bodies of the operations on text.
 * Read ops_number.h first. */
#ifndef SM_OPS_TEXT_H
#define SM_OPS_TEXT_H

#include "ops_number.h"

OP_TOTAL(eq_txt, uint8_t, (sm_text a, sm_text b), sm_text_eq(a, b))
OP_TOTAL(ne_txt, uint8_t, (sm_text a, sm_text b), !sm_text_eq(a, b))
OP_TOTAL(lt_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) < 0)
OP_TOTAL(le_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) <= 0)
OP_TOTAL(gt_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) > 0)
OP_TOTAL(ge_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) >= 0)

#endif
