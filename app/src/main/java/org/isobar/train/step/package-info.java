/** One training step of one rank: forward, backward, reduction of gradients, update. */
package org.isobar.train.step;
