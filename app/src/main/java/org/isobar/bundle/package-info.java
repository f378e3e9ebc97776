/** The program in one archive, with a Java of its own, for machines that have none. */
package org.isobar.bundle;
