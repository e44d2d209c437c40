/* one_head.h -- a worked example of three tokens, d_k = 2, block by block. */
#ifndef TEST_ONE_HEAD_H
#define TEST_ONE_HEAD_H

#define X "[[1, 0], [0, 1], [1, 1]]\n\n"
#define W_Q "[[1, 2], [0, 1]]\n\n"
#define W_K "[[0, 1], [1, 1]]\n\n"
#define W_V "[[2, 0], [1, 1]]\n\n"
#define Q "[[1, 2], [0, 1], [1, 3]]\n\n"
#define K "[[0, 1], [1, 1], [1, 2]]\n\n"
#define V "[[2, 0], [1, 1], [3, 1]]\n\n"
#define SCORES "[[2, 3, 5], [1, 1, 2], [3, 4, 7]]\n\n"
#define SCALED "[[1.41, 2.12, 3.54], [0.71, 0.71, 1.41], [2.12, 2.83, 4.95]]\n\n"
#define WEIGHTS "[[0.088, 0.178, 0.734], [0.248, 0.248, 0.503], [0.050, 0.102, 0.848]]\n\n"
#define OUTPUT "[[2.555, 0.912], [2.255, 0.752], [2.747, 0.950]]\n\n"
#define ONE_HEAD "X W_Q W_K W_V Q K V scores scaled weights output"

#endif
