/* bench_library.c -- another build of libattn.so, opened at run time: its calls are measured like a
 * peer's. */
#include <dlfcn.h>
#include <string.h>

#include "bench.h"

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

const struct bench_library attn_cli_bench_own = {
    attn_sdpa_forward,   attn_sdpa_backward, attn_sdpa_forward_cached, attn_sdpa_forward_packed,
    attn_sdpa_summarize, attn_score_forward, attn_cache_new,           attn_cache_append,
    attn_cache_read,     attn_cache_free,    attn_version_string};

int attn_cli_bench_library_open(const char *path, struct bench_library *library) {
  struct {
    const char *name;
    void *to;
  } functions[] = {{"attn_sdpa_forward", &library->forward},
                   {"attn_sdpa_backward", &library->backward},
                   {"attn_sdpa_forward_cached", &library->forward_cached},
                   {"attn_sdpa_forward_packed", &library->forward_packed},
                   {"attn_sdpa_summarize", &library->summarize},
                   {"attn_score_forward", &library->score_forward},
                   {"attn_cache_new", &library->cache_new},
                   {"attn_cache_append", &library->cache_append},
                   {"attn_cache_read", &library->cache_read},
                   {"attn_cache_free", &library->cache_free},
                   {"attn_version_string", &library->version}};
  /* DEEPBIND: its own functions, although this program has loaded some of the same names. */
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) {
    attn_cli_print_error("--library: %.500s", dlerror());
    return -1;
  }
  for (size_t n = 0; n < sizeof functions / sizeof *functions; n++) {
    void *symbol = dlsym(handle, functions[n].name);
    if (!symbol) {
      attn_cli_print_error("--library: %.200s has no %s", path, functions[n].name);
      dlclose(handle);
      return -1;
    }
    memcpy(functions[n].to, &symbol, sizeof symbol);
  }
  return 0;
}
