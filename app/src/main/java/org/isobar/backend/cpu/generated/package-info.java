/**
 * Machine code for x86-64 processors with AVX2 or AVX-512: the loops over vectors in single precision of attention's
 * softmax and of most other operations, and, for processors without AVX-512, matrix products, generated for each shape.
 */
