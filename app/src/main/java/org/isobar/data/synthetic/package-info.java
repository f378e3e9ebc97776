/**
 * A synthetic atmosphere in the tutorial's file layout, for trying the program without ERA5. Not a model of the real
 * weather: travelling waves in balance with their winds, which carry heat and moisture over made-up continents.
 */
package org.isobar.data.synthetic;
