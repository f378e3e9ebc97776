/** The training loop, in small pieces: memory planned by a dry run, one step, validation, epochs and their log. */
package org.isobar.train;
