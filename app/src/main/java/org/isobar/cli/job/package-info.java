/** {@code isobar launch}: several processes of this program as one job. */
package org.isobar.cli.job;
