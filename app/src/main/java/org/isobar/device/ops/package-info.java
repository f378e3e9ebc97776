/** The operations of the compute boundary: one interface per family, and the records that they take as arguments. */
package org.isobar.device.ops;
