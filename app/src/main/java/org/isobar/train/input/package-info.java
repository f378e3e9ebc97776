/** The data of a run: loaders as configured, synthetic data made on first use. */
package org.isobar.train.input;
