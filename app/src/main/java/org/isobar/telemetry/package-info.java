/** What a run tells: the tutorial's log lines, TensorBoard event files, memory, and progress in a terminal. */
package org.isobar.telemetry;
