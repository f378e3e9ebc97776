/**
 * Verification of forecasts in physical units: scores by area-weighted sums in double precision, confidence intervals
 * by a bootstrap, zonal power spectra, and their files and pictures. Nothing here uses a device. Definitions follow
 * WeatherBench 2 (S. Rasp et al., "WeatherBench 2: A benchmark for the next generation of data-driven global weather
 * models", 2024).
 */
package org.isobar.scores;
