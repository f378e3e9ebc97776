/** The operations that models are made of: an interface for each family, and the records that calls take. */
package org.isobar.device.ops;
