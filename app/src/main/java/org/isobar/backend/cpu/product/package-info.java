/** Operands, packings and products of matrices, for all libraries that compute them. */
package org.isobar.backend.cpu.product;
