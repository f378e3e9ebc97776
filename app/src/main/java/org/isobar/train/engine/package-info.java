/** The choice between two engines of attention: the device's own kernels and those of a library. */
package org.isobar.train.engine;
