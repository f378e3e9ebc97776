/** Discrete-event simulation of one training step: a compute stream and a stream for each communicator. */
package org.isobar.plan.simulate;
