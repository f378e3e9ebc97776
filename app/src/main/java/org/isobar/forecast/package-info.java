/** Forecasts: rolls a trained model out from initial fields, in every parallel layout and on every device. */
package org.isobar.forecast;
