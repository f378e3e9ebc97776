/** The training loop, in small pieces. */
package org.isobar.train;
