/** Choosing what computes. The back ends themselves stand below: cpu, and the dry run that only counts. */
package org.isobar.backend;
