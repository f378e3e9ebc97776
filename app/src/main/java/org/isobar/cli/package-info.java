/** The commands of the program. Only this package and those below it use picocli. */
package org.isobar.cli;
