/** Tensors: element type, shape and a view of memory. Operations are in {@code device.ops}. */
package org.isobar.tensor;
