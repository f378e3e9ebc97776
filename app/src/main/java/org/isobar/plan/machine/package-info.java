/** Machine files: what is known of a machine's speed and where each number comes from; the shipped machines. */
package org.isobar.plan.machine;
