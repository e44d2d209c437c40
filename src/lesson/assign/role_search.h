/* role_search.h -- between the files of assign.c: what the search knows of a block, and the ways in
 * which it may be read. */
#ifndef ATTN_LESSON_ROLE_SEARCH_H
#define ATTN_LESSON_ROLE_SEARCH_H

#include "assign.h"

enum {
  ATTN_OPTIONS = 12,       /* ways to read a block that one state may follow */
  ATTN_SEARCHED_MAX = 120, /* blocks of a document; the rest are not read */
  ATTN_EVIDENCE_MAX = 40,  /* blocks; in longer documents products are not looked for beforehand */
  ATTN_EVIDENCE_CELLS = 400, /* of a block that takes part in it */
  ATTN_ROW_BITS = 4          /* that a row of given weights saves: it adds up to 1 */
};

/* words.c: the roles that a text names, in order, a longer match in place of the shorter ones
 * inside it. Each text is searched once: captions are those of several blocks, in several readings.
 */
enum { ATTN_ROLE_HITS = 64 };
struct attn_role_hit {
  size_t begin, end;
  int role;
};
struct attn_role_hits {
  int count;
  struct attn_role_hit hit[ATTN_ROLE_HITS];
};
const struct attn_role_hits *attn_find_roles(struct attn_scan *scan, const char *text,
                                             size_t bytes);

/* evidence.c: bits for a role because blocks of the right shapes multiply to another; 0: none. */
struct attn_evidence {
  double bits[ATTN_ROLES];
};
void attn_find_evidence(const struct attn_grid *const *grid, int blocks, struct attn_evidence *out);

/* A block in one setting of the search. */
struct attn_candidate {
  int block, readings;
  const struct attn_grid *grid[ATTN_READINGS];
  const struct attn_grid *weights[ATTN_READINGS]; /* as W_Q, W_K, W_V or W_O */
  const struct attn_grid *scores[ATTN_READINGS];  /* as scores, weights and what is between them */
  const struct attn_priors *priors;               /* of this block */
  const struct attn_priors *all_priors;           /* by block */
  struct attn_evidence evidence;
  struct attn_hints hints;
  int names_head, names_example; /* the text mentions a head; an example or a problem */
  int names_bias;                /* a bias that is added to scores */
  int new_heading;               /* it is the first below its heading */
  int is_factor;                 /* of a product: no result */
  int siblings_line;             /* of the columns of one table; 0: it has its own line or name */
  int section;                   /* how many headings of examples are above: "Example 2" */
};

/* hints.c */
int attn_mentions_causal(struct attn_scan *scan, const char *text);
int attn_mentions_causal_above(struct attn_scan *scan, int line); /* in the lines before it */
int attn_mentions_temperature_above(struct attn_scan *scan, int line);
int attn_denies_mask(struct attn_scan *scan, const char *text);
int attn_denies_scale(struct attn_scan *scan);     /* nothing is divided */
int attn_mentions_tanh(struct attn_scan *scan);    /* as additive scores have it */
int attn_mentions_columns(struct attn_scan *scan); /* softmax is taken down the columns */
int attn_mentions_softmax_of_rows(struct attn_scan *scan);
/* Are projections written in the order of a setting, X W, or W X of columns? -1: in the other one.
 * 0: in neither, or both. */
int attn_order_of_weights(struct attn_scan *scan, int columns);
/* Does a sentence of the text match, and neither deny nor suppose it? */
int attn_states(struct attn_scan *scan, const char *text, const char *pattern);
int attn_is_mask_table(const struct attn_candidate *c); /* a table of 1 and 0 called a mask */
/* What the whole document states. */
void attn_document_hints(struct attn_scan *scan, struct attn_hints *hints);
/* Are scores divided by another number, "instead of sqrt(d_k)"? */
int attn_replaces_root(struct attn_scan *scan);
/* Softmax is taken of the scores divided by it; 1: none, or it is not said to be used. */
double attn_stated_temperature(struct attn_scan *scan);
int attn_stated_position_base(struct attn_scan *scan); /* one that is not usual first; 0: none */
int attn_is_section(struct attn_scan *scan, const struct attn_block *block);
/* "d_k = 2", not "√d_k = 2" or "d_k = 4 / 2": the width of queries and keys. */
#define ATTN_KEY_DIMENSION                                                                      \
  "(?<![\\w\\x{221A}({])(?<!sqrt )(?<!of )d_?\\{?k\\}?\\)? ?(?:=|:|is|equals|は) ?(\\d{1,2}+)" \
  "(?![.\\d]*[ \\t]?[-+/*^\\x{F7}\\x{D7}\\\\])(?!\\.\\d)"
int attn_stated_width(struct attn_scan *scan); /* 0: none, or several */
/* The only query that the text numbers; 0: none, or several. */
int attn_numbered_query(struct attn_scan *scan);
int attn_mentions_padding(struct attn_scan *scan); /* and no causal mask */
int attn_read_hints(struct attn_scan *scan, const struct attn_block *block,
                    struct attn_candidate *out); /* -1: no memory */

/* One way to read it. */
struct attn_option {
  double bits;
  int role, head;
  int is_copy;     /* ATTN_COPY .. */
  int new_example; /* it is the first block of another example */
  int next_query;  /* or of the next query, of those that are shown one after the other */
  int split;       /* the projections are of so many heads, which are shown from here on; or 0 */
  int reading;
  const struct attn_relation *relation;
  const struct attn_node *node;
};

/* The best ways, best first; of equals, the one found first. */
struct attn_options {
  double least; /* bits: ways of fewer are not kept */
  int count;
  struct attn_option at[ATTN_OPTIONS];
};

/* Work that is left to the search of a document, in about nanoseconds. */
struct attn_budget {
  double left;
  int newest; /* the highest id of a node so far: higher ones are new */
  int exhausted;
};

/* ---- expand.c: the ways to read a candidate in a state ---- */

/* A block that is read after a state, or as the first of a new example. */
struct attn_expansion {
  struct attn_relations *relations;
  const struct attn_state *state;
  const struct attn_state *before; /* the same, or that of the example that is finished */
  const struct attn_candidate *candidate;
  struct attn_budget *budget;
  int new_example, next_query, split, reading;
  double progress[ATTN_HEADS_MAX + 1]; /* how far along the computation a head is; 0: a new one */
  struct attn_options *out;
};

void attn_expand(struct attn_relations *relations, const struct attn_state *state,
                 const struct attn_candidate *candidate, struct attn_budget *budget,
                 struct attn_options *out);
void attn_state_start(struct attn_state *state); /* nothing is known */
/* The row of queries is done, and the next one begins with this role. */
void attn_roles_finish_row(struct attn_roles *head, int role);

/* split_heads.c. The projections that are known are those of so many heads. 0: no memory. */
int attn_state_split(struct attn_relations *r, struct attn_state *s, int heads);
/* Into how many heads the projections may be cut at most; 0: into none. */
int attn_state_width(const struct attn_state *s);

/* Counts work. Returns 0 where the budget does not allow it. */
int attn_spend(struct attn_budget *budget, double work);
/* And the work for a node, if it is new. */
void attn_spend_node(struct attn_budget *budget, const struct attn_node *node, double work);
void attn_push_option(struct attn_options *out, const struct attn_option *option);
/* No way to read the block has more bits. */
double attn_most_bits(const struct attn_candidate *c);
/* Is the role not taken yet? */
int attn_is_free(const struct attn_state *s, int head, int role);
int attn_has_scores(const struct attn_roles *head); /* or what follows from them */
int attn_any_head_has(const struct attn_state *s, int role);
/* The price of a reading that is not the likely one, in bits. */
double attn_reading_price(const struct attn_expansion *e);
/* Is the block below the heading of another example than the state's blocks? */
int attn_is_new_section(const struct attn_expansion *e);
/* Are the operands of a role known, and called so? Of weights, logits in any state. */
int attn_operands_are_called(const struct attn_expansion *e, int head, int role);
/* Bits for a role from the words near the block. */
double attn_word_bits(const struct attn_priors *p, int role);

/* assign.c. Is it a projection that shows whether its weights are transposed? */
int attn_tells_orientation(const struct attn_relation *r);

/* givens.c, copies.c. The nodes of givens are left NULL, */
void attn_expand_givens(struct attn_expansion *e);
/* and made for the options that remain. NULL: no memory. */
const struct attn_node *attn_option_given(const struct attn_expansion *e,
                                          const struct attn_option *o);
void attn_expand_copies(struct attn_expansion *e);

#endif
