/** Finds the memory of a training step by a dry run, and checks that the device has it. */
package org.isobar.train.memory;
