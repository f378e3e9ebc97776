/** Evaluates a trained model: rolls it out from many initial times and scores the forecasts against the data. */
package org.isobar.evaluation;
