/**
 * Machine code in single precision for processors with AVX2 and FMA but without AVX-512: matrix products, generated for
 * each shape, and the loops over vectors of attention's softmax and of most other operations.
 */
package org.isobar.backend.cpu.avx2;
