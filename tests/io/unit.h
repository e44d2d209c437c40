/* unit.h -- cmocka and the headers that it needs before it. */
#ifndef TEST_IO_UNIT_H
#define TEST_IO_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#endif
