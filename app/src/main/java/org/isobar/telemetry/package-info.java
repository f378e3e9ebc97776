/** Output of a run: the tutorial's log lines, TensorBoard event files, and progress in a terminal. */
package org.isobar.telemetry;
