/* mutator.c -- mutations of inputs with JSON: a value is replaced, moved, duplicated or removed, so
 * that mutated inputs still parse. Half of the mutations are libFuzzer's own. The parts of an input
 * are separated by NUL. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static unsigned state;

static unsigned below(unsigned n) {
  state = state * 1103515245u + 12345u;
  return (state >> 8) % n;
}

/* ---- A uniformly random member or element ---- */

struct json_position {
  json_t *parent;
  const char *key; /* NULL: index */
  size_t index;
  unsigned seen;
};

static void walk(json_t *at, struct json_position *p) {
  const char *key;
  json_t *value;
  size_t index;
  json_object_foreach(at, key, value) {
    if (!below(++p->seen)) p->parent = at, p->key = key;
    walk(value, p);
  }
  json_array_foreach(at, index, value) {
    if (!below(++p->seen)) p->parent = at, p->key = NULL, p->index = index;
    walk(value, p);
  }
}

static json_t *value_at(const struct json_position *p) {
  return p->key ? json_object_get(p->parent, p->key) : json_array_get(p->parent, p->index);
}

/* ---- Values ---- */

static json_t *number(const json_t *before) {
  static const json_int_t all[] = {
      0,       1,    2,          3,          4,         5,        6,       7,  8,
      16,      64,   255,        1 << 10,    1 << 16,   1 << 24,  1 << 30, -1, (1 << 24) + 1,
      1 << 20, 1025, 2147483647, 4294967296, INT64_MAX, INT64_MIN};
  static const double reals[] = {0, 1, -1, 0.5, 0.1, 1e-9, 1e-300, 1e300, 10000, -0.0};
  if (json_is_real(before)) return json_real(reals[below(sizeof reals / sizeof *reals)]);
  if (json_is_integer(before) && below(2))
    return json_integer((json_int_t)((uint64_t)json_integer_value(before) + below(5) - 2));
  return json_integer(all[below(sizeof all / sizeof *all)]);
}

static json_t *other(const json_t *before, struct json_position *source) {
  switch (below(6)) {
    case 0:
      return json_is_boolean(before) ? json_boolean(!json_is_true(before)) : json_null();
    case 1:
      return below(2) ? json_object() : json_array();
    case 2:
    case 3:
      return number(before);
    default:
      return json_deep_copy(value_at(source));
  }
}

static void change(json_t *root) {
  struct json_position at = {0}, source = {0};
  walk(root, &at), walk(root, &source);
  if (!at.parent) return;
  json_t *value = other(value_at(&at), &source);
  switch (below(8)) {
    case 0:
      if (at.key)
        json_object_del(at.parent, at.key);
      else
        json_array_remove(at.parent, at.index);
      break;
    case 1:
      if (source.key && json_is_object(at.parent))
        json_object_set(at.parent, source.key, value);
      else if (!at.key)
        json_array_insert(at.parent, at.index, value);
      break;
    default:
      if (at.key)
        json_object_set(at.parent, at.key, value);
      else
        json_array_set(at.parent, at.index, value);
  }
  json_decref(value);
}

/* ---- The input ---- */

/* Chooses a part: its first byte and its end. */
static void choose_part(const uint8_t *data, size_t size, size_t *from, size_t *end) {
  unsigned parts = 1;
  for (size_t n = 0; n < size; n++) parts += data[n] == 0;
  unsigned chosen = below(parts);
  for (*from = 0; chosen; ++*from) chosen -= data[*from] == 0;
  for (*end = *from; *end < size && data[*end];) ++*end;
}

/* Returns the new size, or 0 if the part is not JSON or the result is too long. */
static size_t change_part(uint8_t *data, size_t size, size_t max) {
  size_t from, end, new_size = 0;
  choose_part(data, size, &from, &end);
  json_t *root = json_loadb((char *)data + from, end - from, 0, NULL);
  for (unsigned n = 1 + below(3); root && n; n--) change(root);
  char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
  size_t length = text ? strlen(text) : 0;
  if (text && from + length + (size - end) <= max) {
    memmove(data + from + length, data + end, size - end);
    memcpy(data + from, text, length);
    new_size = from + length + (size - end);
  }
  free(text), json_decref(root);
  return new_size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
  state = seed * 2654435761u + 1;
  size_t new_size = below(2) ? change_part(data, size, max) : 0;
  return new_size ? new_size : LLVMFuzzerMutate(data, size, max);
}
