/** Argument checks for every operation, by family. They wrap the operations of any back end. */
package org.isobar.device.checks;
