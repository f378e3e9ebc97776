/** A run's checkpoints, its directory, and the checkpoint that it resumes from. */
package org.isobar.train.saving;
