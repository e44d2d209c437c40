#include "descriptor.h"

#include <string.h>

#include "error.h"

enum { MOST = 65536 }; /* bytes: no version will have more, so that garbage is not read far */

attn_status attn_descriptor_copy(const void *from, void *to, size_t size, size_t least,
                                 const char *name, attn_error *err) {
  size_t given;
  memset(to, 0, size);
  memcpy(to, &size, sizeof size); /* struct_size comes first in all of them */
  if (!from) return ATTN_OK;
  memcpy(&given, from, sizeof given);
  if (given < least || given > MOST)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                     "struct_size is %zu; set it with the struct's _INIT (%zu)", given, size);
  for (size_t n = size; n < given; n++)
    if (((const char *)from)[n])
      return attn_fail(
          err, ATTN_ERR_ARGUMENT, name,
          "struct_size is %zu, with fields that this library does not know: it is %d.%d.%d", given,
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
  if (given >= least && given <= MOST) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "struct_size is %zu; set it to sizeof (%zu)",
                   given, size);
}

void attn_descriptor_fill(void *to, const void *from, size_t size) {
  size_t given, most;
  memcpy(&given, to, sizeof given);
  most = given < size ? given : size;
  memcpy(to, from, most);
  memset((char *)to + most, 0, given - most);
  memcpy(to, &given, sizeof given);
}
