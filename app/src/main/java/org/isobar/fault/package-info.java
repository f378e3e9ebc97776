/** How the program says that something outside itself is wrong. */
package org.isobar.fault;
