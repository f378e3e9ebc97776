/** The Adam optimizer, loss scaling and learning-rate schedules. */
package org.isobar.optim;
