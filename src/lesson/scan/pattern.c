#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  SLOTS = 2048, /* of which half are used at most: more than the module has patterns */
  MATCH_LIMIT = 200000,
  DEPTH_LIMIT = 2000,
  FAST_BYTES = 1 << 15, /* searched by a pattern: from here on machine code pays */
  CALL_BYTES = 64,      /* what a call costs, in bytes that are searched */
  STACK_BYTES_MIN = 1 << 15,
  STACK_BYTES_MAX = 1 << 18,
};

struct slot {
  const char *pattern;
  pcre2_code *code;
  size_t searched;   /* bytes; SIZE_MAX: compiled to machine code */
  unsigned document; /* the last one that was asked for it; occurs: the answer */
  int occurs;
};

struct attn_patterns {
  struct slot slot[SLOTS];
  int used, failed;
  const char *document; /* its text; documents: how many there were */
  unsigned documents;
  pcre2_match_data *data;
  pcre2_match_context *limits;
  pcre2_jit_stack *stack; /* of machine code; NULL: not needed yet */
};

struct attn_patterns *attn_patterns_new(void) {
  struct attn_patterns *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->data = pcre2_match_data_create(ATTN_GROUPS_MAX, NULL);
  p->limits = pcre2_match_context_create(NULL);
  if (!p->data || !p->limits) {
    attn_patterns_free(p);
    return NULL;
  }
  pcre2_set_match_limit(p->limits, MATCH_LIMIT);
  pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
  return p;
}

void attn_patterns_free(struct attn_patterns *p) {
  if (!p) return;
  for (int n = 0; n < SLOTS; n++) pcre2_code_free(p->slot[n].code);
  pcre2_match_data_free(p->data);
  pcre2_match_context_free(p->limits);
  pcre2_jit_stack_free(p->stack);
  free(p);
}

int attn_patterns_failed(const struct attn_patterns *p) { return p->failed; }

static struct slot *slot_of(struct attn_patterns *p, const char *pattern) {
  size_t at = (size_t)(((uintptr_t)pattern >> 1) * 0x9E3779B97F4A7C15u >> 53) % SLOTS;
  while (p->slot[at].pattern && p->slot[at].pattern != pattern) at = (at + 1) % SLOTS;
  return &p->slot[at];
}

static struct slot *compiled(struct attn_patterns *p, const char *pattern) {
  struct slot *s = slot_of(p, pattern);
  int error;
  PCRE2_SIZE offset;
  if (s->pattern) return s;
  if (p->used >= SLOTS / 2) return p->failed = 1, NULL;
  s->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                          NULL);
  if (!s->code) return p->failed = 1, NULL;
  s->pattern = pattern;
  p->used++;
  return s;
}

/* Compiles a pattern to machine code once it has searched enough. Without its own stack it would
 * use half of a small thread's. */
static void count_bytes(struct attn_patterns *p, struct slot *s, size_t bytes) {
  if (s->searched == SIZE_MAX) return;
  s->searched += bytes + CALL_BYTES;
  if (s->searched < FAST_BYTES) return;
  s->searched = SIZE_MAX;
  if (!p->stack && (p->stack = pcre2_jit_stack_create(STACK_BYTES_MIN, STACK_BYTES_MAX, NULL)))
    pcre2_jit_stack_assign(p->limits, NULL, p->stack);
  if (p->stack) pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE);
}

static int run(struct attn_patterns *p, const char *pattern, uint32_t options, const char *text,
               size_t bytes, size_t from, struct attn_match *match) {
  struct slot *s = from <= bytes ? compiled(p, pattern) : NULL;
  if (!s) return 0;
  if (!(options & PCRE2_ANCHORED))
    count_bytes(p, s, bytes - from); /* machine code is never anchored */
  int count = pcre2_match(s->code, (PCRE2_SPTR)text, bytes, from, options | PCRE2_NO_UTF_CHECK,
                          p->data, p->limits);
  if (count == PCRE2_ERROR_NOMEMORY) p->failed = 1;
  if (count < 0) return 0;
  if (!match) return 1;
  const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->data);
  match->groups = count ? count : ATTN_GROUPS_MAX;
  for (int n = 0; n < ATTN_GROUPS_MAX; n++) {
    int part = n < match->groups && at[2 * n] != PCRE2_UNSET;
    match->group[n].begin = part ? at[2 * n] : 1;
    match->group[n].end = part ? at[2 * n + 1] : 0;
  }
  return 1;
}

int attn_find(struct attn_patterns *p, const char *pattern, const char *text, size_t bytes,
              size_t from, struct attn_match *match) {
  return run(p, pattern, 0, text, bytes, from, match);
}

int attn_match_at(struct attn_patterns *p, const char *pattern, const char *text, size_t bytes,
                  size_t from, struct attn_match *match) {
  return run(p, pattern, PCRE2_ANCHORED, text, bytes, from, match);
}

int attn_occurs(struct attn_patterns *p, const char *pattern, const char *text) {
  return attn_find(p, pattern, text, strlen(text), 0, NULL);
}

void attn_patterns_document(struct attn_patterns *p, const char *text) {
  p->document = text;
  p->documents++;
}

int attn_document_has(struct attn_patterns *p, const char *pattern, const char *text) {
  if (p->document != text) attn_patterns_document(p, text);
  struct slot *s = compiled(p, pattern);
  if (!s) return 0;
  if (s->document != p->documents)
    s->occurs = attn_occurs(p, pattern, text), s->document = p->documents;
  return s->occurs;
}
