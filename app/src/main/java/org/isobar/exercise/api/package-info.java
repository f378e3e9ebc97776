/** What the reader's code of an exercise implements and uses. */
package org.isobar.exercise.api;
