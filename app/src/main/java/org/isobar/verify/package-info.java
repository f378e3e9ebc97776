/** Checks that ship with the program: they run on the present machine without a test framework. */
package org.isobar.verify;
