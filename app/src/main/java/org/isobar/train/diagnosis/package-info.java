/** Losses that are not finite: how they are found, and which layer they come from. */
package org.isobar.train.diagnosis;
