/** Packs the program and a Java runtime into one archive, for machines without Java. */
package org.isobar.bundle;
