#include "descriptor.h"

#include <string.h>

#include "error.h"

enum { SIZE_LIMIT = 65536 }; /* bytes; a larger struct_size is garbage */

attn_status attn_descriptor_copy(const void *from, void *to, size_t size, size_t least,
                                 const char *name, attn_error *err) {
  size_t given;
  memset(to, 0, size);
  memcpy(to, &size, sizeof size); /* struct_size is the first field */
  if (!from) return ATTN_OK;
  memcpy(&given, from, sizeof given);
  if (given < least || given > SIZE_LIMIT)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                     "struct_size is %zu; initialize the struct with its _INIT macro (%zu)", given,
                     size);
  for (size_t n = size; n < given; n++)
    if (((const char *)from)[n])
      return attn_fail(
          err, ATTN_ERR_ARGUMENT, name,
          "struct_size is %zu, and fields unknown to this library (%d.%d.%d) are not zero", given,
          ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
  memcpy(to, from, given < size ? given : size);
  memcpy(to, &size, sizeof size);
  return ATTN_OK;
}

attn_status attn_descriptor_require(const void *from, void *to, size_t size, size_t least,
                                    const char *name, attn_error *err) {
  attn_status status = attn_descriptor_copy(from, to, size, least, name, err);
  if (!from) status = attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is NULL", name);
  return status;
}

attn_status attn_descriptor_expect(const void *to, size_t size, size_t least, const char *name,
                                   attn_error *err) {
  size_t given;
  if (!to) return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s is NULL", name);
  memcpy(&given, to, sizeof given);
  if (given >= least && given <= SIZE_LIMIT) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "struct_size is %zu; set it to sizeof (%zu)",
                   given, size);
}

void attn_descriptor_fill(void *to, const void *from, size_t size) {
  size_t given, shared;
  memcpy(&given, to, sizeof given);
  shared = given < size ? given : size;
  memcpy(to, from, shared);
  memset((char *)to + shared, 0, given - shared);
  memcpy(to, &given, sizeof given);
}
