/** The operations of the CPU, one class for each family. */
package org.isobar.backend.cpu.ops;
