/** The training step of one rank: forward, backward, gradient reduction and optimizer update; and evaluation. */
package org.isobar.train.step;
