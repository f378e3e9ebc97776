/**
 * Machine code for processors with AVX2 and FMA but without AVX-512: matrix products, generated for each shape, and the
 * softmax of attention.
 */
package org.isobar.backend.cpu.avx2;
