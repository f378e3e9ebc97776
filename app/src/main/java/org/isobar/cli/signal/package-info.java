/** POSIX signals to this process. */
package org.isobar.cli.signal;
