/* machine.h -- the instruction set in use. */
#ifndef ATTN_SDPA_MACHINE_H
#define ATTN_SDPA_MACHINE_H

#include "kernel.h"

/* The kernel for this CPU and ATTN_ISA; NULL and ATTN_ERR_CPU if ATTN_ISA names an instruction set
 * that this CPU lacks. */
const struct attn_kernel *attn_kernel_choose(attn_error *err);

/* The attn_isa that ATTN_ISA names; -1: it is not set; -2: it names none. */
int32_t attn_isa_requested(void);

#endif
