/** The thread pool, the cutting of operations into tasks, and scratch memory. */
package org.isobar.backend.cpu.parallel;
