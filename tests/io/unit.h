/* unit.h -- cmocka and what it wants to stand before it. */
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
