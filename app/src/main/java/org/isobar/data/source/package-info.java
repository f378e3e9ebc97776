/**
 * Reads the files and stores that weather data is delivered in: NetCDF classic, NetCDF-4 and Makani's HDF5. Each is an
 * {@link org.isobar.data.source.ArrayStore}, a set of named arrays; what the arrays mean is decided above.
 */
package org.isobar.data.source;
