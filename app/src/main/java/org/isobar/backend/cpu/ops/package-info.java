/** Tensor operations of the CPU back end, one class per family. */
package org.isobar.backend.cpu.ops;
