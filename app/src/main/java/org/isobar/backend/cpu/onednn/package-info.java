/** Matrix products by oneDNN: its functions, its primitives, packed operands. */
package org.isobar.backend.cpu.onednn;
