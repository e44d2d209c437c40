#include "select.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

/* The linker redirects the library's calls of attn_kernel_choose here (--wrap). */
const struct attn_kernel *__real_attn_kernel_choose(attn_error *err);
const struct attn_kernel *__wrap_attn_kernel_choose(attn_error *err);

/* Under ThreadSanitizer there is only the CPU's best kernel: all share their threading. */
#if defined __SANITIZE_THREAD__
static const struct attn_kernel *const software_model = NULL;
#else
extern const struct attn_kernel attn_kernel_bf16_model;
static const struct attn_kernel *const software_model = &attn_kernel_bf16_model;
#endif

static int model;

const struct attn_kernel *__wrap_attn_kernel_choose(attn_error *err) {
  return model ? software_model : __real_attn_kernel_choose(err);
}

static int runs_here(const char *isa) {
  attn_machine machine = {.struct_size = sizeof machine};
  setenv("ATTN_ISA", isa, 1);
  attn_machine_query(&machine);
  return !machine.isa_invalid;
}

const char *select_kernel(int n) {
  static const char *const isas[] = {"scalar", "avx2", "avx512", "avx512_bf16"};
  static int said;
  select_default();
  for (int isa = 0; isa < 4; isa++) {
    if (runs_here(isas[isa])) {
      if (n-- == 0) return isas[isa];
    } else if (!(said >> isa & 1)) {
      said |= 1 << isa;
      printf("SKIPPED: %s: this CPU lacks it\n", isas[isa]);
    }
  }
  select_default();
  model = n == 0 && software_model;
  return model ? software_model->name : NULL;
}

void select_default(void) {
  model = 0;
  unsetenv("ATTN_ISA");
}

int on_every_kernel(int (*suite)(const char *name)) {
  int failed = 0;
  const char *name;
  if (!software_model) return suite("the best");
  for (int n = 0; (name = select_kernel(n)); n++) failed += suite(name);
  select_default();
  return failed;
}
