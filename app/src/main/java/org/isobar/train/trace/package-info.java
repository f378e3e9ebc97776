/** A timeline of some training steps of all ranks. */
package org.isobar.train.trace;
