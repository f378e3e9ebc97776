/** {@code isobar verify}. */
package org.isobar.cli.verify;
