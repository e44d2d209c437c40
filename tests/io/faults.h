/* faults.h -- fault injection: fails a chosen call and counts allocated blocks. */
#ifndef TEST_IO_FAULTS_H
#define TEST_IO_FAULTS_H

#include <stddef.h>

enum fault_kind { FAULT_NONE, FAULT_MEMORY, FAULT_READ, FAULT_WRITE };

/* Starts counting calls of that kind; call fail_at (from 1) fails, 0: none. */
void faults_begin(enum fault_kind kind, int fail_at);

/* Ends it and returns the number of calls. */
int faults_end(void);

/* Blocks allocated and not freed since begin. */
int faults_blocks(void);

/* The largest allocation requested since begin. */
size_t faults_largest(void);

#endif
