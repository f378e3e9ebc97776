/** Options and context that several commands share. */
package org.isobar.cli.options;
