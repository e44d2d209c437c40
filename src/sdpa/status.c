#include "attn/attn.h"

#define TEXT(x) #x
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *attn_version_string(void) {
  return VERSION(ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
}

const char *attn_status_name(attn_status status) {
  switch (status) {
    case ATTN_OK:
      return "ATTN_OK";
    case ATTN_ERR_ARGUMENT:
      return "ATTN_ERR_ARGUMENT";
    case ATTN_ERR_SHAPE:
      return "ATTN_ERR_SHAPE";
    case ATTN_ERR_TYPE:
      return "ATTN_ERR_TYPE";
    case ATTN_ERR_MEMORY:
      return "ATTN_ERR_MEMORY";
    case ATTN_ERR_FILE:
      return "ATTN_ERR_FILE";
    case ATTN_ERR_FORMAT:
      return "ATTN_ERR_FORMAT";
    case ATTN_ERR_CPU:
      return "ATTN_ERR_CPU";
    case ATTN_ERR_EMPTY_ROW:
      return "ATTN_ERR_EMPTY_ROW";
    case ATTN_ERR_INTERRUPTED:
      return "ATTN_ERR_INTERRUPTED";
    case ATTN_ERR_DIVERGED:
      return "ATTN_ERR_DIVERGED";
  }
  return "ATTN_ERR_UNKNOWN";
}
