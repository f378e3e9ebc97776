/** The exception for errors that the user can fix. */
package org.isobar.fault;
