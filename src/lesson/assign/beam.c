/* beam.c -- the best states after each block. States that hold the same nodes in their roles are
 * one.
 */
#include "beam.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A state of the beam. */
struct beam_state {
  struct attn_state state;
  uint64_t hash;                 /* of the nodes in their roles */
  const struct attn_state *kept; /* a copy that states of later examples refer to; NULL: none yet */
};

/* A state that would follow. */
struct beam_successor {
  double score;
  uint64_t hash;
  int parent, order; /* order: in which they were found */
  struct attn_option option;
};

enum {
  SUCCESSORS = ATTN_BEAM_WIDE * ATTN_OPTIONS,
  SLOTS = 4096
}; /* SLOTS: a power of two, sparse */
_Static_assert(2 * SUCCESSORS <= SLOTS, "a search for a free slot must end, and soon");

struct attn_beam {
  struct attn_relations *relations;
  struct attn_pool *pool; /* of this search only */
  struct attn_budget *budget;
  int width, members, successors;
  struct beam_state *beam, *next;
  struct beam_successor *successor;
  int16_t slot[SLOTS]; /* by hash: index of a successor + 1; 0: free */
};

/* ---- Identical states ---- */

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* head -1: shared. Hashes of what a state contains add up to the state's. */
static uint64_t slot_hash(int head, int role, int id) {
  uint64_t slot = (uint64_t)(head + 1) * (ATTN_ROLES + 1) + (uint64_t)role;
  return mix(mix(slot) + (uint64_t)id);
}

static uint64_t row_hash(int head, int row) {
  return row < 0 ? 0 : slot_hash(head, ATTN_ROLES, row);
}

static uint64_t example_hash(int examples) { return mix((uint64_t)examples); }

static uint64_t roles_hash(const struct attn_roles *roles, int head) {
  uint64_t hash = row_hash(head, roles->row) + mix(roles->done);
  for (int role = 0; role < ATTN_ROLES; role++)
    if (roles->at[role]) hash += slot_hash(head, role, roles->at[role]->id);
  return hash;
}

static int adds_node(const struct attn_option *o) {
  return o->role != ATTN_ROLE_OTHER && !o->is_copy;
}

/* The row of a query that is shown alone; -1: none. */
static int row_of_query(const struct attn_option *o, const struct attn_roles *head) {
  return o->is_copy < ATTN_COPY_ROW || head->row >= 0 || attn_has_scores(head)
             ? -1
             : o->is_copy - ATTN_COPY_ROW;
}

static uint64_t hash_after(const struct beam_state *m, const struct attn_option *o) {
  uint64_t hash = o->new_example ? example_hash(m->state.examples + 1) : m->hash;
  if (o->split) hash += slot_hash(-1, ATTN_ROLES, o->split);
  if (!adds_node(o)) return hash + row_hash(o->head, row_of_query(o, &m->state.head[o->head]));
  struct attn_roles head = m->state.head[o->head];
  if (o->next_query) {
    hash -= roles_hash(&head, o->head);
    attn_roles_finish_row(&head, o->role);
    hash += roles_hash(&head, o->head);
  }
  hash += slot_hash(attn_role_is_shared(o->role) ? -1 : o->head, o->role, o->node->id);
  if (o->relation && o->relation->row >= 0)
    hash += row_hash(o->head, o->relation->row) - row_hash(o->head, head.row);
  return hash;
}

/* ---- One block ---- */

/* The successor of this hash; a new one, of the worst score, if there is none. */
static struct beam_successor *find_successor(struct attn_beam *s, uint64_t hash) {
  size_t at = hash & (SLOTS - 1);
  for (; s->slot[at]; at = (at + 1) & (SLOTS - 1))
    if (s->successor[s->slot[at] - 1].hash == hash) return &s->successor[s->slot[at] - 1];
  struct beam_successor *found = &s->successor[s->successors];
  *found = (struct beam_successor){.score = -INFINITY, .hash = hash, .order = s->successors};
  s->slot[at] = (int16_t)++s->successors;
  return found;
}

static void add_successors(struct attn_beam *s, int parent, const struct attn_options *options) {
  const struct beam_state *m = &s->beam[parent];
  for (int i = 0; i < options->count; i++) {
    const struct attn_option *o = &options->at[i];
    struct beam_successor *to = find_successor(s, hash_after(m, o));
    double score = m->state.score + o->bits;
    if (!(score > to->score)) continue;
    to->score = score;
    to->parent = parent;
    to->option = *o;
  }
}

static int by_score(const void *a, const void *b) {
  const struct beam_successor *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static const struct attn_state *keep_state(struct attn_beam *s, struct beam_state *m) {
  if (m->kept) return m->kept;
  struct attn_state *copy = attn_pool_take(s->pool, sizeof *copy);
  if (copy) *copy = m->state;
  return m->kept = copy;
}

static struct attn_placement *place(struct attn_beam *s, const struct attn_option *o,
                                    const struct attn_state *from, int block) {
  struct attn_placement *p = attn_pool_take(s->pool, sizeof *p);
  if (!p) return NULL;
  *p = (struct attn_placement){.before = from->last,
                               .block = block,
                               .role = o->role,
                               .is_copy = o->is_copy,
                               .head = o->head,
                               .example = from->examples + o->new_example,
                               .relation = o->relation,
                               .node = o->node,
                               .bits = o->bits};
  return p;
}

static void set_role(struct attn_state *state, const struct attn_option *o) {
  if (attn_role_is_shared(o->role)) {
    state->shared.at[o->role] = o->node;
    return;
  }
  if (o->head == state->heads) state->heads++;
  if (o->next_query) attn_roles_finish_row(&state->head[o->head], o->role);
  state->head[o->head].at[o->role] = o->node;
  if (o->relation && o->relation->row >= 0) state->head[o->head].row = o->relation->row;
}

/* Returns 0, or -1: no memory. */
static int follow(struct attn_beam *s, const struct beam_successor *by,
                  const struct attn_candidate *c, struct beam_state *to) {
  struct beam_state *from = &s->beam[by->parent];
  struct attn_placement *last = place(s, &by->option, &from->state, c->block);
  if (!last) return -1;
  if (by->option.new_example) {
    attn_state_start(&to->state);
    to->state.examples = from->state.examples + 1;
    to->state.finished = keep_state(s, from);
    if (!to->state.finished) return -1;
  } else {
    to->state = from->state;
  }
  if (by->option.split && !attn_state_split(s->relations, &to->state, by->option.split)) return -1;
  if (adds_node(&by->option)) {
    if (!attn_node_follow(s->relations, by->option.node)) return -1;
    set_role(&to->state, &by->option);
    if (to->state.section < 0) to->state.section = c->section;
  } else {
    int row = row_of_query(&by->option, &to->state.head[by->option.head]);
    if (row >= 0) to->state.head[by->option.head].row = row;
  }
  last->roles = to->state.head[by->option.head];
  to->state.score = by->score;
  to->state.last = last;
  to->hash = by->hash;
  to->kept = NULL;
  return 0;
}

/* The score of the last of the successors that will be kept; fewer are known: -inf. */
static double least_kept(const struct attn_beam *s) {
  double best[ATTN_BEAM_WIDE];
  int count = 0;
  for (int i = 0; i < s->successors; i++) {
    double score = s->successor[i].score;
    if (count == s->width && score <= best[count - 1]) continue;
    int at = count < s->width ? count++ : count - 1;
    for (; at > 0 && best[at - 1] < score; at--) best[at] = best[at - 1];
    best[at] = score;
  }
  return count == s->width ? best[count - 1] : -(double)INFINITY;
}

int attn_beam_advance(struct attn_beam *s, const struct attn_candidate *c, double least) {
  struct attn_options options;
  s->successors = 0;
  memset(s->slot, 0, sizeof s->slot);
  for (int i = 0; i < s->members; i++) {
    options.least = fmax(least, least_kept(s) - ATTN_EQUAL_SCORES) - s->beam[i].state.score;
    attn_expand(s->relations, &s->beam[i].state, c, s->budget, &options);
    add_successors(s, i, &options);
  }
  qsort(s->successor, (size_t)s->successors, sizeof *s->successor, by_score);
  int members = s->successors < s->width ? s->successors : s->width;
  for (int i = 0; i < members; i++)
    if (follow(s, &s->successor[i], c, &s->next[i])) return -1;
  struct beam_state *beam = s->beam;
  s->beam = s->next;
  s->next = beam;
  s->members = members;
  return 0;
}

struct attn_beam *attn_beam_new(struct attn_relations *relations, struct attn_budget *budget,
                                struct attn_pool *pool, int width) {
  struct attn_beam *s = attn_pool_take(pool, sizeof *s);
  if (!s) return NULL;
  s->relations = relations;
  s->pool = pool;
  s->budget = budget;
  s->width = width;
  s->beam = attn_pool_take(pool, (size_t)width * sizeof *s->beam);
  s->next = attn_pool_take(pool, (size_t)width * sizeof *s->next);
  s->successor = attn_pool_take(pool, (size_t)width * ATTN_OPTIONS * sizeof *s->successor);
  if (!s->beam || !s->next || !s->successor) return NULL;
  s->members = 1;
  attn_state_start(&s->beam[0].state);
  s->beam[0].hash = example_hash(0);
  return s;
}

const struct attn_state *attn_beam_best(const struct attn_beam *s) {
  return s->members ? &s->beam[0].state : NULL;
}
