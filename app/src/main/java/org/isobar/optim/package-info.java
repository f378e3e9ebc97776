/** How weights move: the optimizer and the learning-rate schedule. */
package org.isobar.optim;
