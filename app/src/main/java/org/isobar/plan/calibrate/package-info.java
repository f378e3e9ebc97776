/** Measures the machine at hand, and writes a machine file. */
package org.isobar.plan.calibrate;
