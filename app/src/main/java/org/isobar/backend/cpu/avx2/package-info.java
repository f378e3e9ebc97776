/** Matrix products in machine code for processors with AVX2 and FMA but without AVX-512, generated for each shape. */
package org.isobar.backend.cpu.avx2;
