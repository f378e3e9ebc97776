/** {@code isobar doctor}. */
package org.isobar.cli.doctor;
