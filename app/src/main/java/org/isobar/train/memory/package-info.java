/** How much memory a training step needs, found by a dry run, and whether the device has it. */
package org.isobar.train.memory;
