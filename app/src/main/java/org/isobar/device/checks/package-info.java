/** Checks of the arguments of every operation, by family; they wrap the operations of any back end. */
package org.isobar.device.checks;
