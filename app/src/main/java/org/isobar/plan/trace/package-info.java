/** What one rank does in a training step, operation by operation: Isobar's, from the dry run, and the tutorial's. */
package org.isobar.plan.trace;
