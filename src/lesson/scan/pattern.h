/* pattern.h -- regular expressions (PCRE2, UTF-8), compiled on first use and kept by their owner.
 */
#ifndef ATTN_LESSON_PATTERN_H
#define ATTN_LESSON_PATTERN_H

#include <stddef.h>

enum { ATTN_GROUPS_MAX = 10 };

struct attn_patterns; /* not thread-safe: one for each call */

/* Bytes of a text. */
struct attn_part {
  size_t begin, end;
};

struct attn_match {
  int groups;                              /* group 0 is the whole match */
  struct attn_part group[ATTN_GROUPS_MAX]; /* begin > end: the group took no part */
};

struct attn_patterns *attn_patterns_new(void); /* NULL: no memory */
void attn_patterns_free(struct attn_patterns *p);

/* Finds the first match of pattern in text[from, bytes). pattern is a literal with static storage:
 * its address is the key of the compiled form. Options are part of it: "(?i)", "(?m)", "(?s)". Text
 * is valid UTF-8, and \b, \w, \d know Unicode only where the pattern begins with "(*UCP)".
 *
 * Returns 1 or 0. A search that exceeds the match limit counts as 0; so does a failed allocation,
 * which attn_patterns_failed reports. match may be NULL. */
int attn_find(struct attn_patterns *p, const char *pattern, const char *text, size_t bytes,
              size_t from, struct attn_match *match);

/* attn_find at `from` only. */
int attn_match_at(struct attn_patterns *p, const char *pattern, const char *text, size_t bytes,
                  size_t from, struct attn_match *match);

/* Does pattern occur anywhere in the 0-terminated text? */
int attn_occurs(struct attn_patterns *p, const char *pattern, const char *text);

/* The same of the text of a document, which is searched once for each pattern, though every block
 * asks. attn_patterns_document: another text may be at the address. */
int attn_document_has(struct attn_patterns *p, const char *pattern, const char *text);
void attn_patterns_document(struct attn_patterns *p, const char *text);

int attn_patterns_failed(const struct attn_patterns *p);

#endif
