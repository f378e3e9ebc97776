/** Checkpoints of a run, its directory, and where a run resumes. */
package org.isobar.train.saving;
