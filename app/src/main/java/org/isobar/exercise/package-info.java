/** Exercises of the tutorial: copies to edit, and checks that compile, run and compare what the reader has written. */
package org.isobar.exercise;
