/** Seconds of operations and collectives on a machine. */
package org.isobar.plan.cost;
