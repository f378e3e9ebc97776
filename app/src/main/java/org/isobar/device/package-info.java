/**
 * The small compute boundary between the model and the machine: about twenty-five operations, one per fusion unit,
 * and the memory that they work on. Nothing above this package knows which back end computes.
 */
package org.isobar.device;
