/** Predicts memory and speed of a run in every layout that its machine allows. */
package org.isobar.plan;
