/** Proves from the recorded collectives of all ranks, before a job starts, that they match. */
package org.isobar.train.collectives;
