/**
 * Machine code for x86-64 processors with AVX2 or AVX-512: matrix products, generated for each shape, and the loops
 * over vectors of attention's softmax and of most other operations. In F32, and with AVX-512 also in BF16.
 */
package org.isobar.backend.cpu.generated;
