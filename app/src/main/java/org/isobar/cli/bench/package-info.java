/** {@code isobar bench} and its subcommands. */
package org.isobar.cli.bench;
