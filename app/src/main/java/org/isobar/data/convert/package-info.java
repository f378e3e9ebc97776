/**
 * Converts weather data as others deliver it to the tutorial's year files: finds variables, levels and times in stores
 * of arrays by the CF conventions, orders the grid, and writes the files.
 */
package org.isobar.data.convert;
