/** A back end that computes nothing: it predicts the memory and work of a run before the hardware is allocated. */
package org.isobar.backend.dryrun;
