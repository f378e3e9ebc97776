/**
 * The compute boundary between the model and the hardware: about twenty-five operations, one per unit of fusion, and
 * the memory that they work on. Code above this package does not depend on the back end.
 */
package org.isobar.device;
