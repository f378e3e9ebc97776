/**
 * A synthetic atmosphere in the tutorial's file layout, for using the program without ERA5. It is not a model of real
 * weather: travelling waves in balance with their winds advect heat and moisture over random continents.
 */
package org.isobar.data.synthetic;
