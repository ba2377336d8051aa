/* Plan nodes: only their making; the tree is built by the binder and read by sm_pipelines_build. */
#include "plan/node.h"

sm_node *sm_node_new(sm_arena *a, sm_node_kind kind, sm_node *input)
{
    sm_node *n = SM_NEW(a, sm_node);
    if (!n) return NULL;
    n->kind = kind;
    n->input = input;
    if (input && kind != SM_NODE_PROJECT && kind != SM_NODE_AGGREGATE) {
        n->n_cols = input->n_cols; /* these nodes pass their input's columns on */
        n->cols = input->cols;
    }
    return n;
}
