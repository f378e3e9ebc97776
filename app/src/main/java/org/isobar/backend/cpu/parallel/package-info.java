/** Threads that share the work of one operation, how the work is cut, and scratch memory. */
package org.isobar.backend.cpu.parallel;
