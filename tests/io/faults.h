/* faults.h -- a machine that refuses: the chosen call fails, what is out is counted. */
#ifndef TEST_IO_FAULTS_H
#define TEST_IO_FAULTS_H

#include <stddef.h>

enum fault_kind { FAULT_NONE, FAULT_MEMORY, FAULT_READ, FAULT_WRITE };

/* Calls of that kind are counted from here on; number fail_at (from 1) fails, 0: none. */
void faults_begin(enum fault_kind kind, int fail_at);

/* Ends it; how many calls there were. */
int faults_end(void);

/* Blocks that were allocated and not released since begin. */
int faults_blocks(void);

/* The largest allocation requested since begin. */
size_t faults_largest(void);

#endif
