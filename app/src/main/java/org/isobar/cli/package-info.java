/** The command line. Nothing but this package knows picocli. */
package org.isobar.cli;
