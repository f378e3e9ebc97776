/** Matrix products by oneDNN: direct functions, compiled primitives and packed operands. */
package org.isobar.backend.cpu.onednn;
