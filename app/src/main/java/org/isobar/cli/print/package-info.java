/** Tables of facts on the terminal. */
package org.isobar.cli.print;
