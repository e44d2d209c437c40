#include "select.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

/* The linker redirects the library's calls of attn_kernel_choose here (--wrap). */
const struct attn_kernel *__real_attn_kernel_choose(attn_error *err);
const struct attn_kernel *__wrap_attn_kernel_choose(attn_error *err);

/* Under ThreadSanitizer there is only the CPU's best kernel: all share their threading. */
#if defined __SANITIZE_THREAD__
enum { SOFTWARE_MODELS = 0 };
static const struct attn_kernel *const software_model[1] = {NULL};
#else
enum { SOFTWARE_MODELS = 2 };
extern const struct attn_kernel attn_kernel_bf16_model, attn_kernel_amx_model;
static const struct attn_kernel *const software_model[] = {&attn_kernel_bf16_model,
                                                           &attn_kernel_amx_model};
#endif

static const struct attn_kernel *model; /* NULL: the library's choice */

const struct attn_kernel *__wrap_attn_kernel_choose(attn_error *err) {
  return model ? model : __real_attn_kernel_choose(err);
}

/* A query runs CPUID often, which is slow in a virtual machine: each set is queried once. */
static int runs_here(const char *isa, int *known) {
  attn_machine machine = {.struct_size = sizeof machine};
  setenv("ATTN_ISA", isa, 1);
  if (!*known) {
    attn_machine_query(&machine);
    *known = machine.isa_invalid ? -1 : 1;
  }
  return *known > 0;
}

const char *select_kernel(int n) {
  static const char *const isas[] = {"scalar", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
  static int said, known[5];
  select_default();
  for (int isa = 0; isa < 5; isa++) {
    if (runs_here(isas[isa], &known[isa])) {
      if (n-- == 0) return isas[isa];
    } else if (!(said >> isa & 1)) {
      said |= 1 << isa;
      printf("SKIPPED: %s: this CPU lacks it\n", isas[isa]);
    }
  }
  select_default();
  if (n >= SOFTWARE_MODELS) return NULL;
  model = software_model[n];
  return model->name;
}

void select_default(void) {
  model = NULL;
  unsetenv("ATTN_ISA");
}

int on_every_kernel(int (*suite)(const char *name)) {
  int failed = 0;
  const char *name;
  if (!SOFTWARE_MODELS) return suite("the best");
  for (int n = 0; (name = select_kernel(n)); n++) failed += suite(name);
  select_default();
  return failed;
}
