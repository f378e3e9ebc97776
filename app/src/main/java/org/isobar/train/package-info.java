/** The training loop: setup of a run, epochs of training steps, validation, and decisions on checkpoints. */
package org.isobar.train;
