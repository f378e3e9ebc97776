/** {@code isobar checkpoint} and its subcommands. */
package org.isobar.cli.checkpoint;
