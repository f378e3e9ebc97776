/** The exception for errors that the user can fix, and what makes its message printable. */
package org.isobar.fault;
